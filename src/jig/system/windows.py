"""Windows: byte-range locks, detached processes, `taskkill`. Type-checked, not yet run."""

import os
import sys

assert sys.platform == "win32"

import msvcrt
import subprocess
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List, Mapping, Sequence, Tuple

LOCK_PLACE = 0x7FFF0000  # far past any content: a byte-range lock here does not keep readers from the file's text


def lock(descriptor: int, shared: bool = False, wait: bool = True) -> bool:
    """Lock the open file; False when somebody else holds it and `wait` is off. (A shared lock is exclusive here.)"""
    while True:
        os.lseek(descriptor, LOCK_PLACE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            if not wait:
                return False
            time.sleep(0.02)
            continue
        return True


def detach() -> bool:
    """The runner was already started detached; it simply goes on."""
    return True


def put_folder(staged: str, place: str) -> None:
    """Rename a finished folder to its place, which may exist if it is empty; OSError when it is taken."""
    if os.path.isdir(place):
        os.rmdir(place)
    os.rename(staged, place)


def reserve_space(path: str, size: int) -> None:
    """Make a file that really occupies `size` bytes, so that removing it gives them back."""
    with open(path, "wb", buffering=0) as file:
        file.write(b"\0" * size)


def spawn_piped(argv: "Sequence[str]", environ: "Mapping[str, str]") -> "Tuple[int, int, int]":
    """Start a program out of the terminal's reach; returns its pid, a descriptor to write to it, and one to read."""
    flags = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.DETACHED_PROCESS
    child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environ, creationflags=flags)
    assert child.stdin is not None and child.stdout is not None
    to_child, from_child = os.dup(child.stdin.fileno()), os.dup(child.stdout.fileno())
    child.stdin.close()
    child.stdout.close()
    return child.pid, to_child, from_child


def pid_exists(pid: int) -> bool:
    """Whether a process with this number exists."""
    listed = subprocess.check_output(["tasklist", "/FI", "PID eq %d" % pid, "/NH", "/FO", "CSV"])
    return b'"%d"' % pid in listed


def inherit_orphans() -> None:
    """Nothing to ask for here: `taskkill /T` follows the tree."""


def descendants(root: int) -> "List[int]":
    """Every living process below `root`."""
    script = 'Get-CimInstance Win32_Process | ForEach-Object { "$($_.ProcessId) $($_.ParentProcessId)" }'
    table = subprocess.check_output(["powershell", "-NoProfile", "-Command", script]).decode()
    rows = [(int(line.split()[0]), int(line.split()[1])) for line in table.splitlines() if line.strip()]
    found = {root}
    grew = True
    while grew:
        more = {pid for pid, parent in rows if parent in found and pid not in found}
        grew = bool(more)
        found |= more
    return sorted(found - {root})


def carriers(variable: str, value: str) -> "List[int]":
    """Windows shows no other process's environment: nothing can be found this way."""
    return []


def oom_kills() -> int:
    """Windows does not kill for memory."""
    return 0


def boot_id() -> str:
    """A name for this start of this machine."""
    script = "(Get-CimInstance Win32_OperatingSystem).LastBootUpTime.Ticks"
    return subprocess.check_output(["powershell", "-NoProfile", "-Command", script]).decode().strip()


def is_network_disk(path: str) -> bool:
    """Whether the path lies on a share."""
    return os.path.abspath(path).startswith("\\\\")
