"""History: the runs of the project in a table, asked for in the query language, marked, drawn, compared."""

from __future__ import annotations

from nicegui import ui

from jig.cli.history_list import columns_of
from jig.store.where import Expression, parse
from jig.workbench import frame
from jig.workbench.live import Change
from jig.workbench.pages import history_marks
from jig.workbench.pages.history_charts import Charts
from jig.workbench.pages.history_columns import ask_for_columns
from jig.workbench.pages.history_table import Table
from jig.workbench.pages.history_views import Views
from jig.workbench.remembered import View
from jig.workbench.session import Session
from jig.workbench.trouble import Trouble
from jig.workbench.words import say

FIRST_LOOK = 50  # runs whose metrics are the columns to begin with
BEGIN_WITH = ("run_id", "status")


async def build(session: Session) -> None:
    """The page."""
    name = session.here().name
    records = await session.read(lambda store: store.list(name, FIRST_LOOK))
    columns = tuple(dict.fromkeys((*BEGIN_WITH, *columns_of(records))))
    history = History(session, View(name, columns=columns))
    await history.tell_count()
    session.live.listen(history.heard)


class History:
    """The page of one browser tab."""

    def __init__(self, session: Session, view: View) -> None:
        """Draw it, with this view to begin with."""
        self.session = session
        self.view = view
        self._chosen: list[str] = []
        with ui.element("div").classes("jig-history"):
            self._bar()
            self.trouble = Trouble()
            self._actions()
            self._table = Table(view, self._selected, self._sorted)
            self._charts = Charts(session)
            self._empty = ui.element("div").classes("jig-empty")
            with self._empty:
                ui.label(say("history.empty.title")).classes("jig-title").props('role="heading" aria-level="2"')
                ui.label(say("history.empty"))
            self._empty.set_visibility(False)

    def _bar(self) -> None:
        with ui.element("div").classes("jig-line jig-history-bar"):
            self._field = ui.input(say("history.where")).classes("jig-grow jig-query")
            self._field.props("outlined dense clearable spellcheck=false autocomplete=off")
            self._field.props["placeholder"] = say("history.where.example")
            self._field.on("keydown.enter", self._ask).on("clear", self._ask)
            frame.shortcut(
                ui.button(icon="search", on_click=self._ask)
                .props(f'unelevated aria-label="{say("history.ask")}"')
                .tooltip(say("history.ask")),
                "a",
                say("history.ask"),
            )
            ui.button(say("history.columns"), icon="view_column", on_click=self._choose).props("outline no-caps")
            self.views = Views(self)
            self._shown = (
                ui.toggle(
                    {
                        "table": say("history.table"),
                        "parallel": say("history.parallel"),
                        "scatter": say("history.scatter"),
                    },
                    value="table",
                    on_change=self._draw,
                )
                .props("no-caps unelevated")
                .classes("jig-choice")
            )

    def _actions(self) -> None:
        with ui.element("div").classes("jig-line jig-actions"):
            self._count = ui.label().classes("jig-soft").props('aria-live="polite"')
            self._archived = ui.checkbox(say("history.archived"), on_change=self._archive_shown).props("dense")
            self._archived.props["aria-label"] = say("history.archived")
            ui.element("div").classes("jig-grow")
            self._picked = ui.label().classes("jig-soft")
            self._buttons = [
                ui.button(say("history.compare"), icon="compare_arrows", on_click=self._compare),
                ui.button(say("history.tag"), icon="label", on_click=lambda: history_marks.tag(self, self._chosen)),
                ui.button(say("history.note"), icon="notes", on_click=lambda: history_marks.note(self, self._chosen)),
                ui.button(say("history.archive"), icon="archive", on_click=self._archive),
            ]
            for button in self._buttons:
                button.props("flat dense no-caps padding=4px")
            self._offer()

    def _offer(self) -> None:
        """Each button only where it has something to do."""
        count = len(self._chosen)
        self._picked.text = say("history.selected", count=count) if count else ""
        for button, least, most in zip(self._buttons, (2, 1, 1, 1), (26, 1000, 1, 1000), strict=True):
            button.set_enabled(least <= count <= most)

    async def _selected(self) -> None:
        self._chosen = await self._table.selected()
        self._offer()

    async def _sorted(self) -> None:
        self.view = self.view._replace(sort=await self._table.sort())
        await self._draw()

    async def _ask(self) -> None:
        await self.look(self.view._replace(where=(self._field.value or "").strip()))

    async def _archive_shown(self) -> None:
        if self._archived.value != self.view.archived:
            await self.look(self.view._replace(archived=bool(self._archived.value)))

    async def _choose(self) -> None:
        await ask_for_columns(self)

    async def look(self, view: View) -> None:
        """Look at other runs; a query that makes no sense is explained in place, and nothing else changes."""
        with self.trouble:
            where = _read(view.where)
            await self.session.read(lambda store: store.check(where.keys if where else ()))
            self.view = view
            self._field.value = view.where
            self._archived.value = view.archived
            self._table.show(view)
            await self.tell_count()
            await self._draw()

    async def tell_count(self) -> None:
        """Say how many runs there are, and what to do where there are none."""
        view, where = self.view, _read(self.view.where)
        count = await self.session.read(lambda store: store.count(view.project, where, archived=view.archived))
        self._count.text = say("history.one") if count == 1 else say("history.count", count=f"{count:,}")
        self._empty.set_visibility(count == 0 and where is None)

    async def _draw(self) -> None:
        kind = str(self._shown.value)
        self._table.set_visibility(kind == "table")
        await self._charts.show(kind, self.view, _read(self.view.where))

    async def heard(self, change: Change) -> None:
        """Something happened to some run."""
        if change.listing:
            self._table.refresh()
            await self.tell_count()
            await self._charts.refresh(self.view, _read(self.view.where))

    def _compare(self) -> None:
        ui.navigate.to("/compare?runs=" + ",".join(self._chosen))

    async def _archive(self) -> None:
        await history_marks.archive(self, self._chosen)

    async def marked(self) -> None:
        """What was said of runs is written: show it."""
        self._table.refresh()
        await self.tell_count()


def _read(where: str) -> Expression | None:
    return parse(where) if where else None
