"""What building environments leaves behind: cached conda packages, and the folders of builds that were killed."""

import contextlib
import os
import time

from jig.runner.env_store import ELSEWHERE_S, REMOVED, STAGING, files
from jig.runner.folder import Home, make_private
from jig.runner.rattler_tool import UNFINISHED
from jig.system import host_name, is_network_disk, lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Iterator, Tuple

FORGOTTEN_S = 86400.0


def conda_cache(home: str) -> str:
    """Where conda packages are kept unpacked; on the disk of the environments, which share their files."""
    return os.path.join(home, "cache", "conda")


def lock_path(home: str, name: str) -> str:
    """The file that a builder locks; on this machine's own disk where the home is on one that others see."""
    state = Home(home).local_state()
    folder = os.path.join(home, "envs") if state == home else state
    make_private(folder)
    return os.path.join(folder, name + ".lock")


def staging_mark(name: str) -> str:
    """How the folders of this machine's builds of one environment begin."""
    # The host's name, because the lock is this machine's own where the home is on a disk that others see too.
    host = "".join(c if c.isalnum() and ord(c) < 128 else "_" for c in host_name())
    return "%s%s-%s-" % (STAGING, name, host)


@contextlib.contextmanager
def locked(path: str, shared: bool = False, waiting: "Callable[[], bool]" = lambda: False) -> "Iterator[bool]":
    """Hold a lock; tells whether it is held. `waiting` is called until it is, or until it wants no longer."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        held = lock(descriptor, shared=shared, wait=False)
        while not held and waiting():
            held = lock(descriptor, shared=shared, wait=False)
        yield held
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def using_packages(home: str) -> "Iterator[None]":
    """While this is held no cached conda package is removed."""
    make_private(conda_cache(home))
    with locked(lock_path(home, "conda-packages"), shared=True, waiting=_a_moment):
        yield


def _a_moment() -> bool:
    time.sleep(0.05)
    return True


def remove(path: str) -> None:
    """Remove a folder whatever rights its own folders have; what somebody else removes meanwhile is no error."""
    import shutil

    def again(function: object, path: str, info: "Tuple[type, BaseException, object]") -> None:
        if not isinstance(info[1], FileNotFoundError):
            raise info[1]

    def open_up(folder: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.chmod(folder, 0o700)

    open_up(path)  # before it is looked into: one that may not be read lists nothing
    for parent, folders, _ in os.walk(path):
        for folder in [os.path.join(parent, name) for name in folders]:
            if not os.path.islink(folder):
                open_up(folder)
    shutil.rmtree(path, onerror=again)


def leftovers(home: str) -> int:
    """Remove what killed builds and killed removals left; returns the bytes that the disk got back."""
    folder, freed = os.path.join(home, "envs"), 0
    for entry in os.listdir(folder) if os.path.isdir(folder) else []:
        path = os.path.join(folder, entry)
        if entry.startswith(REMOVED):
            freed += _free(path)
        elif entry.startswith(STAGING):
            name = entry[len(STAGING) :].partition("-")[0]
            with locked(lock_path(home, name)) as held:
                if held and entry.startswith(staging_mark(name)):
                    freed += _free(path)
    tools = os.path.join(home, "tools")
    for entry in os.listdir(tools) if os.path.isdir(tools) else []:
        path = os.path.join(tools, entry)
        if entry.startswith(UNFINISHED) and time.time() - os.stat(path).st_mtime > FORGOTTEN_S:
            freed += _free(path)
    return freed + _packages(home, lambda path: os.path.basename(path).startswith("."))


def unused_packages(home: str, older_than_s: float) -> int:
    """Remove the cached conda packages that are so old and of which no environment has a file."""

    def unused(path: str) -> bool:
        return time.time() - os.lstat(path).st_mtime >= older_than_s and all(alone for _, _, alone in files(path))

    return _packages(home, unused)


def _packages(home: str, unwanted: "Callable[[str], bool]") -> int:
    folder, freed = os.path.join(conda_cache(home), "pkgs"), 0
    if not os.path.isdir(folder):
        return 0
    with locked(lock_path(home, "conda-packages")) as held:
        if not held:  # an environment is being built from them
            return 0
        oldest_s = ELSEWHERE_S if is_network_disk(folder) else 0.0
        found = [os.path.join(folder, name) for name in os.listdir(folder)]
        for path in [path for path in found if os.path.isdir(path) and not os.path.islink(path)]:
            if time.time() - os.lstat(path).st_mtime >= oldest_s and unwanted(path):
                freed += _free(path)
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(path + ".lock")
    return freed


def _free(path: str) -> int:
    """Remove a folder; returns the bytes that the disk got back."""
    freed = sum(size for _, size, alone in files(path) if alone)
    remove(path)
    return freed
