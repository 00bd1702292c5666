"""What /proc tells about one process, read as cheaply as it can be: this is done every second."""

import os
import sys

assert sys.platform != "win32"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List, Optional, Tuple

TICKS, PAGE = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
TELLS_CHILDREN = os.path.exists("/proc/self/task/%d/children" % os.getpid())  # not every kernel is built to


class Stat:
    """A process: its parent, its beginning, its memory, and the processor time of itself and of what it took in."""

    __slots__ = ("began", "is_dead", "memory_bytes", "own_s", "parent", "taken_in_s")

    def __init__(self, fields: "List[bytes]") -> None:
        self.is_dead = fields[0] in b"ZX"
        self.parent = int(fields[1])
        self.own_s = (int(fields[11]) + int(fields[12])) / TICKS
        self.taken_in_s = (int(fields[13]) + int(fields[14])) / TICKS
        self.began = int(fields[19])  # with the pid, this names one process for good
        self.memory_bytes = int(fields[21]) * PAGE


def read(path: str) -> bytes:
    """A small file's bytes; none when it is gone, or not for us."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        parts = [os.read(descriptor, 65536)]
        while len(parts[-1]) > 4000:  # the kernel may hand out a long one in pages
            parts.append(os.read(descriptor, 65536))
        return b"".join(parts)
    except OSError:  # it ended meanwhile
        return b""
    finally:
        os.close(descriptor)


def stat(pid: int) -> "Optional[Stat]":
    """The process; None when there is none."""
    # The command's name stands in parentheses and may itself hold any character, so read after the last one.
    fields = read("/proc/%d/stat" % pid).rpartition(b")")[2].split()
    return Stat(fields) if fields else None


def traffic(pid: int) -> "Tuple[int, int]":
    """Bytes that it, and what it took in, had read from disks and written to them; none where we may not know."""
    words = read("/proc/%d/io" % pid).split()
    return (int(words[9]), int(words[11])) if len(words) > 11 else (0, 0)


def children(pid: int, of_all_threads: bool) -> "List[int]":
    """Processes that its first thread started, or any thread did."""
    folder = "/proc/%d/task" % pid
    try:
        threads = os.listdir(folder) if of_all_threads else [str(pid)]
    except OSError:  # it ended meanwhile
        return []
    return [int(word) for thread in threads for word in read("%s/%s/children" % (folder, thread)).split()]


def carries(pid: int, mark: bytes) -> bool:
    """Whether its environment has this entry, `NAME=value`."""
    return mark in read("/proc/%d/environ" % pid).split(b"\0")
