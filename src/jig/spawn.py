"""Starting a program on this computer with pipes to it, out of the terminal's reach."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def spawn_piped(argv: tuple[str, ...], environ: Mapping[str, str], errors: int | None = None) -> tuple[int, int, int]:
    """Start a program; returns its pid, a descriptor to write to it, and one to read. stderr goes to `errors`, or on.

    It is in a process group of its own: Ctrl-C at the terminal is for the client, not for the program.
    """
    if sys.platform == "win32":
        return _spawn_windows(argv, environ)
    child_in, to_child = os.pipe()
    from_child, child_out = os.pipe()
    try:
        pid = spawn_between(argv, environ, (child_in, child_out, 2 if errors is None else errors))
    except OSError:
        os.close(to_child)
        os.close(from_child)
        raise
    finally:
        os.close(child_in)
        os.close(child_out)
    return pid, to_child, from_child


def spawn_between(argv: tuple[str, ...], environ: Mapping[str, str], streams: tuple[int, int, int]) -> int:
    """Start a program whose stdin, stdout and stderr are these; returns its pid."""
    if sys.platform == "win32":
        raise OSError("a program is not given descriptors like this on Windows")
    # Not subprocess: importing it costs more than starting the program does.
    moves = [(os.POSIX_SPAWN_DUP2, ours, theirs) for theirs, ours in enumerate(streams)]
    return os.posix_spawnp(argv[0], argv, environ, file_actions=moves, setpgroup=0)


def _spawn_windows(argv: tuple[str, ...], environ: Mapping[str, str]) -> tuple[int, int, int]:
    import subprocess

    # The constants exist on Windows only.
    flags: int = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.DETACHED_PROCESS  # type: ignore[attr-defined,unused-ignore]
    child = subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=dict(environ), creationflags=flags
    )
    if child.stdin is None or child.stdout is None:
        raise OSError("the runner was started without pipes")
    to_child, from_child = os.dup(child.stdin.fileno()), os.dup(child.stdout.fileno())
    child.stdin.close()
    child.stdout.close()
    return child.pid, to_child, from_child
