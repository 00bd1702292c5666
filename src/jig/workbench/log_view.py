"""The log of a run: a window that follows, or stands still; search; a jump to the first error."""

from __future__ import annotations

import os
from collections.abc import Callable

from nicegui import ui
from nicegui.element import Element
from nicegui.events import GenericEventArguments, ValueChangeEventArguments

from jig import interleaved
from jig.store.queries import Found
from jig.workbench import log_window
from jig.workbench.run_logs import ALL, is_large, size
from jig.workbench.session import Session
from jig.workbench.words import say


class Window(Element, component=os.path.join("static", "log_view.js")):
    """The lines; at most some hundreds of them are in the page."""

    def __init__(self, source: str, label: str) -> None:
        """`source` is the address that gives lines by offset."""
        super().__init__()
        self._props["source"], self._props["label"] = source, label

    def look_at(self, source: str) -> None:
        """Show another log, from its end."""
        self._props["source"] = source
        self.update()


class LogView:
    """The log with what is above it."""

    def __init__(self, session: Session, found: Found) -> None:
        """Stands where it is made, and begins with `begin`."""
        self._session, self._run = session, found
        self._whose, self._size, self._at = "", -1, -1
        self._source = f"/runs/{found.id}/log"
        with ui.element("div").classes("jig-line jig-log-tools"):
            self._ranks = ui.select({}, label=say("log.rank"), on_change=self._choose).props("outlined dense")
            self._field = ui.input(say("log.search")).props("outlined dense clearable spellcheck=false")
            self._field.classes("jig-log-search").on("keydown.enter", self._search)
            ui.button(say("log.next"), on_click=self._search).props("flat no-caps")
            ui.button(say("log.error"), on_click=self._jump).props("flat no-caps icon=report_gmailerrorred")
            ui.button(say("log.start"), on_click=self._begin).props("flat no-caps icon=vertical_align_top")
            self._pause = ui.button(say("log.pause"), on_click=self._toggle).props("flat no-caps icon=pause")
            self._said = ui.label().classes("jig-soft jig-grow").props('role="status"')
        self._window = Window(self._source, say("log.label"))
        self._window.on("follow", self._followed)
        self._follows = True
        self._ranks.set_visibility(False)

    async def begin(self, first: int | None) -> None:
        """Of several processes all are shown as one; or the rank `first`, of a run that failed; or one, of too much."""
        await self._look_for_ranks(first)
        self._size = await self._session.work(lambda: size(self._run, self._whose))

    async def _look_for_ranks(self, first: int | None) -> None:
        ranks = await self._session.work(lambda: interleaved.ranks(self._run.folder))
        if not ranks or len(ranks) == len(self._ranks.options) - 2:
            return
        names = {str(rank): say("log.rank.one", rank=rank) for rank in ranks}
        if self._ranks.options:
            chosen = self._ranks.value
        elif first in ranks:
            chosen = str(first)
        else:
            chosen = str(ranks[0]) if await self._session.work(lambda: is_large(self._run)) else ALL
        self._ranks.set_visibility(True)
        self._ranks.set_options({ALL: say("log.rank.all"), **names, "": say("log.rank.none")}, value=chosen)

    def _choose(self, event: ValueChangeEventArguments[str | None]) -> None:
        if event.value is None:
            return
        self._whose, self._size, self._at = event.value, -1, -1
        self._window.look_at(f"{self._source}/{self._whose}" if self._whose else self._source)

    async def refresh(self) -> None:
        """Show what is new, if something is."""
        await self._look_for_ranks(None)
        now = await self._session.work(lambda: size(self._run, self._whose))
        if now != self._size:
            self._size = now
            self._window.run_method("grow")

    def _begin(self) -> None:
        self._window.run_method("show", 0)

    def _toggle(self) -> None:
        self._window.run_method("follow", not self._follows)

    def _followed(self, event: GenericEventArguments) -> None:
        self._follows = bool(event.args)
        self._pause.set_text(say("log.pause" if self._follows else "log.follow"))
        self._pause.props(f"icon={'pause' if self._follows else 'vertical_align_bottom'}")

    async def _search(self) -> None:
        text = self._field.value or ""
        if text:
            self._show(await self._ask(lambda path: log_window.find(path, text, self._at + 1)))

    async def _jump(self) -> None:
        self._show(await self._ask(log_window.first_error))

    async def _ask(self, question: Callable[[str], int | None]) -> int | None:
        def ask() -> int | None:
            with self._session.logs.file(self._run, self._whose) as path:
                return question(path)

        return await self._session.work(ask)

    def _show(self, offset: int | None) -> None:
        self._said.set_text("" if offset is not None else say("log.nothing"))
        self._at = -1 if offset is None else offset
        if offset is not None:
            self._window.run_method("show", offset)
