"""The log of a run: a window that follows, or stands still; search; a jump to the first error."""

from __future__ import annotations

import os

from nicegui import ui
from nicegui.element import Element
from nicegui.events import GenericEventArguments, ValueChangeEventArguments

from jig import interleaved
from jig.store.queries import Found
from jig.workbench import log_window
from jig.workbench.run_logs import ALL, size
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

    def __init__(self, session: Session, found: Found, first: int | None = None) -> None:
        """Stands where it is made; of several processes it begins with the rank `first`, or all of them."""
        self._session, self._run = session, found
        self._whose, self._size, self._at = "", size(found, ""), -1
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
        self._look_for_ranks(first)

    def _look_for_ranks(self, first: int | None) -> None:
        """Of several processes all are shown as one; or, of a run that failed, the one that failed first."""
        ranks = interleaved.ranks(self._run.folder)
        self._ranks.set_visibility(bool(ranks))
        if not ranks or len(ranks) == len(self._ranks.options) - 2:
            return
        names = {str(rank): say("log.rank.one", rank=rank) for rank in ranks}
        chosen = self._ranks.value if self._ranks.options else str(first) if first in ranks else ALL
        self._ranks.set_options({ALL: say("log.rank.all"), **names, "": say("log.rank.none")}, value=chosen)

    def _choose(self, event: ValueChangeEventArguments[str | None]) -> None:
        if event.value is None:
            return
        self._whose, self._at = event.value, -1
        self._size = size(self._run, self._whose)
        self._window.look_at(f"{self._source}/{self._whose}" if self._whose else self._source)

    def _path(self) -> str:
        return self._session.logs.path(self._run, self._whose)

    def refresh(self) -> None:
        """Show what is new, if something is."""
        self._look_for_ranks(None)
        now = size(self._run, self._whose)
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
            self._show(await self._session.work(lambda: log_window.find(self._path(), text, self._at + 1)))

    async def _jump(self) -> None:
        self._show(await self._session.work(lambda: log_window.first_error(self._path())))

    def _show(self, offset: int | None) -> None:
        self._said.set_text("" if offset is not None else say("log.nothing"))
        self._at = -1 if offset is None else offset
        if offset is not None:
            self._window.run_method("show", offset)
