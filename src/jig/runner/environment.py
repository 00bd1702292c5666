"""The interpreter of a run: one that is there, or one that uv builds here, once.

Looking up what is there already is on the path of every run: this module imports nothing that is not loaded anyway.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict

    from jig.runner.blobs import BlobStore

_PYTHON = os.path.join("Scripts", "python.exe") if os.name == "nt" else os.path.join("bin", "python")


class EnvironmentFailed(Exception):
    """The environment could not be built; `reason` is one sentence."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class NotStarted(Exception):
    """There is no such interpreter; `reason` is one sentence."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def _never() -> bool:
    return False


def install_root(home: str, fingerprint: str) -> str:
    """The folder of a built environment: it appears whole, by a rename, or not at all."""
    if not fingerprint.isalnum():
        raise EnvironmentFailed("%r is not the fingerprint of an environment" % fingerprint)
    return os.path.join(os.path.abspath(home), "envs", fingerprint)


def _built_python(environment: "Dict[str, Any]", home: str) -> str:
    if environment["kind"] != "uv":
        raise EnvironmentFailed("this runner builds environments of the kind uv, not %r" % environment["kind"])
    return os.path.join(install_root(home, environment["fingerprint"]), _PYTHON)


def is_prepared(environment: "Dict[str, Any]", home: str) -> bool:
    """Whether a run can start without building anything."""
    # A link to an interpreter that has since been removed does not count: such an environment is built again.
    return environment["kind"] == "user" or os.access(_built_python(environment, home), os.X_OK)


def ensure(
    environment: "Dict[str, Any]",
    home: str,
    log_path: str,
    tell: "Callable[[str], None]",
    stopping: "Callable[[], bool]" = _never,
) -> str:
    """The full path of the Python to run, built first where it must be; raises NotStarted or EnvironmentFailed.

    Blocks while it builds, or while another process builds the same; `stopping` is asked ten times a second and ends
    that. What uv prints is appended to `log_path`. `environment` may carry `uv_path`, the uv program to use.
    """
    if environment["kind"] == "user":
        return find_user_python(environment["python"], os.environ.get("PATH", os.defpath))
    if not is_prepared(environment, home):
        if sys.platform == "win32":
            raise EnvironmentFailed("environments are not built on Windows yet: set pythonLocation to an interpreter")
        from jig.runner import uv_build

        uv_build.build(environment, os.path.abspath(home), log_path, tell, stopping)
    return _built_python(environment, home)


def has_uv(home: str) -> bool:
    """Whether there is a uv program on this machine already."""
    places = (os.path.expanduser("~/.local/bin/uv"), os.path.join(home, "bin", "uv"))
    return bool(find_program("uv", os.environ.get("PATH", os.defpath))) or any(os.access(p, os.X_OK) for p in places)


def keep_uv(store: "BlobStore", name: str, home: str) -> None:
    """Put the uv program that the client brought where this jig home looks for it."""
    os.makedirs(os.path.join(home, "bin"), exist_ok=True)
    aside = os.path.join(home, "bin", "uv.%d" % os.getpid())
    store.copy_out(name, aside, 0o755)
    os.replace(aside, os.path.join(home, "bin", "uv"))


def find_user_python(location: str, search_path: str) -> str:
    """The full path of the interpreter that `pythonLocation` names; NotStarted says why there is none."""
    location = location or "python"
    expanded = os.path.expanduser(location)
    if os.path.isabs(expanded):
        return _check_program(location, expanded)
    if os.path.dirname(expanded):
        raise NotStarted(
            "pythonLocation %r is a relative path, and a run does not start in the project folder: "
            "write the full path of the interpreter" % location
        )
    names = ("python", "python3") if location == "python" else (location,)
    for name in names:
        found = find_program(name, search_path)
        if found:
            return found
    raise NotStarted(
        "there is no %s in the search path of this machine (%s): set pythonLocation to the full path of an interpreter"
        % (" and no ".join(names), search_path)
    )


def find_program(name: str, search_path: str) -> str:
    """The first program of that name in the search path, or an empty string."""
    for folder in search_path.split(os.pathsep):
        path = os.path.join(folder, name + ".exe" if os.name == "nt" else name)
        # A relative entry of the search path would depend on where the caller happens to be.
        if os.path.isabs(folder) and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return ""


def _check_program(location: str, path: str) -> str:
    inside = os.path.join(path, _PYTHON)
    if os.path.isdir(path):
        advice = ": write %r" % inside if os.path.isfile(inside) else ""
        raise NotStarted("pythonLocation %r is a folder, not an interpreter%s" % (location, advice))
    if not os.path.exists(path):
        raise NotStarted("there is no interpreter at pythonLocation %r on this machine" % location)
    if not os.access(path, os.X_OK):
        raise NotStarted("pythonLocation %r is a file that may not be executed" % location)
    return path
