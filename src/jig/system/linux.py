"""Linux: the process table is /proc, orphans come to a subreaper, the kernel counts its out-of-memory kills."""

import os
import sys

assert sys.platform != "win32"  # before the import, so that the type checker leaves all of this out on Windows

from jig.system import quick_signal as signal
from jig.system.posix import *

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Dict, List, Optional

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
NETWORK_DISKS = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "lustre", "gpfs", "beegfs", "9p", "fuse.sshfs"}


def inherit_orphans() -> None:
    """Become the parent of every descendant whose own parent dies, so that none can leave the tree."""
    if _prctl()(PR_SET_CHILD_SUBREAPER, 1) != 0:
        raise OSError("the kernel does not let this process inherit orphans")


def _prctl() -> "Callable[[int, int], int]":
    import _ctypes  # the C module alone: importing `ctypes` takes 3 ms of every run

    function = _ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl")  # type: ignore[arg-type]
    return lambda option, value: _ctypes.call_cdeclfunction(function, (option, value, 0, 0, 0))


def end_with(parent: int) -> "Optional[Callable[[], None]]":
    """What a forked child of `parent` calls first, so that the kernel ends it when its parent is killed."""
    prctl = _prctl()

    def call() -> None:
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)

    return call


def _pids() -> "List[int]":
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def _parent_and_state(pid: int) -> "tuple[int, str]":
    with open("/proc/%d/stat" % pid, "rb") as file:
        # The command name stands in parentheses and may itself hold any character, so read after the last one.
        fields = file.read().rpartition(b")")[2].split()
    return int(fields[1]), fields[0].decode()


def command_line(pid: int) -> "List[str]":
    """The words that the process was started with; none when it is gone."""
    try:
        with open("/proc/%d/cmdline" % pid, "rb") as file:
            return [os.fsdecode(word) for word in file.read().split(b"\0")[:-1]]
    except OSError:
        return []


def descendants(root: int, spare: "Callable[[int], bool]" = lambda pid: False) -> "List[int]":
    """Every living process below `root`, but for those that are spared and what is below them."""
    children: "Dict[int, List[int]]" = {}
    dead = set()
    for pid in _pids():
        try:
            parent, state = _parent_and_state(pid)
        except OSError:  # it ended between the listing and the look
            continue
        children.setdefault(parent, []).append(pid)
        if state in ("Z", "X"):
            dead.add(pid)
    return below(root, children, dead, spare)


def carriers(variable: str, value: str) -> "List[int]":
    """Every process of ours whose environment has `variable` set to `value`, except this one."""
    wanted = os.fsencode(variable + "=" + value)
    found = []
    for pid in _pids():
        if pid == os.getpid():
            continue
        try:
            with open("/proc/%d/environ" % pid, "rb") as file:
                carries = wanted in file.read().split(b"\0")
            if carries and _parent_and_state(pid)[1] not in ("Z", "X"):
                found.append(pid)
        except OSError:  # not ours to read, or gone
            continue
    return found


def _count(path: str, key: bytes) -> int:
    try:
        with open(path, "rb") as file:
            for line in file:
                name, _, number = line.partition(b" ")
                if name == key:
                    return int(number)
    except OSError:  # this kernel, or this container, does not have the file
        return 0
    return 0


def oom_kills() -> int:
    """How often the kernel has killed for memory: on this machine and in our control group, added up."""
    total = _count("/proc/vmstat", b"oom_kill")
    try:
        with open("/proc/self/cgroup") as file:
            groups = [line.rstrip("\n").split(":", 2) for line in file]
    except OSError:
        return total
    for _, controllers, path in groups:
        if not controllers:
            total += _count("/sys/fs/cgroup" + path + "/memory.events", b"oom_kill")
        elif "memory" in controllers.split(","):
            total += _count("/sys/fs/cgroup/memory" + path + "/memory.oom_control", b"oom_kill")
    return total


def boot_id() -> str:
    """A name for this start of this machine: a lock's owner cannot have outlived it."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip()
    except OSError:
        return ""


def is_network_disk(path: str) -> bool:
    """Whether the path lies on a disk that other machines see too, where locks and databases are not to be trusted."""
    path = os.path.realpath(path)
    best, kind = "", ""
    try:
        with open("/proc/self/mountinfo", errors="surrogateescape") as file:
            for line in file:
                fields = line.split(" ")
                point = fields[4].replace("\\040", " ")
                if len(point) >= len(best) and (path == point or path.startswith(point.rstrip("/") + "/")):
                    best, kind = point, fields[fields.index("-") + 1]
    except OSError:
        return False
    return kind in NETWORK_DISKS
