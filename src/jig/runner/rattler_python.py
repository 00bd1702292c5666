"""How rattler is run on a machine: by a Python that is new enough, with py-rattler brought or fetched by uv."""

import os
import sys

from jig.runner import uv_build
from jig.runner.environment import EnvironmentFailed, find_program
from jig.runner.rattler_tool import VERSION, aside, place, settle

assert sys.platform != "win32"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, Iterator, List

    from jig.runner.env_build import Build

OLDEST = (3, 10)  # Python
FETCHED = "3.12"  # Python, where there is none
_FITS = (
    "import sys; sys.exit(sys.version_info < %r or sys.implementation.name != 'cpython' or 'free-thr' in sys.version)"
)
WORK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "rattler_work.py")


def find_rattler(build: "Build") -> "Dict[str, str]":
    """The interpreter to run rattler_work.py with, and the folder of py-rattler, empty when it has its own."""
    given = build.environment.get("rattler_python", "")
    if given:
        return {"python": given, "library": ""}
    python = find_python(build)
    if not os.path.isdir(place(build.home)):
        _fetch(build, python)
    return {"python": python, "library": place(build.home)}


def _fetch(build: "Build", python: str) -> None:
    uv, unpacked = uv_build.find_uv(build.environment, build.home), aside(build.home)
    build.tell("fetching py-rattler %s, which installs conda packages" % VERSION)
    with build.step("rattler"):
        uv_build.fetch_tool(build, uv, python, "py-rattler==" + VERSION, unpacked)
    settle(unpacked, build.home)


def find_python(build: "Build") -> str:
    """A Python that can run py-rattler: this one, one in the search path, one that uv knows or can fetch."""
    for path in _candidates():
        if _fits(path):
            return path
    wanted = ">=%d.%d" % OLDEST
    try:
        uv = uv_build.find_uv(build.environment, build.home)
        variables = uv_build.uv_variables(build)
        found = _ask_uv(build, uv, wanted, variables)
        if not found:
            build.tell("fetching Python %s, for this machine has none that can install conda packages" % FETCHED)
            with build.step("python"):
                uv_build.run_uv(
                    build, [uv, "python", "install", "--no-bin", FETCHED], variables, "fetch Python " + FETCHED
                )
            found = _ask_uv(build, uv, wanted, variables)
    except EnvironmentFailed as error:
        build.stop_if_asked()
        raise EnvironmentFailed(
            "conda packages are installed by Python %d.%d or newer, which is not in the search path of this machine, "
            "and none could be fetched: install one there (%s)" % (OLDEST + (error.reason,))
        )
    if not found:
        raise EnvironmentFailed("uv fetched Python %s and does not find it" % FETCHED)
    return found


def _candidates() -> "Iterator[str]":
    yield sys.executable
    search_path = os.environ.get("PATH", os.defpath)
    for name in ["python3.%d" % minor for minor in range(14, OLDEST[1] - 1, -1)] + ["python3", "python"]:
        found = find_program(name, search_path)
        if found:
            yield found


def _fits(python: str) -> bool:
    """Whether it is new enough; a name in the search path may also stand for nothing that can be run."""
    import subprocess

    silent = subprocess.DEVNULL
    try:
        argv = [python, "-I", "-S", "-c", _FITS % (OLDEST,)]
        return subprocess.call(argv, stdin=silent, stdout=silent, stderr=silent, timeout=20) == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _ask_uv(build: "Build", uv: str, wanted: str, variables: "Dict[str, str]") -> str:
    heard: "List[bytes]" = []
    build.child([uv, "python", "find", "--no-project", wanted], variables, heard.append, apart=True)
    found = os.fsdecode(b"".join(heard)).strip()
    return found if found and _fits(found) else ""
