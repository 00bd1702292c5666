"""macOS: no /proc and no subreaper; `ps` tells the process table. Type-checked, not yet run."""

import os
import sys

assert sys.platform != "win32"  # before the import, so that the type checker leaves all of this out on Windows

from jig.system.posix import *

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Dict, List, Optional


def inherit_orphans() -> None:
    """Nothing to ask for here: a process that left the tree is found by the run id in its environment instead."""


def _table(*columns: str) -> "List[str]":
    import subprocess

    argv = ["/bin/ps", "-axww"] + [word for column in columns for word in ("-o", column + "=")]
    return subprocess.check_output(argv).decode(errors="surrogateescape").splitlines()


def command_line(pid: int) -> "List[str]":
    """The words that the process was started with, as `ps` tells them; none when it is gone."""
    import subprocess

    told = subprocess.run(["/bin/ps", "-ww", "-o", "args=", "-p", str(pid)], stdout=subprocess.PIPE, check=False)
    return told.stdout.decode(errors="surrogateescape").split()


def descendants(root: int, spare: "Callable[[int], bool]" = lambda pid: False) -> "List[int]":
    """Every living process below `root`, but for those that are spared and what is below them."""
    children: "Dict[int, List[int]]" = {}
    dead = set()
    for line in _table("pid", "ppid", "stat"):
        pid, parent, state = line.split(None, 2)
        children.setdefault(int(parent), []).append(int(pid))
        if state.startswith("Z"):
            dead.add(int(pid))
    return below(root, children, dead, spare)


def carriers(variable: str, value: str) -> "List[int]":
    """Every process of ours whose environment has `variable` set to `value`, except this one."""
    import subprocess

    wanted = variable + "=" + value
    lines = subprocess.check_output(["/bin/ps", "-axEww", "-o", "pid=,command="]).decode(errors="surrogateescape")
    found = []
    for line in lines.splitlines():
        pid, _, command = line.strip().partition(" ")
        if wanted in command.split(" ") and int(pid) != os.getpid():
            found.append(int(pid))
    return found


def end_with(parent: int) -> "Optional[Callable[[], None]]":
    """This system has no way to end a child with its parent."""
    return None


def oom_kills() -> int:
    """macOS does not count its memory kills."""
    return 0


def boot_id() -> str:
    """A name for this start of this machine: a lock's owner cannot have outlived it."""
    import subprocess

    return subprocess.check_output(["/usr/sbin/sysctl", "-n", "kern.bootsessionuuid"]).decode().strip()


def is_network_disk(path: str) -> bool:
    """Whether the path lies on a disk that other machines see too."""
    import subprocess

    described = subprocess.run(["/usr/bin/stat", "-f", "%T", path], stdout=subprocess.PIPE, check=False)
    return described.stdout.strip() in (b"nfs", b"smbfs", b"afpfs", b"webdav")
