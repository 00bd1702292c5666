"""Windows: byte-range locks, detached processes, `taskkill`. Type-checked, not yet run."""

import os
import sys

assert sys.platform == "win32"

import msvcrt
import subprocess
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, List, Optional

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


def has_news(descriptor: int, seconds: float) -> bool:
    """Whether a socket has something to read, or its other end has gone; waits for it."""
    import select

    return bool(select.select([descriptor], [], [], seconds)[0])


def host_name() -> str:
    """This machine's name."""
    return os.environ.get("COMPUTERNAME", "")


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


def pid_exists(pid: int) -> bool:
    """Whether a process with this number exists."""
    listed = subprocess.check_output(["tasklist", "/FI", "PID eq %d" % pid, "/NH", "/FO", "CSV"])
    return b'"%d"' % pid in listed


def reap() -> bool:
    """Ended children need no taking in here."""
    return True


def end(pid: int) -> bool:
    """Ask a process to end; False when it is not ours to ask."""
    return _taskkill(pid)


def kill(pid: int) -> bool:
    """Kill a process; False when it is not ours to kill."""
    return _taskkill(pid, "/F")


def _taskkill(pid: int, *flags: str) -> bool:
    done = subprocess.run(["taskkill", *flags, "/PID", str(pid)], stdout=subprocess.DEVNULL, check=False)
    return done.returncode == 0 or not pid_exists(pid)


def inherit_orphans() -> None:
    """Nothing to ask for here: `taskkill /T` follows the tree."""


def close_inherited(*kept: int) -> None:
    """A process started here inherits nothing that it was not given."""


def command_line(pid: int) -> "List[str]":
    """The words that the process was started with; none when it is gone."""
    script = "(Get-CimInstance Win32_Process -Filter 'ProcessId=%d').CommandLine" % pid
    return subprocess.check_output(["powershell", "-NoProfile", "-Command", script]).decode().split()


def descendants(root: int, spare: "Callable[[int], bool]" = lambda pid: False) -> "List[int]":
    """Every living process below `root`, but for those that are spared and what is below them."""
    script = 'Get-CimInstance Win32_Process | ForEach-Object { "$($_.ProcessId) $($_.ParentProcessId)" }'
    table = subprocess.check_output(["powershell", "-NoProfile", "-Command", script]).decode()
    rows = [(int(line.split()[0]), int(line.split()[1])) for line in table.splitlines() if line.strip()]
    found = []  # type: List[int]
    look = [root]
    while look:
        parent = look.pop()
        more = [pid for pid, above in rows if above == parent and pid not in found and not spare(pid)]
        found += more
        look += more
    return sorted(found)


def carriers(variable: str, value: str) -> "List[int]":
    """Windows shows no other process's environment: nothing can be found this way."""
    return []


def end_with(parent: int) -> "Optional[Callable[[], None]]":
    """This system has no way to end a child with its parent."""
    return None


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
