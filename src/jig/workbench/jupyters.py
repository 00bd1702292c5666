"""The Jupyter servers that the page has started: by the command line's own `jig notebook start`, one for a project."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.parse
from weakref import WeakKeyDictionary

from jig.errors import JigError
from jig.notebook import known
from jig.project import Project
from jig.runner.folder import make_private
from jig.workbench.session import Session

assert sys.platform != "win32"

START_S, LOOK_S, END_S = 180.0, 0.1, 45.0
LOG = "workbench.log"
LOG_BYTES = 16 << 10
# Where a notebook is, seen from the page that the server opens.
PAGES = {"lab": "lab/tree/", "tree": "notebooks/"}


def jupyters(session: Session) -> Jupyters:
    """Those of this Workbench; they end with it."""
    found = _THERE.get(session)
    if found is None:
        found = _THERE[session] = Jupyters(session.home.path)
        session.closing.append(found.close)
    return found


class Jupyters:
    """All of them, by project."""

    def __init__(self, home: str) -> None:
        """None yet."""
        self._home = home
        self._there: dict[str, subprocess.Popen[bytes]] = {}

    def going(self, project: Project) -> known.Known | None:
        """The server of a project, whoever has started it."""
        return known.going(project, self._home)

    def start(self, project: Project, config: str) -> None:
        """Start one and wait until it is there; JigError has what the command said."""
        make_private(known.folder_of(project, self._home))
        words = [sys.executable, "-m", "jig", "notebook", "start", "--no-browser", "--project", project.root]
        log = os.open(self._log(project), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
        try:
            process = subprocess.Popen(
                words + (["-c", config] if config else []),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,  # the address, with its token
                stderr=log,
                start_new_session=True,
            )
        finally:
            os.close(log)
        self._there[project.root] = process
        end = time.monotonic() + START_S
        while self.going(project) is None:
            if process.poll() is not None or time.monotonic() > end:
                raise _failure(self.said(project))
            time.sleep(LOOK_S)

    def stop(self, project: Project) -> None:
        """End it, and its kernels."""
        known.stop(project, self._home)
        process = self._there.pop(project.root, None)
        if process is not None:
            process.wait(END_S)

    def said(self, project: Project) -> str:
        """What one that was started here, and its kernels, have said last."""
        try:
            with open(self._log(project), "rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - LOG_BYTES))
                return file.read().decode(errors="replace")
        except OSError:
            return ""

    def _log(self, project: Project) -> str:
        return os.path.join(known.folder_of(project, self._home), LOG)

    def close(self) -> None:
        """End those that were started here."""
        there = [process for process in self._there.values() if process.poll() is None]
        for process in there:
            process.terminate()
        for process in there:
            try:
                process.wait(END_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def address(server: known.Known, path: str = "") -> str:
    """Where the server, or a notebook in it, is opened."""
    parts = urllib.parse.urlsplit(server.url)
    base, _, page = parts.path.rpartition("/")
    if path and page in PAGES:
        return parts._replace(path=f"{base}/{PAGES[page]}{urllib.parse.quote(path)}").geturl()
    return server.url


def _failure(said: str) -> JigError:
    """The command's error, out of what it said."""
    before, mark, rest = said.rpartition("error: ")
    message, _, hint = (rest if mark else before).partition("\n\nhint: ")
    return JigError(message.strip() or "Jupyter did not start", hint.strip())


_THERE: WeakKeyDictionary[Session, Jupyters] = WeakKeyDictionary()
