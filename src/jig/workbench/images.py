"""The pictures of a run: what it logged with `jig.log_image`, and other pictures among its outputs, as they come."""

from __future__ import annotations

import os
import re

from nicegui import ui

from jig.cli.terminal import printable
from jig.store import runs
from jig.store.queries import Found
from jig.workbench import run_files
from jig.workbench.dialogs import dialog
from jig.workbench.outputs import PROMOTED, address
from jig.workbench.session import Session
from jig.workbench.words import say

MOST = 200  # the newest, where there are more
LOGGED = os.path.join("outputs", "images", "")


class Images:
    """A wall of them; a click shows one as large as it fits."""

    def __init__(self, session: Session, found: Found) -> None:
        """Stands where it is made; `refresh` fills it."""
        self._session, self._found = session, found
        self._names: list[str] | None = None
        self._place = ui.element("div").classes("jig-full")

    async def refresh(self) -> None:
        """Draw it anew if pictures came or went."""
        inside = f"outputs/nested/{self._found.nested}/" if self._found.nested else PROMOTED
        found = await self._session.work(lambda: runs.attachments(self._found.folder))
        names = [name for name in found if name.startswith(inside) and run_files.is_picture(name)]
        names.sort(key=_in_order)
        if names == self._names:
            return
        self._names = names
        self._place.clear()
        with self._place:
            if not names:
                ui.label(say("images.none")).classes("jig-soft jig-said")
                return
            if len(names) > MOST:
                ui.label(say("images.some", most=MOST, count=len(names))).classes("jig-soft")
            with ui.element("ul").classes("jig-images"):
                for name in names[-MOST:]:
                    self._one(name)

    def _one(self, name: str) -> None:
        with (
            ui.element("li"),
            ui.element("button").classes("jig-image").on("click", lambda: self._large(name)) as button,
        ):
            button.props('type="button"').props["aria-label"] = say("images.large", name=printable(name))
            _picture(self._found, name).props('loading="lazy"')
            ui.label(printable(name.removeprefix(LOGGED).removeprefix(PROMOTED))).classes("jig-path")

    def _large(self, name: str) -> None:
        with dialog(printable(name), wide=True) as shown:
            _picture(self._found, name).classes("jig-shown")
            with ui.element("div").classes("jig-line jig-end"):
                ui.button(say("actions.close"), on_click=shown.close).props("flat no-caps autofocus")


def _in_order(name: str) -> list[tuple[int, str]]:
    """The tenth behind the ninth, as they were logged."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", name)]


def _picture(found: Found, name: str) -> ui.element:
    picture = ui.element("img")
    picture.props["src"] = address(found.id, name) + "?picture=true"
    picture.props["alt"] = printable(name)
    return picture
