"""Compare: runs side by side, as `jig history compare`, `plot` and `diff` have them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nicegui import ui

from jig.cli.side_by_side import called, cells, letters, signed
from jig.compare.rows import Row, View, compare
from jig.errors import JigError, UsageError
from jig.store.queries import Found, Store
from jig.views import gather
from jig.workbench.pages import compare_code, compare_curves
from jig.workbench.session import Session
from jig.workbench.words import say

MOST = 26
COLOURS = ("#2563eb", "#d97706", "#059669", "#dc2626", "#7c3aed", "#0891b2", "#be185d", "#4d7c0f")


async def build(session: Session) -> None:
    """The page for the runs that its address names: `/compare?runs=A,B`."""
    request = ui.context.client.request
    words = [word for word in request.query_params.get("runs", "").split(",") if word]
    if not 2 <= len(words) <= MOST:
        raise UsageError(say("compare.few", count=len(words), most=MOST), say("compare.few.hint"))
    project, warnings = session.here().name, list[str]()
    asked = await session.work(lambda: _ask(words, project, warnings.append))
    if isinstance(asked, JigError):
        raise asked
    found, views = asked
    sections = compare(views)
    with ui.element("div").classes("jig-compare"):
        _who(views)
        for text in warnings:
            ui.label(text).classes("jig-soft")
        await compare_curves.build(session, found)
        _sections(views, sections)
        await compare_code.build(session, found)


def _ask(words: Sequence[str], project: str, warn: Callable[[str], None]) -> tuple[list[Found], list[View]] | JigError:
    """The runs, from a record of this thread's own: a machine that answers slowly must not hold up the other pages.

    An error is given without its traceback, which would keep the record alive in another thread.
    """
    try:
        store = Store()
        found = [store.find(word, project) for word in words]
        return found, gather(store, found, warn)
    except JigError as error:
        error.__cause__ = error.__context__ = None
        return error.with_traceback(None)


def _who(views: Sequence[View]) -> None:
    with ui.element("ul").classes("jig-list jig-who"):
        for at, (letter, view) in enumerate(zip(letters(len(views)), views, strict=True)):
            record, plan = view.record, view.plan
            with ui.element("li").classes("jig-item jig-item-main"):
                ui.label(letter).classes("jig-letter").style(f"background: {COLOURS[at % len(COLOURS)]}")
                ui.link(str(record["run_id"]), f"/runs/{record['run_id']}")
                ui.label(str(record["status"])).classes("jig-mark")
                ui.label(" ".join((plan["target"], plan["script"], *plan["arguments"]))).classes(
                    "jig-soft jig-one-line"
                )


def _sections(views: Sequence[View], sections: dict[str, list[Row]]) -> None:
    """What differs; the rest at a switch."""

    def turn() -> None:
        table.refresh(switch.value)

    with ui.element("div").classes("jig-line jig-compare-head"):
        ui.label(say("compare.differences")).classes("jig-title jig-grow").props('role="heading" aria-level="2"')
        switch = ui.switch(say("compare.everything"), on_change=turn).props("dense")

    @ui.refreshable
    def table(everything: bool) -> None:
        shown = {name: [row for row in rows if everything or not row.same] for name, rows in sections.items()}
        if not any(shown.values()):
            ui.label(say("compare.same")).classes("jig-soft")
            return
        with ui.element("table").classes("jig-table"):
            for name, rows in shown.items():
                if rows:
                    _section(name, rows, len(views))
        same = sum(len(rows) for rows in sections.values()) - sum(len(rows) for rows in shown.values())
        if same:
            ui.label(say("compare.folded", count=same)).classes("jig-soft")

    table(False)


def _section(name: str, rows: Sequence[Row], count: int) -> None:
    titles: dict[str, Any] = {
        "parameters": say("compare.parameters"),
        "arguments": say("compare.arguments"),
        "metrics": say("compare.metrics"),
        "environment": say("compare.environment"),
        "code": say("compare.code"),
        "configuration": say("compare.configuration"),
        "gpu": say("compare.gpu"),
        "time": say("compare.time"),
    }
    changed = count == 2
    with ui.element("thead"), ui.element("tr"):
        for head in (titles[name], *letters(count), *([say("compare.change")] if changed else [])):
            _cell("th", head)
    with ui.element("tbody"):
        for row in rows:
            with ui.element("tr").classes("" if row.same else "jig-differs"):
                _cell("th", called(name, row))
                for text in (*cells(row), *([signed(row)] if changed else [])):
                    _cell("td", text)


def _cell(tag: str, text: str) -> None:
    with ui.element(tag):
        ui.label(text)
