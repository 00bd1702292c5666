"""Building an environment with uv: an interpreter, and the packages of a pip list."""

import os
import sys
from urllib.parse import unquote

from jig.runner import pip_settings
from jig.runner.environment import EnvironmentFailed, find_program
from jig.runner.uv_output import Log, Said, explain

assert sys.platform != "win32"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Sequence

    from jig.runner.env_build import Build

    Run = Callable[[List[str], Dict[str, str], Callable[[bytes], None]], int]

# Variables that would lead uv away from the folder that is being built.
_MISLEADING = ("UV_PROJECT", "UV_SYSTEM_PYTHON", "UV_WORKING_DIR", "UV_WORKING_DIRECTORY")


def install(build: "Build") -> "Dict[str, Any]":
    """Make the environment in the build's folder; returns what is to be noted about it."""
    uv = find_uv(build.environment, build.home)
    python = build.environment["python"]
    goal = "an environment with Python %s" % python if python else "an environment"
    build.tell("making " + goal)
    # Where it is moved when it is whole its own programs must not know where they stand.
    command = ["venv"] + (["--relocatable"] if build.moves else []) + (["--python=" + python] if python else [])
    with build.step("python"):
        run_uv(build, [uv] + command + [build.folder], uv_variables(build), "make " + goal, build.inside)
    packages = install_packages(build, uv, os.path.join(build.folder, "bin", "python"))
    return {"python": _version(build.read("pyvenv.cfg")), "packages": packages}


def install_packages(build: "Build", uv: str, python: str, step: str = "") -> int:
    """Put the pip packages into the environment of this interpreter; returns how many there are.

    `step` goes before the names of uv's steps, where they are not the only ones.
    """
    if not build.environment["requirements"]:
        return 0
    build.tell("resolving")
    requirements = write_requirements(build)
    # Not --compile-bytecode. For numpy, pandas, scikit-learn and matplotlib it takes 21 s on one core, 13 on two, 7 on
    # four, 3 on sixteen, and spares the first import 6 to 8 s, once; but it adds a third to each environment's size,
    # which no two of them share. UV_COMPILE_BYTECODE=1 on the machine asks for it.
    command = [uv, "pip", "install", "--python", python, "-r", requirements]

    def run(argv: "List[str]", variables: "Dict[str, str]", hear: "Callable[[bytes], None]") -> int:
        # A package that is built here may need programs that are in the environment.
        return build.inside(argv, variables, hear, os.path.dirname(python))

    said = run_uv(build, command, uv_variables(build), "install the packages", run)
    build.steps += [(step + name, seconds) for name, seconds in said.steps]
    build.installed += said.installed
    os.remove(requirements)
    return said.packages


def fetch_tool(build: "Build", uv: str, python: str, requirement: str, folder: str, more: "Sequence[str]" = ()) -> None:
    """Put a package that a build needs into a folder, from where this machine gets its packages."""
    brought = build.brought_wheels()
    lines = source_lines(brought) if brought else pip_settings.uv_lines(dict(os.environ), os.path.expanduser("~"))
    path = _write_lines(build, "tool.txt", lines + [requirement])
    command = [uv, "pip", "install", "--python", python, "--target", folder, "--no-deps", "-r", path] + list(more)
    run_uv(build, command, uv_variables(build, own=False), "fetch " + requirement.replace("==", " "))
    os.remove(path)


def uv_variables(build: "Build", own: bool = True) -> "Dict[str, str]":
    """The variables to start uv with; without `own` those of the machine alone, whatever index the conda file names."""
    environ, home_dir = dict(os.environ), os.path.expanduser("~")
    variables = pip_settings.uv_environment(environ, home_dir, build.environment["options"] if own else ())
    for name in _MISLEADING:
        variables.pop(name, None)
    variables.update(storage(build.home, home_dir, environ))
    if build.brought_wheels():
        variables["UV_OFFLINE"] = "1"
    return variables


