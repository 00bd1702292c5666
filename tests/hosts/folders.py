"""The folder of this test process for its hosts, and the end of those whose process is gone."""

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

from tests.control_group import remove_groups

PREFIX = "jig-hosts-"


@contextlib.contextmanager
def own_folder():
    """A folder that is locked while this process lives: a kill frees the lock, and the next run takes the folder away."""
    sweep()
    folder, lock = _locked_folder()
    try:
        yield folder
    finally:
        shutil.rmtree(folder)
        os.close(lock)


def sweep() -> None:
    """Remove the folders of dead test processes; all else that they had went with them."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        try:
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:  # gone meanwhile, or no folder of ours
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove_groups(f"{folder.name}-*")
            shutil.rmtree(folder, ignore_errors=True)
        except BlockingIOError:
            pass
        finally:
            os.close(lock)


def _locked_folder() -> "tuple[Path, int]":
    while True:
        folder = tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-")
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.isdir(folder):  # else another process swept it before it was locked
            return Path(folder), lock
        os.close(lock)
