"""pip packages for a Python that uv does not serve: put in by the last pip that runs on it."""

import os
import sys

from jig.runner import uv_build
from jig.runner.environment import EnvironmentFailed
from jig.runner.uv_output import Log, without_secrets

assert sys.platform != "win32"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List

    from jig.runner.env_build import Build

VERSION = "20.3.4"  # of pip: the last for Python 2.7 and 3.5
_INDEXES = ("--index-url ", "--extra-index-url ", "--trusted-host ", "--pre")
_SETTINGS = {
    "PYTHONNOUSERSITE": "1",
    "PIP_USER": "0",
    "PIP_REQUIRE_VIRTUALENV": "0",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
}


def install_packages(build: "Build", uv: str, python: str, any_python: str) -> int:
    """Put the pip packages into the environment of `python`; returns how many there are."""
    folder = os.path.join(build.staging, "pip")
    uv_build.fetch_tool(build, uv, any_python, "pip==" + VERSION, folder)
    build.tell("installing pip packages")
    variables = uv_build.uv_variables(build)
    variables.update(_SETTINGS)
    variables.pop("PYTHONPATH", None)
    indexes = [option for option in build.environment["options"] if option.startswith(_INDEXES)]
    requirements = uv_build.write_requirements(build, indexes)
    heard: "List[bytes]" = []
    log = Log(build.log)

    def hear(data: bytes) -> None:
        log.hear(data)
        heard.append(data)

    command = [python, os.path.join(folder, "pip"), "install", "--no-compile", "--no-warn-script-location"]
    try:
        with build.step("pip"):
            code = build.inside(command + ["--progress-bar", "off", "-r", requirements], variables, hear)
    finally:
        log.end()
    lines = b"".join(heard).decode("utf-8", "replace").splitlines()
    if code != 0:
        errors = [line[len("ERROR: ") :] for line in lines if line.startswith("ERROR: ")]
        why = without_secrets(errors[-1]) if errors else "exit code %d" % code
        raise EnvironmentFailed("pip could not install the packages: %s (the full log is %s)" % (why, build.log_path))
    os.remove(requirements)
    if build.moves:
        _point_at(os.path.join(build.folder, "bin"), build.folder, build.place)
    installed = [line for line in lines if line.startswith("Successfully installed ")]
    words = installed[-1].split()[2:] if installed else []
    build.installed += ["==".join(word.rsplit("-", 1)) for word in words]
    return len(words)


def _point_at(programs: str, folder: str, place: str) -> None:
    """Have the scripts that pip wrote start the interpreter at its final place."""
    for name in os.listdir(programs):
        path = os.path.join(programs, name)
        if os.path.islink(path) or not os.path.isfile(path):
            continue
        with open(path, "rb") as file:
            text = file.read(2)
            if text != b"#!":
                continue
            text += file.read()
        if os.fsencode(folder) in text:
            with open(path + ".new", "wb") as file:
                file.write(text.replace(os.fsencode(folder), os.fsencode(place)))
            os.chmod(path + ".new", os.stat(path).st_mode & 0o777)
            os.replace(path + ".new", path)
