"""What the pages share: the open project, those opened before, the record, and the logs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from jig.errors import UsageError
from jig.project import Project
from jig.runner.folder import Home, default_home
from jig.store.queries import Store
from jig.workbench import remembered
from jig.workbench.homing import Homing
from jig.workbench.live import Live
from jig.workbench.run_logs import RunLogs
from jig.workbench.targets.load import Loads
from jig.workbench.words import say

Answer = TypeVar("Answer")
RECENT = 12


class Session:
    """One person at one server: every open page sees the same project."""

    def __init__(self, folder: str | None = None) -> None:
        """With a folder, its project is open from the start: UsageError when it is none."""
        self.home = Home(default_home())
        self.kept = remembered.read(self.home.path)
        self.project: Project | None = None
        self.start_folder = os.getcwd()
        self.typed: dict[str, tuple[str, str, str]] = {}  # by project, what stands in the run bar
        # SQLite wants each connection in the thread that made it, and the pages must not wait for a disk.
        self._thread = ThreadPoolExecutor(1, "record")
        self._store: Store | None = None
        self.live = Live(self)
        self.loads = Loads(self.work)
        self.homing = Homing(self)
        self.logs = RunLogs()
        self.closing: list[Callable[[], None]] = []  # what ends with the server
        if folder is not None:
            self._take(_find(folder))

    async def open(self, folder: str) -> None:
        """Open the project of this folder, for every page; UsageError when it has none."""
        self._take(await self.work(lambda: _find(folder)))

    def _take(self, project: Project) -> None:
        self.project = project
        recent = [project.root, *(root for root in self.kept.recent if root != project.root)]
        self.keep(self.kept._replace(recent=tuple(recent[:RECENT])))
        self.live.project_changed()

    def forget(self, root: str) -> None:
        """Take a folder off the list of recent ones."""
        self.keep(self.kept._replace(recent=tuple(one for one in self.kept.recent if one != root)))

    def keep(self, kept: remembered.Kept) -> None:
        """Remember this for the next start."""
        self.kept = kept
        remembered.write(self.home.path, kept)

    def here(self) -> Project:
        """The open project, which another page may change: a page that has files keeps its own; UsageError for none."""
        if self.project is None:
            raise UsageError(say("projects.none"), say("projects.none.hint"))
        return self.project

    async def read(self, question: Callable[[Store], Answer]) -> Answer:
        """Ask the record, in the one thread that may: `await session.read(lambda store: store.list(name, 50))`."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._ask, question)

    def _ask(self, question: Callable[[Store], Answer]) -> Answer:
        if self._store is None:
            self._store = Store()
        return question(self._store)

    async def work(self, call: Callable[[], Answer]) -> Answer:
        """Do something that takes its time (a submit, a machine) without holding up the pages."""
        return await asyncio.to_thread(call)

    def close(self) -> None:
        """End what ends with the server, and let go of the record, in its thread."""
        for end in self.closing:
            end()
        self._thread.submit(self._let_go)
        self._thread.shutdown()

    def _let_go(self) -> None:
        self._store = None


def _find(folder: str) -> Project:
    if not folder.strip():
        raise UsageError(say("projects.unnamed"), say("projects.unnamed.hint"))
    return Project.find(os.path.expanduser(folder.strip()))
