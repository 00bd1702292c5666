"""Serving notebooks until Ctrl-C, or saying where that is done already."""

from __future__ import annotations

import sys

from jig.cli.terminal import warn
from jig.errors import JigError
from jig.machines.interrupts import Interrupts
from jig.notebook import kernelspecs
from jig.notebook.jupyter import find
from jig.notebook.known import Known, going
from jig.project import Project
from jig.runner.folder import default_home
from jig.workbench.browser import show

if sys.platform != "win32":
    from jig.notebook.server import Server

assert sys.platform != "win32"


def serve(project: Project, config: str | None, port: int | None, quiet: bool) -> int:
    """Serve until Ctrl-C, or until Jupyter ends by itself; the exit code."""
    home = default_home()
    server = Server(project, home)
    try:
        if not server.is_ours:
            return _there(going(project, home), quiet, server.folder)
        jupyter = find(project)
        for doubt in kernelspecs.doubts(project):
            warn(doubt)
        with Interrupts() as interrupts:
            try:
                _show(server.start(jupyter, config, port), quiet, server.folder)
                if sys.stderr.isatty():
                    print("Ctrl-C ends it, and its kernels with it.", file=sys.stderr, flush=True)
                return server.wait()
            except (KeyboardInterrupt, SystemExit):
                return 0
            finally:
                interrupts.hold()
                server.end()
    finally:
        server.close()


def _there(found: Known | None, quiet: bool, folder: str) -> int:
    if found is None:
        raise JigError("another command is just starting this project's Jupyter server, or ending it", "try again")
    print("it is going already", file=sys.stderr)
    _show(found, quiet, folder)
    return 0


def _show(found: Known, quiet: bool, folder: str) -> None:
    print(f"jig notebook: {found.url}", flush=True)
    if not quiet:
        show(folder, found.url)
