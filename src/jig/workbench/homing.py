"""Runs on other machines: what is new of them is brought home while some page is open, so that every page sees it.

One run at a time of each machine, over the connection that ssh keeps; one that does not answer is left alone a while.
"""

from __future__ import annotations

import asyncio
import os
import time

from nicegui import background_tasks

from jig.errors import JigError
from jig.store.queries import Found, Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jig.workbench.session import Session

EVERY_S = 3.0
AGAIN_S = 30.0


class Homing:
    """Brings home what pages show."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._bringing: dict[str, asyncio.Task[bool]] = {}
        self._asked: set[str] = set()
        self._not_before: dict[str, float] = {}  # by machine

    async def watch(self) -> None:
        """Look every few seconds, for as long as the server runs."""
        while True:
            await asyncio.sleep(EVERY_S)
            if not self._session.live.is_heard:
                continue
            machines: dict[str, list[Found]] = {}
            for found in await self._session.read(_elsewhere):
                machines.setdefault(found.machine.name, []).append(found)
            for name, runs in machines.items():
                if name not in self._asked and time.monotonic() >= self._not_before.get(name, 0.0):
                    self._asked.add(name)
                    background_tasks.create(self._all(name, runs))

    async def bring(self, found: Found) -> None:
        """Bring home what is new of this run, or wait for who does; a JigError when its machine does not answer."""
        key = found.folder.path
        task = self._bringing.get(key)
        if task is None:
            task = asyncio.ensure_future(self._session.work(found.bring))
            self._bringing[key] = task
            task.add_done_callback(lambda done: self._bringing.pop(key, None))
        await asyncio.shield(task)

    async def _all(self, machine: str, runs: list[Found]) -> None:
        try:
            for found in runs:
                await self.bring(found)
        except JigError:  # told on the page of the run, and on the machine's card
            self._not_before[machine] = time.monotonic() + AGAIN_S
        finally:
            self._asked.discard(machine)


def _elsewhere(store: Store) -> list[Found]:
    """The runs on other machines that had not ended when they were seen last."""
    copies = os.path.join(store.home.mirror, "")
    going = [run_id for run_id, folder in store.index.going().items() if folder.startswith(copies)]
    found = []
    for run_id in going:
        try:
            found.append(store.find(run_id, None))
        except JigError:  # gone meanwhile, or its machine is not attached any more
            continue
    return found
