"""The jobs panel: the runs of the project, whoever started them, as they are now."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from nicegui import ui

from jig.cli.terminal import human_duration
from jig.store.queries import Store
from jig.store.runs import FINAL
from jig.workbench import cancel, run_state
from jig.workbench.live import Change
from jig.workbench.session import Session
from jig.workbench.trouble import Trouble
from jig.workbench.words import say

SHOWN = 40  # and those that go on
KEYS = ("run_id", "status", "description", "script_name", "arguments", "target", "run_name", "end_time_utc")
BAD = ("Failed", "Lost")


def build(session: Session) -> None:
    """The panel, filled as soon as the record has answered."""
    Jobs(session)


class Jobs:
    """The list; it is drawn anew only when something in it is another."""

    def __init__(self, session: Session) -> None:
        """Stands where it is made."""
        self._session = session
        self._shown: list[tuple[Any, ...]] | None = None
        ui.label(say("jobs.title")).classes("jig-title").props('role="heading" aria-level="2"')
        self._trouble = Trouble()
        self._place = ui.element("div").classes("jig-jobs-list")
        ui.timer(0, self._refresh, once=True)
        session.live.listen(self._hear)

    async def _hear(self, change: Change) -> None:
        if change.listing or change.runs:
            await self._refresh()

    async def _refresh(self) -> None:
        if self._session.project is None:
            return
        name = self._session.project.name

        def ask(store: Store) -> tuple[list[dict[str, Any]], int]:
            latest = store.list(name, SHOWN)
            ids = {one["run_id"] for one in latest}
            older = [store.record(run_id) for run_id in store.going(name) if run_id not in ids]
            return older + latest, store.count(name)

        with self._trouble:
            found, count = await self._session.read(ask)
            shown = [(str(count),), *(tuple(str(one[key]) for key in KEYS) for one in found)]
            if shown != self._shown:
                self._shown = shown
                self._draw(found, count)

    def _draw(self, found: list[dict[str, Any]], count: int) -> None:
        self._place.clear()
        with self._place:
            if not found:
                with ui.element("div").classes("jig-empty"):
                    ui.label(say("jobs.empty"))
                return
            with ui.element("ul").classes("jig-list"):
                for one in found:
                    self._row(one)
            if count > len(found):
                ui.link(say("jobs.all", count=f"{count:,}"), "/history").classes("jig-link")

    def _row(self, one: dict[str, Any]) -> None:
        run_id = str(one["run_id"])
        with ui.element("li").classes("jig-item"):
            with ui.link(target=f"/runs/{run_id}").classes("jig-job") as link:
                link.props["aria-label"] = say("jobs.open", run=run_id, state=one["status"])
                with ui.element("div").classes("jig-job-head"):
                    run_state.mark(str(one["status"]))
                    ui.label(written(one)).classes("jig-strong jig-cut").tooltip(written(one))
                about = say("jobs.about", run=one["run_name"] or run_id, target=one["target"])
                ui.label(" · ".join((about, *_when(one)))).classes("jig-path jig-cut")
                why = str(one["description"] or "")
                if one["status"] != "Completed" and why.lower() not in ("", str(one["status"]).lower()):
                    ui.label(why).classes("jig-job-why" if one["status"] in BAD else "jig-job-said")
            with ui.link(target=f"/runs/{run_id}?tab=log").classes("jig-get") as log:
                log.props["aria-label"] = say("jobs.log", run=run_id)
                ui.icon("article").props('aria-hidden="true"')
            if one["status"] not in FINAL:
                end = ui.button(icon="stop", on_click=lambda: cancel.ask(self._session, run_id))
                end.props("flat round dense").classes("jig-tool")
                end.props["aria-label"] = say("jobs.cancel", run=run_id)


def _when(one: dict[str, Any]) -> Iterator[str]:
    """When it was submitted, with the day if that is another; and how long it took."""
    created, began, ended = (_moment(one[key]) for key in ("created_utc", "start_time_utc", "end_time_utc"))
    if created is not None:
        today = created.date() == datetime.now().date()
        yield created.strftime("%H:%M" if today else "%Y-%m-%d %H:%M")
    if began is not None and ended is not None:
        yield human_duration((ended - began).total_seconds())


def _moment(told: object) -> datetime | None:
    return datetime.fromisoformat(str(told)).astimezone() if told else None


def written(record: dict[str, Any]) -> str:
    """Script and arguments as they would be typed."""
    return shlex.join((str(record["script_name"]), *map(str, record["arguments"])))
