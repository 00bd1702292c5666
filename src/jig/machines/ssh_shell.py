"""A shell over SSH: this terminal is the one there, and a connection that breaks is told from a shell that ends."""

from __future__ import annotations

import os
import sys

from jig.machines.ssh_errors import Unreachable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

SSH_FAILED = 255


class Broken(Unreachable):
    """The connection was there, and is gone."""


def attend(name: str, argv: Callable[..., tuple[str, ...]], control: str, terminal: bool) -> int:
    """Run ssh at this terminal to its end; returns the exit code of the command there."""
    from tempfile import TemporaryDirectory

    master = _identity(control)
    with TemporaryDirectory(prefix="jig-") as folder:
        log = os.path.join(folder, "ssh.log")  # what ssh itself says, apart from what the command there says
        code = _at_this_terminal(argv("-tt" if terminal else "-T", "-E", log))
        if code != SSH_FAILED:
            return code
        said = _ssh_said(log)
    # A command may end with this code too. Of the connection's end the control connection's own process knows alone.
    if said or (master is not None and master != _identity(control)):
        raise Broken(f"the connection to {name} broke" + (f": {said}" if said else ""))
    return code


def _at_this_terminal(argv: tuple[str, ...]) -> int:
    if sys.platform != "win32":
        from jig.runner.attend import attend

        return attend(argv, dict(os.environ))
    import subprocess

    return subprocess.call(argv)


def _identity(control: str) -> tuple[int, int] | None:
    """Which control connection is open; None without one."""
    if sys.platform != "win32" and control:
        from jig.machines import mux

        if not mux.is_served(control):
            return None
    try:
        found = os.stat(control)
    except OSError:
        return None
    return found.st_ino, found.st_ctime_ns


def _ssh_said(log: str) -> str:
    """The last line of ssh's own."""
    try:
        with open(log, errors="replace") as file:
            lines = [line.strip() for line in file]
    except FileNotFoundError:
        return ""
    # That several commands connect at once, each by itself, is no failure.
    told = [line for line in lines if line and not line.startswith(("ControlSocket", "mux_client"))]
    return told[-1] if told else ""
