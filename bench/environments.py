"""The virtual environments that are compared: jig as pip installs it, mlflow, and Guild AI; made once, then kept."""

from __future__ import annotations

import functools
import hashlib
import os
import subprocess
import sys
from typing import NamedTuple

from folders import SOURCE, empty_home, place, read, write

INSTALLED = ("src", "pyproject.toml", "README.md", "LICENSE")  # what a wheel of jig is made of
# Settings of the person that starts the benchmarks; the programs that are timed get none of them.
SETTINGS = ("PYTHON", "JIG_", "GIT_", "DOCKER_", "MLFLOW_", "GUILD_", "TRACKIO_", "WANDB_", "VIRTUAL_ENV")
VERSION = "import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))"


class Venv(NamedTuple):
    """A virtual environment, and the distribution that it is there for."""

    path: str
    distribution: str

    def program(self, name: str) -> str:
        """The full path of a program in it."""
        return os.path.join(self.path, "bin", name)

    def environ(self, **more: str) -> dict[str, str]:
        """The variables of a timed command: its programs come first, its home is empty, bytecode is kept as usual."""
        found = {name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)}
        found["PATH"] = os.path.join(self.path, "bin") + os.pathsep + os.environ.get("PATH", os.defpath)
        found["HOME"] = empty_home()
        return {**found, **more}

    def version(self) -> str:
        """Name and version of what is installed."""
        argv = (self.program("python"), "-c", VERSION, self.distribution)
        return f"{self.distribution} {subprocess.check_output(argv, text=True).strip()}"


@functools.cache
def jig() -> Venv:
    """jig from this checkout; installed again when a file of it has changed."""
    return _ready("jig-workbench", source_stamp(), SOURCE)


@functools.cache
def app() -> Venv:
    """The same with the Workbench, and what drives a browser."""
    return _ready("jig-workbench", source_stamp(), SOURCE + "[app]", "playwright", folder="app")


@functools.cache
def mlflow() -> Venv:
    """The tracker and project runner mlflow."""
    return _ready("mlflow", "mlflow", "mlflow")


@functools.cache
def guild() -> Venv:
    """Guild AI. It imports pkg_resources, which newer Pythons and newer setuptools come without."""
    return _ready("guildai", "guildai", "guildai", "setuptools<81")


@functools.cache
def trackio() -> Venv:
    """The tracker Trackio."""
    return _ready("trackio", "trackio", "trackio")


@functools.cache
def pyspark() -> Venv:
    """Spark."""
    return _ready("pyspark", "pyspark", "pyspark")


@functools.cache
def torch() -> Venv:
    """PyTorch, for `onebit`, and what it is compared with on a processor."""
    return _ready("torch", "torch", "torch==2.13.0", "numpy")


@functools.cache
def wandb() -> Venv:
    """Weights & Biases' tracker."""
    return _ready("wandb", "wandb", "wandb")


def _ready(distribution: str, stamp: str, *wanted: str, folder: str = "") -> Venv:
    venv = Venv(place("venv", folder or distribution), distribution)
    noted = os.path.join(venv.path, "stamp")
    stamp = f"{sys.version} {stamp}"
    if read(noted) == stamp:
        return venv
    print(f"installing {distribution}", flush=True)
    if not read(noted).startswith(sys.version):
        subprocess.run((sys.executable, "-m", "venv", "--clear", venv.path), check=True)
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    pip = (venv.program("python"), "-m", "pip", "--quiet", "--quiet", "--disable-pip-version-check", "install")
    subprocess.run((*pip, "--upgrade", "pip"), check=True)  # an old one writes slower commands
    subprocess.run((*pip, "--compile", *wanted), env=environ, check=True)
    write(noted, stamp)
    return venv


@functools.cache
def source_stamp() -> str:
    """A digest of every file that jig's wheel is made of."""
    digest = hashlib.sha256()
    for top in INSTALLED:
        for path in _files(os.path.join(SOURCE, top)):
            with open(path, "rb") as file:
                digest.update(f"{os.path.relpath(path, SOURCE)}\0{os.fstat(file.fileno()).st_size}\0".encode())
                digest.update(file.read())
    return digest.hexdigest()


def _files(top: str) -> list[str]:
    if os.path.isfile(top):
        return [top]
    return sorted(
        os.path.join(parent, name) for parent, _, names in os.walk(top) for name in names if not name.endswith(".pyc")
    )
