"""The Jupyter servers that the page has started: by the command line's own `jig notebook start`, one for a project."""

from __future__ import annotations

import asyncio
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
from jig.system import end_with
from jig.workbench.session import Session
from jig.workbench.words import say

assert sys.platform != "win32"

START_S, LOOK_S, END_S = 180.0, 0.1, 45.0
LOG = "workbench.log"
LOG_BYTES = 16 << 10
LAB = "lab"  # the page that JupyterLab opens; a bare server has none


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

    async def start(self, project: Project, config: str) -> None:
        """Start one, unless another page has, and wait until it is there; JigError has what the command said.

        The kernel ends it with the thread that started it: so that is the server's own, and no worker that may go.
        """
        process = self._there.get(project.root)
        if process is None or process.poll() is not None:
            process = self._there[project.root] = self._begin(project, config)
        await asyncio.to_thread(self._wait, project, process)

    def _begin(self, project: Project, config: str) -> subprocess.Popen[bytes]:
        make_private(known.folder_of(project, self._home))
        words = [sys.executable, "-m", "jig", "notebook", "start", "--no-browser", "--project", project.root]
        log = os.open(self._log(project), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
        try:
            return subprocess.Popen(
                words + (["-c", config] if config else []),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,  # the address, with its token
                stderr=log,
                start_new_session=True,
                preexec_fn=end_with(os.getpid()),
            )
        finally:
            os.close(log)

    def _wait(self, project: Project, process: subprocess.Popen[bytes]) -> None:
        end = time.monotonic() + START_S
        while self.going(project) is None:
            if process.poll() is not None or time.monotonic() > end:
                raise _failure(self.said(project))
            time.sleep(LOOK_S)

    def stop(self, project: Project) -> None:
        """End it, and its kernels; JigError when it does not."""
        has_ended = known.stop(project, self._home) or self.going(project) is None
        process = self._there.get(project.root)
        try:
            if process is not None:
                process.wait(END_S)
        except subprocess.TimeoutExpired:
            has_ended = False
        if not has_ended:
            raise JigError(say("notebooks.lasting"), say("notebooks.lasting.hint"))
        self._there.pop(project.root, None)

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
    if path and page == LAB:
        return parts._replace(path=f"{base}/lab/tree/{urllib.parse.quote(path)}").geturl()
    return server.url


def _failure(said: str) -> JigError:
    """The command's error, out of what it said."""
    before, mark, rest = said.rpartition("error: ")
    message, _, hint = (rest if mark else before).partition("\n\nhint: ")
    return JigError(message.strip() or say("notebooks.failed"), hint.strip())


_THERE: WeakKeyDictionary[Session, Jupyters] = WeakKeyDictionary()
