"""The kernel's control groups (version 1 or 2) for tests, as root: memory limits, and the end of groups that are left."""

import contextlib
import errno
import os
import signal
import time
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
GONE_S = 10


@contextlib.contextmanager
def limited(memory_bytes: int):
    """A new group with a memory limit; yields a function that puts the calling process into it."""
    group = limit_memory(f"jig-test-{os.getpid()}", memory_bytes)
    try:
        yield lambda: (group / "cgroup.procs").write_text(str(os.getpid()))
    finally:
        _remove(group)


def limit_memory(name: str, memory_bytes: int) -> Path:
    """Make a group that has, with all groups below it, so much memory and no swap."""
    first = (ROOT / "memory").is_dir()
    group = (ROOT / "memory" if first else ROOT) / name
    if not first:
        (ROOT / "cgroup.subtree_control").write_text("+memory")
    group.mkdir()
    (group / ("memory.limit_in_bytes" if first else "memory.max")).write_text(str(memory_bytes))
    swap = group / ("memory.swappiness" if first else "memory.swap.max")
    if swap.exists():
        swap.write_text("0")
    return group


def groups(pattern: str) -> "list[Path]":
    """Groups with such a name, in every hierarchy."""
    return [*ROOT.glob(pattern), *ROOT.glob(f"*/{pattern}")]


def remove_groups(pattern: str) -> None:
    """Remove groups with all that is in them, groups and processes."""
    for top in groups(pattern):
        below = [Path(parent, folder) for parent, folders, _ in os.walk(top, topdown=False) for folder in folders]
        for group in (*below, top):
            _kill(group)
            _remove(group)


def _kill(group: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        for number in (group / "cgroup.procs").read_text().split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(number), signal.SIGKILL)


def _remove(group: Path) -> None:
    """When its last process is gone."""
    deadline = time.monotonic() + GONE_S
    while True:
        try:
            return group.rmdir()
        except FileNotFoundError:  # its hierarchy has another name too, or someone was quicker
            return None
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
