"""The virtual environments that are compared: jig as pip installs it, mlflow, and Guild AI; made once, then kept."""

from __future__ import annotations

import functools
import hashlib
import os
import shutil
import subprocess
import sys
from typing import NamedTuple

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CACHE = os.path.join(SOURCE, ".cache", "bench")
INSTALLED = ("src", "pyproject.toml", "README.md", "LICENSE")  # what a wheel of jig is made of
# Settings of the person that starts the benchmarks; the programs that are timed get none of them.
SETTINGS = ("PYTHON", "JIG_", "GIT_", "MLFLOW_", "GUILD_", "VIRTUAL_ENV")


class Venv(NamedTuple):
    """A virtual environment."""

    path: str

    def program(self, name: str) -> str:
        """The full path of a program in it."""
        return os.path.join(self.path, "bin", name)

    def environ(self, **more: str) -> dict[str, str]:
        """The variables of a timed command: its programs come first, its home is empty, bytecode is kept as usual."""
        found = {name: value for name, value in os.environ.items() if not name.startswith(SETTINGS)}
        found["PATH"] = os.path.join(self.path, "bin") + os.pathsep + os.environ.get("PATH", os.defpath)
        found["HOME"] = fresh_once("home")
        return {**found, **more}

    def version(self, distribution: str) -> str:
        """The version of what is installed there."""
        code = "import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))"
        return subprocess.check_output((self.program("python"), "-c", code, distribution), text=True).strip()


@functools.cache
def jig() -> Venv:
    """jig from this checkout; installed again when a file of it has changed."""
    return _ready("jig", source_stamp(), (SOURCE,))


@functools.cache
def mlflow() -> Venv:
    """The tracker and project runner mlflow."""
    return _ready("mlflow", "1", ("mlflow",))


@functools.cache
def guild() -> Venv:
    """Guild AI. It imports pkg_resources, which newer Pythons and newer setuptools come without."""
    return _ready("guild", "1", ("guildai", "setuptools<81"))


def _ready(name: str, stamp: str, wanted: tuple[str, ...]) -> Venv:
    venv = Venv(os.path.join(CACHE, "venv", name))
    noted = os.path.join(venv.path, "stamp")
    stamp = f"{sys.version} {stamp}"
    if read(noted) == stamp:
        return venv
    print(f"installing {name} (once)", flush=True)
    python = venv.program("python")
    if not read(noted).startswith(sys.version):
        subprocess.run((sys.executable, "-m", "venv", "--clear", venv.path), check=True)
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    pip = (python, "-m", "pip", "--quiet", "--quiet", "--disable-pip-version-check", "install", "--compile")
    subprocess.run((*pip, *wanted), env=environ, check=True)
    with open(noted, "w") as file:
        file.write(stamp)
    return venv


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


def read(path: str) -> str:
    """A file's text; empty when there is none."""
    try:
        with open(path) as file:
            return file.read()
    except FileNotFoundError:
        return ""


def place(*names: str) -> str:
    """A path under the folder that the benchmarks keep."""
    return os.path.join(CACHE, *names)


def fresh(*names: str) -> str:
    """An empty folder there."""
    path = place(*names)
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(path)
    return path


@functools.cache
def fresh_once(name: str) -> str:
    """A folder there that is emptied when it is first asked for."""
    return fresh(name)


def hello_project(folder: str, *extra: tuple[str, str]) -> str:
    """A folder under version control, as people have it, with a script that prints one line; returns the folder."""
    os.makedirs(folder, exist_ok=True)
    for name, text in (("hello.py", 'print("hello")\n'), *extra):
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)
    commit(folder)
    return folder


def commit(folder: str) -> None:
    """Make the folder a git repository whose one commit holds everything."""
    environ = jig().environ()
    person = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")
    for words in (("init", "--quiet"), ("add", "--all"), (*person, "commit", "--quiet", "--message", "start")):
        subprocess.run(("git", *words), cwd=folder, env=environ, check=True)


def new_project(folder: str, home: str) -> str:
    """The folder of a sample project, as `jig project create` makes it."""
    venv = jig()
    argv = (venv.program("jig"), "project", "create", "--path", folder, "--template", "blank")
    subprocess.run(argv, env=venv.environ(JIG_HOME=home), stdout=subprocess.DEVNULL, check=True)
    return folder
