"""What a run left: a list, previews that cannot do anything, downloads, and a name in the project for what is kept."""

from __future__ import annotations

import os
import urllib.parse

from nicegui import ui

from jig.assets.link import check_name
from jig.cli.history_marks import promoted
from jig.cli.terminal import human_bytes, printable
from jig.errors import JigError, UsageError
from jig.store import runs
from jig.store.queries import Found, Store
from jig.workbench import run_files
from jig.workbench.chosen import Chosen
from jig.workbench.dialogs import dialog
from jig.workbench.session import Session
from jig.workbench.trouble import Trouble
from jig.workbench.words import say

MOST = 500
PREVIEW_BYTES = 256 << 10
PROMOTED = "outputs" + os.sep


class Outputs:
    """The list beside the preview."""

    def __init__(self, session: Session, found: Found) -> None:
        """Stands where it is made."""
        self._session, self._found = session, found
        self._names: list[str] | None = None
        with ui.element("div").classes("jig-columns"):
            self._list = ui.element("section").classes("jig-narrow")
            self._chosen = Chosen(session, ui.element("section").classes("jig-wide"))

    async def refresh(self) -> None:
        """Draw the list anew if something came or went."""
        found = self._found
        inside = f"outputs/nested/{found.nested}/"
        names = await self._session.work(lambda: runs.attachments(found.folder))
        names = [name for name in names if not found.nested or name.startswith(inside)]
        names.sort(key=lambda name: not name.startswith(PROMOTED))  # what the script left, before what jig wrote
        if names == self._names:
            return
        is_first = self._names is None
        self._names = names
        self._list.clear()
        with self._list:
            if not names:
                ui.label(say("outputs.none")).classes("jig-soft")
                return
            with ui.element("ul").classes("jig-list"):
                for name in names[:MOST]:
                    self._row(name)
            if len(names) > MOST:
                ui.label(say("outputs.more", count=len(names) - MOST)).classes("jig-soft")
        if is_first and names:
            await self._show(next(filter(run_files.is_picture, names), names[0]))

    def _row(self, name: str) -> None:
        shown = printable(name)
        with ui.element("li").classes("jig-item"):
            with ui.element("button").classes("jig-item-main").on("click", lambda: self._show(name)) as main:
                main.props('type="button"').props["aria-label"] = say("outputs.show", name=shown)
                ui.label(shown).classes("jig-wrap")
                ui.label(self._size(name)).classes("jig-path")
            if name.startswith(PROMOTED):
                keep = ui.button(icon="bookmark_add", on_click=lambda: self._promote(name)).props("flat round dense")
                keep.classes("jig-tool").props["aria-label"] = say("outputs.promote", name=shown)
                keep.tooltip(say("outputs.promote.help"))
            get = ui.link(target=address(self._found.id, name)).classes("jig-get")
            get.props["aria-label"] = say("outputs.download", name=shown)
            get.props["download"] = os.path.basename(shown)
            with get:
                ui.icon("download").props('aria-hidden="true"')

    def _size(self, name: str) -> str:
        try:
            return human_bytes(os.path.getsize(run_files.place(self._found, name)))
        except (JigError, OSError):
            return say("outputs.gone")

    async def _show(self, name: str) -> None:
        def picture(_: None) -> None:
            shown = ui.element("img").classes("jig-shown")
            shown.props["src"] = address(self._found.id, name) + "?picture=true"
            shown.props["alt"] = printable(name)

        if run_files.is_picture(name):
            await self._chosen.show(printable(name), lambda: None, picture)
        else:
            await self._chosen.show(printable(name), lambda: read_text(run_files.place(self._found, name)), _text)

    def _promote(self, name: str) -> None:
        async def go() -> None:
            from jig.assets.promote import promote

            with place:
                said.set_text("")
                check_name(field.value or "")
                project, warnings = self._session.here(), list[str]()
                new = await self._session.work(
                    lambda: promote(Store(), project, self._found, name, field.value, warnings.append)
                )
                said.set_text("\n".join([*warnings, promoted(new)]))

        with dialog(say("outputs.promote", name=printable(name))) as shown:
            ui.label(say("outputs.promote.text")).classes("jig-soft")
            field = ui.input(say("outputs.promote.name")).props("outlined dense autofocus spellcheck=false")
            field.classes("jig-full").on("keydown.enter", go)
            place = Trouble()
            said = ui.label().classes("jig-wrap").props('role="status"')
            with ui.element("div").classes("jig-line jig-end"):
                ui.button(say("outputs.promote.close"), on_click=shown.close).props("flat no-caps")
                ui.button(say("outputs.promote.go"), on_click=go).props("unelevated no-caps")


def _text(text: str) -> None:
    ui.label(text).classes("jig-pre").props('tabindex="0"')


def address(run_id: str, name: str) -> str:
    """Where the artifact is had."""
    return f"/runs/{run_id}/artifacts/{urllib.parse.quote(name.replace(os.sep, '/'), errors='surrogateescape')}"


def read_text(path: str) -> str:
    """The beginning of a file, as text; UsageError for one that is none."""
    try:
        with open(path, "rb") as file:
            data = file.read(PREVIEW_BYTES + 1)
    except OSError as error:
        raise UsageError(say("outputs.unread", name=os.path.basename(path), why=error.strerror)) from error
    if b"\0" in data[:8192]:
        raise UsageError(say("outputs.binary"), say("outputs.binary.hint"))
    more = "\n…" if len(data) > PREVIEW_BYTES else ""
    return data[:PREVIEW_BYTES].decode("utf-8", "replace") + more
