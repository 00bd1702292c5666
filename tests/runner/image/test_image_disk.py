"""A disk of the engine's that is full while an image is built."""

import os
import shutil
import subprocess
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engines.base_images import base_images
from tests.engines.engine import Engine
from tests.runner.image.machine import PYTHON, ImageMachine, image_machine, wanted
from tests.runner.wheels import make_wheel

MIB = 1024 * 1024


@pytest.fixture
def machine(engine_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ImageMachine]:
    """One whose engine has room for the base image and 100 MiB."""
    base = base_images()["python"]
    folder = engine_folder / "small"
    data = folder / "data"
    data.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={base.stat().st_size + 100 * MIB}", "none", data], check=True)
    try:
        engine = Engine(folder)
        try:
            engine.docker("import", str(base), PYTHON)
            monkeypatch.setenv("DOCKER_HOST", engine.address)
            with image_machine(tmp_path, engine, monkeypatch) as made:
                yield made
        finally:
            engine.close()
    finally:
        subprocess.run(["umount", "--lazy", data], check=True)
        shutil.rmtree(folder)


def large_wheel(folder: Path, mebibytes: int) -> None:
    path = make_wheel(folder, "large", f"{mebibytes}.0")
    with zipfile.ZipFile(path, "a") as wheel:
        wheel.writestr("large.bin", os.urandom(mebibytes * MIB))


@pytest.mark.parametrize("mebibytes", [70, 140], ids=["committing", "installing"])
def test_the_engine_s_disk_is_full(machine: ImageMachine, mebibytes: int) -> None:
    large_wheel(machine.wheels, mebibytes)
    reason = machine.fails(wanted("large"))
    assert reason.startswith("the disk of the Docker engine is full ") and ": make room: " in reason
    free = os.statvfs(machine.engine.folder / "data")
    assert free.f_bavail * free.f_frsize > 80 * MIB, "what was half-made is gone"
    machine.ensure(wanted("alpha"))
