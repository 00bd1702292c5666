"""Building an environment of conda packages with rattler, which a process of its own runs; pip packages go in after."""

import os
import sys
import time

from jig.runner import old_pip, rattler_python, uv_build
from jig.runner.env_cache import conda_cache, using_packages
from jig.runner.environment import EnvironmentFailed
from jig.runner.quick_json import dumps, loads
from jig.runner.virtual_packages import conda_platform

assert sys.platform != "win32"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List

    from jig.runner.env_build import Build

_MIB = 1024.0 * 1024.0


def install(build: "Build") -> "Dict[str, Any]":
    """Make the environment in the build's folder; returns what is to be noted about it."""
    records = build.environment.get("records")
    if records is None:
        raise EnvironmentFailed("nobody has said which conda packages make up this environment")
    versions = [record["version"] for record in records if record["name"] == "python"]
    if not versions:
        raise EnvironmentFailed(
            "none of the conda packages is python, which the script needs: list it in the conda file"
        )
    rattler = rattler_python.find_rattler(build)
    with using_packages(build.home):
        _link(build, rattler)
    if not os.access(os.path.join(build.linked, "bin", "python"), os.X_OK):
        raise EnvironmentFailed("the conda package python %s has no program bin/python" % versions[0])
    python = os.path.join(build.folder, "bin", "python")
    count = len(records) + _install_pip_packages(build, python, versions[0], rattler["python"])
    return {"python": versions[0], "packages": count}


def _link(build: "Build", rattler: "Dict[str, str]") -> None:
    """Have the conda packages downloaded, and linked into the folder as if it stood in its place already."""
    records = build.environment["records"]
    build.tell("installing %d conda package%s" % (len(records), "" if len(records) == 1 else "s"))
    request = {
        "do": "install",
        "library": rattler["library"],
        "records": records,
        "channels": build.environment["channels"],
        "prefix": build.linked,
        "final": build.place,
        "platform": conda_platform(),
        "cache": conda_cache(build.home),
        "brought": build.brought(),
    }
    answers = _Answers(build)
    variables = uv_build.uv_variables(build)
    code = build.child(
        [rattler["python"], "-I", rattler_python.WORK], variables, answers.hear, dumps(request).encode(), apart=True
    )
    answers.end()
    if code == 0 and answers.done is not None:
        for name in answers.done["post_link"]:
            build.tell("%s has a post-link script, which was not run" % name)
        return
    why = "it was ended by signal %d" % -code if code < 0 else "exit code %d" % code
    why = answers.error or "the installer failed: " + why
    raise EnvironmentFailed(
        "the conda packages could not be installed: %s (the full log is %s)" % (why, build.log_path)
    )


class _Answers:
    """What the process that installs says: lines of JSON."""

    def __init__(self, build: "Build") -> None:
        self.done: "Any" = None
        self.error = ""
        self._build = build
        self._unfinished = b""
        self._began_s = time.monotonic()
        self._here_s = self._began_s  # when the last file had come

    def hear(self, data: bytes) -> None:
        lines = (self._unfinished + data).split(b"\n")
        self._unfinished = lines.pop()
        for line in lines:
            self._take(loads(line))

    def end(self) -> None:
        self._build.steps.append(("download", self._here_s - self._began_s))
        self._build.steps.append(("link", time.monotonic() - self._here_s))

    def _take(self, answer: "Dict[str, Any]") -> None:
        if "progress" in answer:
            if answer["progress"]["step"] == "downloading":
                self._here_s = time.monotonic()
            self._build.progress(_progress(answer["progress"]))
        elif "error" in answer:
            self.error = answer["error"]
            self._build.log(answer["detail"].encode("utf-8", "replace") + b"\n")
        elif "done" in answer:
            self.done = answer["done"]


def _progress(state: "Dict[str, Any]") -> str:
    counts = "%d of %d packages" % (state["packages"], state["of"])
    if state["step"] != "downloading":
        return "linking: " + counts
    return "downloading: %s, %.1f of %.1f MiB" % (counts, state["bytes"] / _MIB, state["of_bytes"] / _MIB)


def _install_pip_packages(build: "Build", python: str, version: str, any_python: str) -> int:
    """Put the pip packages in; returns how many."""
    if not build.environment["requirements"]:
        return 0
    uv = uv_build.find_uv(build.environment, build.home)
    if _numbers(version) < [3, 6]:
        return old_pip.install_packages(build, uv, python, any_python)
    if not build.moves:
        return uv_build.install_packages(build, uv, python, "pip ")
    # With this file there uv lets programs find the interpreter by their own place, for the folder will be moved.
    mark = os.path.join(build.folder, "pyvenv.cfg")
    with open(mark, "w") as file:
        file.write("relocatable = true\n")
    try:
        return uv_build.install_packages(build, uv, python, "pip ")
    finally:
        os.remove(mark)


def _numbers(version: str) -> "List[int]":
    return [int(part) for part in version.split(".")[:2] if part.isdigit()]
