"""A machine for each test, which builds its images in the session's engine."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engines.engine import Engine
from tests.runner.image.machine import ImageMachine, image_machine


@pytest.fixture
def machine(tmp_path: Path, docker_host: Engine, monkeypatch: pytest.MonkeyPatch) -> Iterator[ImageMachine]:
    with image_machine(tmp_path, docker_host, monkeypatch) as made:
        yield made
