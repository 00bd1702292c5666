"""A jig home whose images are built by the session's engine, wheels to put into them, and what is left in the engine."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from jig.environments.uv import find_uv
from jig.runner import image
from jig.runner.engine import home_key
from jig.runner.environment import EnvironmentFailed, NotStarted
from tests.conftest import SOURCE, until
from tests.engines.engine import Engine
from tests.package_settings import forget_settings
from tests.runner.wheels import make_wheel

PYTHON, PLAIN, CONDA = "jig-test/python:1", "jig-test/plain:1", "jig-test/conda:1"


def wanted(*requirements: str, options: tuple[str, ...] = (), python: str = "", **more: Any) -> dict[str, Any]:
    return {
        "kind": "uv",
        "fingerprint": "ab12",
        "python": python,
        "requirements": list(requirements),
        "options": list(options),
        "prepare": True,
        "uv_path": find_uv(),
        **more,
    }


def theirs(location: str = "") -> dict[str, Any]:
    """The Python that an image has already."""
    return {"kind": "user", "fingerprint": "", "python": location, "requirements": [], "options": [], "prepare": True}


class ImageMachine:
    """A jig home, a folder with the wheel `alpha` 1.0 that pip's settings name, and an engine."""

    def __init__(self, root: Path, engine: Engine) -> None:
        self.root = root
        self.engine = engine
        self.home = root / "jig home"
        self.home.mkdir()
        self.wheels = root / "my wheels"
        make_wheel(self.wheels, "alpha", "1.0", program=True)
        self.log = root / "prepare.log"
        self.told: list[str] = []

    def look(self, request: dict[str, Any], base: str = PYTHON, **container: Any) -> image.Look:
        return image.look(str(self.home), {"base": base, "gpus": "", **container}, request)

    def ensure(
        self, request: dict[str, Any], base: str = PYTHON, stopping: Callable[[], bool] = lambda: False
    ) -> image.Image:
        """The image; it may be removed at once, and the container of its build is gone."""
        look = self.look(request, base)
        made = image.ensure(look, request, str(self.log), self.told.append, stopping)
        os.close(made.held)
        until(lambda: self.containers() == [], what="the end of the build's container")
        return made

    def fails(self, request: dict[str, Any], base: str = PYTHON, stopping: Callable[[], bool] = lambda: False) -> str:
        """The reason; nothing half-made is left."""
        with pytest.raises((EnvironmentFailed, NotStarted)) as failed:
            self.ensure(request, base, stopping)
        assert self.images() == [] and self.containers() == [] and self.staged() == []
        return str(failed.value)

    def run(self, made: image.Image, *argv: str) -> str:
        """What a program prints in a container of the image."""
        return self.engine.docker("run", "--rm", "--network", "none", "--entrypoint", argv[0], made.id, *argv[1:])

    def python(self, made: image.Image, code: str) -> str:
        return self.run(made, made.python, "-c", code)

    def steps(self) -> list[str]:
        """What was told, but for the seconds that it took."""
        return [text.partition(" in ")[0] if text.startswith("environment ready") else text for text in self.told]

    def images(self) -> list[str]:
        """The ids of all images that this home has made, named or not."""
        return self._ours("images", "-q", "--no-trunc")

    def containers(self) -> list[str]:
        return self._ours("ps", "-aq")

    def _ours(self, *words: str) -> list[str]:
        return self.engine.docker(*words, "--filter", f"label=jig.home={home_key(str(self.home))}").split()

    def staged(self) -> list[str]:
        """The folders of builds that are, or were, going on."""
        folder = self.home / "envs"
        return [name for name in os.listdir(folder) if not name.endswith(".lock")] if folder.is_dir() else []

    def start(self, request: dict[str, Any], before: "tuple[str, ...]" = (), **options: Any) -> "subprocess.Popen[str]":
        """Another process that ensures the image and prints what is told, then the image's id."""
        code = (
            "import json, os, sys; from jig.runner import image; home, log, base = sys.argv[1:]; "
            "request = json.load(sys.stdin); look = image.look(home, {'base': base, 'gpus': ''}, request); "
            "tell = lambda text: print(text, flush=True); "
            "print(image.ensure(look, request, log, tell, lambda: False).id)"
        )
        options.setdefault("env", {**os.environ, "PYTHONPATH": str(SOURCE)})
        argv = [*before, sys.executable, "-c", code, str(self.home), str(self.log), PYTHON]
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, **options)
        assert process.stdin
        process.stdin.write(json.dumps(request))
        process.stdin.close()
        process.stdin = None
        return process


@contextmanager
def image_machine(root: Path, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Iterator[ImageMachine]:
    """The same, with nothing of what this machine's user has set; in the end the engine is as it was."""
    forget_settings(monkeypatch, root)
    made = ImageMachine(root, engine)
    monkeypatch.setenv("PIP_FIND_LINKS", made.wheels.as_uri())  # pip takes a space for the end
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("UV_PYTHON_DOWNLOADS", "never")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    try:
        yield made
    finally:
        for kind, left in (("rm", made.containers()), ("rmi", made.images())):
            if left:
                made.engine.docker(kind, "--force", *left)
