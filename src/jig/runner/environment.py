"""The interpreter of a run: one that is there, or one that is built here, once.

Looking up what is there already is on the path of every run: nothing is imported here that takes time.
"""

import os
import sys

from jig.runner import env_store, pip_settings
from jig.runner.blobs import sha256

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Tuple

    from jig.runner.blobs import BlobStore

FORMAT = "jig build 1"  # a change of what is built for the same request changes this, and so every folder
# The module that builds each kind.
BUILT = {"conda": "jig.runner.conda_build", "uv": "jig.runner.uv_build"}
_NVIDIA = ("/proc/driver/nvidia/version", "/dev/nvidiactl", "/dev/dxg")  # the last is Windows' own, inside WSL


class _Failure(Exception):
    """`reason` is one sentence; `hint` says what to do, where that is not a part of it."""

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__("%s: %s" % (reason, hint) if hint else reason)
        self.reason = reason
        self.hint = hint


class EnvironmentFailed(_Failure):
    """The environment could not be built."""


class NotStarted(_Failure):
    """There is no such interpreter."""


def _never() -> bool:
    return False


def install_root(home: str, environment: "Dict[str, Any]") -> str:
    """The folder of a built environment: it appears whole, by a rename, or not at all.

    Its name stands for all that decides what is in it: what the client asked for, and what of this machine matters.
    """
    fingerprint = environment["fingerprint"]
    if not fingerprint.isalnum():
        raise EnvironmentFailed("%r is not the fingerprint of an environment" % fingerprint)
    parts = [FORMAT, fingerprint, platform_name()]
    if environment["kind"] == "conda":
        # Machines with and without a GPU may have the same home, and get different builds of a package.
        parts.append("nvidia" if has_nvidia() else "")
        parts += _unlike_others(home)
    return os.path.join(os.path.abspath(home), "envs", name_of(parts + deciding_settings(environment)))


def name_of(parts: "List[str]") -> str:
    """A name, of 32 hex digits, that stands for these parts."""
    text = "\n".join(parts).encode("utf-8", "surrogateescape")
    return str(sha256(len(text), text).hexdigest()[:32])


def has_nvidia() -> bool:
    """Whether this machine has an NVIDIA driver."""
    return any(os.path.exists(path) for path in _NVIDIA)


def deciding_settings(environment: "Dict[str, Any]") -> "List[str]":
    """What of this machine's settings decides which packages are installed."""
    parts = []
    if environment["kind"] == "conda":
        parts += sorted("%s=%s" % pair for pair in os.environ.items() if pair[0].startswith("CONDA_OVERRIDE_"))
    if environment["requirements"]:
        try:
            parts += pip_settings.deciding(dict(os.environ), os.path.expanduser("~"), environment["options"])
        except pip_settings.PipSettingsUnreadable as error:  # the builder fails with that sentence
            parts.append(str(error))
    return parts


def _unlike_others(home: str) -> "List[str]":
    """By what else conda tells this machine from others that see the same home."""
    from jig.system import is_network_disk

    if not is_network_disk(home):
        return []
    from jig.runner.virtual_packages import machine_platform

    virtual = machine_platform()["virtual"]
    return ["%s=%s" % (name, virtual.get(name, "")) for name in ("__archspec", "__cuda")]


def platform_name() -> str:
    """System, processor and C library of this machine: what decides which files of a package can be used."""
    if sys.platform == "win32":
        return "Windows"
    system = os.uname()
    return "%s %s %s" % (system.sysname, system.machine, system.release if sys.platform == "darwin" else libc())


def libc() -> str:
    """The C library and its version, such as `glibc 2.36`; empty when it does not say."""
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") or ""  # type: ignore[attr-defined,unused-ignore]
    except (OSError, ValueError):  # this C library has no such name
        return ""


def find(environment: "Dict[str, Any]", home: str) -> str:
    """The folder of the environment, when it stands and is as it was built; else an empty string."""
    if environment["kind"] not in BUILT:
        kinds = " and ".join(sorted(BUILT))
        raise EnvironmentFailed(
            "this runner builds environments of the kinds %s, not %r" % (kinds, environment["kind"])
        )
    for place in env_store.places(install_root(home, environment)):
        if env_store.stands(place):
            return place
    return ""


def is_prepared(environment: "Dict[str, Any]", home: str) -> bool:
    """Whether a run can start without building anything."""
    return environment["kind"] == "user" or bool(find(environment, home))


def needs_solving(environment: "Dict[str, Any]", home: str) -> bool:
    """Whether the client must say first which conda packages make up the environment, for this machine."""
    return environment["kind"] == "conda" and "records" not in environment and not is_prepared(environment, home)


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
    python, held = ensure_held(environment, home, log_path, tell, stopping)
    if held is not None:
        os.close(held)
    return python


def ensure_held(
    environment: "Dict[str, Any]",
    home: str,
    log_path: str,
    tell: "Callable[[str], None]",
    stopping: "Callable[[], bool]" = _never,
) -> "Tuple[str, Optional[int]]":
    """As `ensure`, with a descriptor: as long as a process has it open the environment is not removed."""
    if environment["kind"] == "user":
        return find_user_python(environment["python"], os.environ.get("PATH", os.defpath)), None
    while True:
        place = find(environment, home)
        held = env_store.hold(place) if place else None  # None: it was removed this moment
        if held is not None:
            return os.path.join(place, env_store.PYTHON), held
        if sys.platform == "win32":
            raise EnvironmentFailed("environments are not built on Windows yet: set pythonLocation to an interpreter")
        from jig.runner import env_build

        env_build.build(environment, os.path.abspath(home), log_path, tell, stopping)


def has_uv(home: str) -> bool:
    """Whether there is a uv program on this machine already."""
    places = (os.path.expanduser("~/.local/bin/uv"), os.path.join(home, "bin", "uv"))
    return bool(find_program("uv", os.environ.get("PATH", os.defpath))) or any(os.access(p, os.X_OK) for p in places)


def keep_uv(store: "BlobStore", name: str, home: str) -> None:
    """Put the uv that the client brought, the program or its wheel, where this jig home looks for it."""
    import shutil
    import zipfile

    os.makedirs(os.path.join(home, "bin"), exist_ok=True)
    aside = os.path.join(home, "bin", "uv.%d" % os.getpid())
    if zipfile.is_zipfile(store.place(name)):
        with zipfile.ZipFile(store.place(name)) as wheel:
            (inside,) = [member for member in wheel.namelist() if member.endswith(".data/scripts/uv")]
            with wheel.open(inside) as source, open(aside, "wb") as program:
                shutil.copyfileobj(source, program)
        os.chmod(aside, 0o755)
    else:
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
    inside = os.path.join(path, env_store.PYTHON)
    if os.path.isdir(path):
        advice = ": write %r" % inside if os.path.isfile(inside) else ""
        raise NotStarted("pythonLocation %r is a folder, not an interpreter%s" % (location, advice))
    if not os.path.exists(path):
        raise NotStarted("there is no interpreter at pythonLocation %r on this machine" % location)
    if not os.access(path, os.X_OK):
        raise NotStarted("pythonLocation %r is a file that may not be executed" % location)
    return path
