"""Memory limits for tests, by the kernel's control groups (version 1 or 2), as root."""

import contextlib
import os
import time
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")


@contextlib.contextmanager
def limited(memory_bytes: int):
    """A new group with a memory limit; yields a function that puts the calling process into it."""
    first = (ROOT / "memory").is_dir()
    group = (ROOT / "memory" if first else ROOT) / f"jig-test-{os.getpid()}"
    if not first:
        (ROOT / "cgroup.subtree_control").write_text("+memory")
    group.mkdir()
    (group / ("memory.limit_in_bytes" if first else "memory.max")).write_text(str(memory_bytes))
    swap = group / ("memory.swappiness" if first else "memory.swap.max")
    if swap.exists():
        swap.write_text("0")
    try:
        yield lambda: (group / "cgroup.procs").write_text(str(os.getpid()))
    finally:
        deadline = time.monotonic() + 10
        while (group / "cgroup.procs").read_text().strip() and time.monotonic() < deadline:
            time.sleep(0.05)
        group.rmdir()
