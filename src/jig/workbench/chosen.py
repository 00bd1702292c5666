"""A place that shows what was chosen last, however many were clicked on while the first was still being read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from nicegui import ui

from jig.errors import JigError
from jig.workbench import trouble
from jig.workbench.session import Session

Read = TypeVar("Read")


class Chosen:
    """Reads first, and draws only what nothing else was chosen after."""

    def __init__(self, session: Session, place: ui.element) -> None:
        """What is shown stands in the place."""
        self._session, self._place = session, place
        self._asked = 0

    async def show(self, title: str, read: Callable[[], Read], draw: Callable[[Read], None]) -> None:
        """What was read, or why it could not be, under its title."""
        self._asked += 1
        asked = self._asked
        found: Read | JigError
        try:
            found = await self._session.work(read)
        except JigError as error:
            found = error
        if asked != self._asked or self._place.is_deleted:
            return
        self._place.clear()
        with self._place:
            if title:
                ui.label(title).classes("jig-title jig-wrap").props('role="heading" aria-level="3"')
            if isinstance(found, JigError):
                trouble.show(found)
            else:
                draw(found)
