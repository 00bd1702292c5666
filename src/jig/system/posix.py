"""What Linux and macOS do alike."""

import fcntl
import os
import sys

assert sys.platform != "win32"  # tells the type checker to leave this module out on Windows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Mapping, Sequence, Tuple


def lock(descriptor: int, shared: bool = False, wait: bool = True) -> bool:
    """Lock the open file; False when somebody else holds it and `wait` is off. The kernel frees it when we die."""
    flags = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        fcntl.flock(descriptor, flags if wait else flags | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


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


def spawn_piped(argv: "Sequence[str]", environ: "Mapping[str, str]") -> "Tuple[int, int, int]":
    """Start a program out of the terminal's reach; returns its pid, a descriptor to write to it, and one to read."""
    child_in, to_child = os.pipe()
    from_child, child_out = os.pipe()
    moves = [(os.POSIX_SPAWN_DUP2, child_in, 0), (os.POSIX_SPAWN_DUP2, child_out, 1)]
    try:
        # A process group of its own: Ctrl-C at the terminal is for the client, not for the runner.
        pid = os.posix_spawn(argv[0], tuple(argv), environ, file_actions=moves, setpgroup=0)
    except OSError:
        os.close(to_child)
        os.close(from_child)
        raise
    finally:
        os.close(child_in)
        os.close(child_out)
    return pid, to_child, from_child


def pid_exists(pid: int) -> bool:
    """Whether a process with this number exists (a zombie counts)."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
