"""The Jupyter server that a project has now, as any process can find it."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import time

from jig.project import Project
from jig.runner.folder import is_held
from jig.values import Value

LOOK_S = 0.05
STOP_S = 45.0


class Known(Value):
    """A server that is going: the jig that looks after it, its address with the token, its first kernel's name."""

    pid: int
    url: str
    config: str = ""


def folder_of(project: Project, home: str) -> str:
    """Where the server of a project has what it needs; projects of one name have each their own."""
    mark = hashlib.sha256(os.fsencode(os.path.realpath(project.root))).hexdigest()[:8]
    return os.path.join(home, "notebooks", f"{project.name}-{mark}")


def going(project: Project, home: str) -> Known | None:
    """The server that is going now; one that is still starting is not yet."""
    folder = folder_of(project, home)
    if not is_held(os.path.join(folder, "lock")):
        return None
    try:
        with open(os.path.join(folder, "server.json"), encoding="utf-8") as file:
            return Known(**json.load(file))
    except (OSError, ValueError, TypeError):
        return None


def stop(project: Project, home: str) -> bool:
    """End the server, its kernels with it, and wait for that; False when none was going, or it does not end."""
    known = going(project, home)
    if known is None:
        return False
    try:
        os.kill(known.pid, signal.SIGTERM)
    except ProcessLookupError:
        return True
    until = time.monotonic() + STOP_S
    while is_held(os.path.join(folder_of(project, home), "lock")):
        if time.monotonic() > until:
            return False
        time.sleep(LOOK_S)
    return True
