"""What Linux and macOS do alike."""

import fcntl
import os
import sys

from jig.system import quick_signal as signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Dict, List, Set

assert sys.platform != "win32"  # tells the type checker to leave this module out on Windows


def lock(descriptor: int, shared: bool = False, wait: bool = True) -> bool:
    """Lock the open file; False when somebody else holds it and `wait` is off. The kernel frees it when we die."""
    flags = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        fcntl.flock(descriptor, flags if wait else flags | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def has_news(descriptor: int, seconds: float) -> bool:
    """Whether there is something to read, or the other end has gone; waits for it. Any descriptor will do, of many."""
    import select

    asked = select.poll()
    asked.register(descriptor, select.POLLIN)
    return bool(asked.poll(seconds * 1000))


def host_name() -> str:
    """This machine's name (the socket module would tell the same, but is slow to import)."""
    return os.uname().nodename


def close_inherited(*kept: int) -> None:
    """Close every descriptor but the standard three: what a shell left open is not for a run that outlives it."""
    for name in os.listdir("/dev/fd"):
        if int(name) > 2 and int(name) not in kept:
            try:
                os.close(int(name))
            except OSError:
                continue  # the one that listed the folder


def below(root: int, children: "Dict[int, List[int]]", dead: "Set[int]", spare: "Callable[[int], bool]") -> "List[int]":
    """Everybody living below `root` in this table of children, but for those that are spared and what is below them."""
    found = []  # type: List[int]
    look = list(children.get(root, ()))
    while look:
        pid = look.pop()
        if not spare(pid):
            found.append(pid)
            look += children.get(pid, ())
    return sorted(pid for pid in found if pid not in dead)


def detach() -> bool:
    """Go on in a process of its own session; True there, False in the process that was called."""
    if os.fork():
        return False
    os.setsid()
    return True


def put_folder(staged: str, place: str) -> None:
    """Rename a finished folder to its place, which may exist if it is empty; OSError when it is taken."""
    os.rename(staged, place)


def reserve_space(path: str, size: int) -> None:
    """Make a file that really occupies `size` bytes, so that removing it gives them back."""
    with open(path, "wb", buffering=0) as file:
        file.write(b"\0" * size)


def pid_exists(pid: int) -> bool:
    """Whether a process with this number exists (a zombie counts)."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def reap() -> bool:
    """Take in every child that has ended; False when there are no children left at all."""
    try:
        while True:
            pid, _ = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return True
    except ChildProcessError:
        return False


def end(pid: int) -> bool:
    """Ask a process to end; False when it is not ours to ask."""
    # A stopped process could not even hear the first.
    return _send(pid, signal.SIGTERM) and _send(pid, signal.SIGCONT)


def kill(pid: int) -> bool:
    """Kill a process; False when it is not ours to kill."""
    return _send(pid, signal.SIGKILL)


def _send(pid: int, number: int) -> bool:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return True
