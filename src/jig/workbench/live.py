"""How pages hear of what happens: one look a second for the whole server, and only while a page listens.

A look is a few calls of stat. The record is brought up to date only when a file of a run that goes on has grown, when
another process has written to the index, and now and then, because a killed supervisor writes nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable, Iterator

from nicegui import background_tasks, ui

from jig.store.queries import Store
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from nicegui import Client

    from jig.workbench.session import Session

EVERY_S = 1.0
AT_LEAST_EVERY_S = 10.0
GROWING = (".jsonl", ".log", "outputs.json")  # of a run folder


class Change(Value):
    """What is new: runs whose files grew, whether the list of runs is another one, whether the project is."""

    runs: frozenset[str] = frozenset()
    listing: bool = False
    project: bool = False

    def and_also(self, later: Change) -> Change:
        """Both of them as one."""
        return Change(self.runs | later.runs, self.listing or later.listing, self.project or later.project)


Listener = Callable[[Change], Awaitable[None] | None]
Stamp = tuple[str, int, int]


class Live:
    """Watches the runs and tells the pages."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._listeners: dict[int, tuple[Client, Listener]] = {}
        self._missed: dict[int, Change] = {}  # by pages that are not there yet, or away for a while
        self._next = 0
        self._seen = _Seen(("", 0, 0), -1, {}, {})
        self._since_refresh_s = 0.0

    def listen(self, listener: Listener) -> None:
        """Call this, in the context of the page that is being built, at every change, until the page is closed."""
        client, number = ui.context.client, self._next
        self._next += 1
        self._listeners[number] = (client, listener)
        client.on_connect(lambda: self._catch_up(number))
        client.on_delete(lambda: self._forget(number))

    @property
    def is_heard(self) -> bool:
        """Whether a page listens."""
        return bool(self._listeners)

    def project_changed(self) -> None:
        """Tell every page that another project is open."""
        self._tell(Change(project=True))

    async def watch(self) -> None:
        """Look once a second, for as long as the server runs."""
        while True:
            await asyncio.sleep(EVERY_S)
            if self._listeners:
                with contextlib.suppress(OSError):  # a disk that is away for a while
                    change = await self._session.read(self._look)
                    if change.runs or change.listing:
                        self._tell(change)

    def _tell(self, change: Change) -> None:
        for number in list(self._listeners):
            self._missed[number] = self._missed[number].and_also(change) if number in self._missed else change
            if self._listeners[number][0].has_socket_connection:
                self._catch_up(number)

    def _catch_up(self, number: int) -> None:
        """Tell a page what it has not heard yet."""
        change = self._missed.pop(number, None)
        if change is None or number not in self._listeners:
            return
        client, listener = self._listeners[number]
        with client:
            waiting = listener(change)
            if waiting is not None:
                background_tasks.create(_finish(client, waiting))

    def _forget(self, number: int) -> None:
        self._listeners.pop(number, None)
        self._missed.pop(number, None)

    def _look(self, store: Store) -> Change:
        """What changed since the last look. Runs in the record's thread."""
        before, self._since_refresh_s = self._seen, self._since_refresh_s + EVERY_S
        now = _see(store, before.going)
        is_due = bool(before.going) and self._since_refresh_s >= AT_LEAST_EVERY_S
        if now == before and not is_due:
            return Change()
        self._since_refresh_s = 0.0
        store.index.refresh()
        self._seen = _see(store, store.index.going())
        grown = {run for run, stamps in now.stamps.items() if before.stamps.get(run) != stamps}
        moved = frozenset(grown | (self._seen.going.keys() ^ before.going.keys()))
        return Change(moved, now.order != before.order or now.version != before.version or bool(moved))


class _Seen(Value):
    order: Stamp
    version: int  # of the index, which another process may have written to
    going: dict[str, str]
    stamps: dict[str, tuple[Stamp, ...]]


def _see(store: Store, going: dict[str, str]) -> _Seen:
    stamps = {run: tuple(sorted(_growing(folder))) for run, folder in going.items()}
    return _Seen(_stamp(store.home.order), store.index.version(), going, stamps)


def _growing(folder: str) -> Iterator[Stamp]:
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(GROWING):
                yield _stamp(entry.path)


def _stamp(path: str) -> Stamp:
    try:
        found = os.stat(path)
    except OSError:
        return (path, 0, 0)
    return (path, found.st_size, found.st_mtime_ns)


async def _finish(client: Client, waiting: Awaitable[None]) -> None:
    with client:
        await waiting