def write_requirements(build: "Build", indexes: "Sequence[str]" = ()) -> str:
    """The pip packages as a file that only we can read, and not as arguments: a URL may hold a password.

    `indexes` are options that uv gets by its variables, for a program that does not read those.
    """
    options, lines = build.environment["options"], list(build.environment["requirements"])
    brought = build.brought_wheels()
    lines = [_with_files(line, build) for line in lines]
    if brought:
        lines = source_lines(brought) + [_at_hand(line, brought) for line in lines]
    else:
        lines = list(indexes) + pip_settings.uv_lines(dict(os.environ), os.path.expanduser("~"), options) + lines
    return _write_lines(build, "requirements.txt", [build.seen(line) for line in lines])


def _write_lines(build: "Build", name: str, lines: "List[str]") -> str:
    path = os.path.join(build.staging, name)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write("".join(line + "\n" for line in lines).encode("utf-8", "surrogateescape"))
    return path


def source_lines(folder: str) -> "List[str]":
    """The lines of a requirements file that have packages taken from this folder only."""
    return ["--no-index", "--find-links " + _file_url(folder)]


def _at_hand(line: str, folder: str) -> str:
    """The requirement with the URL of a file that was brought turned into that file's."""
    words = []
    for word in line.split(" "):
        path = os.path.join(folder, unquote(word.partition("?")[0].partition("#")[0].rpartition("/")[2]))
        words.append(_file_url(path) if "://" in word and os.path.isfile(path) else word)
    return " ".join(words)


def _with_files(line: str, build: "Build") -> str:
    """The requirement with a file of the project, `{files}/HASH/NAME`, laid out and named by its place."""
    words = line.split(" ")
    for number, word in enumerate(words):
        if word.startswith("{files}/"):
            blob, name = word.split("/")[1:]
            folder = os.path.join(build.staging, "files", blob)
            os.makedirs(folder, exist_ok=True)
            words[number] = _file_url(build.lay_out(folder, unquote(name), blob))
    return " ".join(words)


def _file_url(path: str) -> str:
    return "file://" + pip_settings.file_url_path(path)


def run_uv(
    build: "Build", argv: "List[str]", variables: "Dict[str, str]", purpose: str, run: "Optional[Run]" = None
) -> Said:
    """Run uv to its end, telling what it says on the way; raises EnvironmentFailed.

    `run` is `build.inside` or the like where it is not to run on this machine itself.
    """
    said, log = Said(build.tell, build.progress), Log(build.log)

    def hear(data: bytes) -> None:
        log.hear(data)
        said.hear(data)

    try:
        code = (run or build.child)(argv + ["--color", "never", "--no-progress"], variables, hear)
    finally:
        log.end()
    if code != 0:
        ended = "it was ended by signal %d" % -code if code < 0 else "exit code %d" % code
        why = explain(said.text, build.where) or ended
        raise EnvironmentFailed("uv could not %s: %s (the full log is %s)" % (purpose, why, build.log_path))
    return said


def _version(pyvenv: str) -> str:
    found = dict(line.split(" = ", 1) for line in pyvenv.splitlines() if " = " in line)
    return found.get("version_info", "")


def find_uv(environment: "Dict[str, Any]", home: str) -> str:
    """The uv program: the one that the client knows here, in the search path, or where installers put it."""
    places = (
        environment.get("uv_path") or "",
        find_program("uv", os.environ.get("PATH", os.defpath)),
        os.path.expanduser("~/.local/bin/uv"),
        os.path.join(home, "bin", "uv"),
    )
    for path in places:
        if path and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    raise EnvironmentFailed(
        "this machine has no uv, which builds environments: install it with `pip install --user uv` or "
        "`curl -LsSf https://astral.sh/uv/install.sh | sh`"
    )


def storage(home: str, home_dir: str, environ: "Dict[str, str]") -> "Dict[str, str]":
    """Where uv is to keep its downloads: on jig's disk when that is not the user's own.

    A home that was moved because of a small quota must take them along, and uv links files within one disk only.
    """
    if os.stat(home).st_dev == os.stat(home_dir).st_dev:
        return {}
    places = (
        ("UV_CACHE_DIR", "XDG_CACHE_HOME", "cache"),
        ("UV_PYTHON_INSTALL_DIR", "XDG_DATA_HOME", "python"),
    )
    return {
        name: os.path.join(home, "uv", folder)
        for name, general, folder in places
        if not environ.get(name) and not environ.get(general)
    }
