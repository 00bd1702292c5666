"""The summary of a run: how it is and why, what it did with the GPU, what it was given, what it logged last."""

from __future__ import annotations

import time
from typing import Any

from nicegui import ui

from jig.cli import ranks_text
from jig.cli.terminal import human_duration
from jig.workbench import gpu_proof, run_state
from jig.workbench.jobs import written
from jig.workbench.run_seen import Seen
from jig.workbench.words import say

LONGEST = 200
MOST = 200  # metrics, or parameters


def show(seen: Seen) -> None:
    """All of it, where this is called."""
    with ui.element("div").classes("jig-columns jig-summary"):
        _facts(seen)
        gpu_proof.show(seen)
    record = seen.record
    if seen.last:
        _end_of_log(seen)
    with ui.element("div").classes("jig-columns"):
        _values(say("summary.metrics"), record["metrics"], say("summary.metrics.none"))
        _values(say("summary.params"), record["params"], say("summary.params.none"))
        if record["tags"]:
            _values(say("summary.tags"), record["tags"], "")


def _end_of_log(seen: Seen) -> None:
    with ui.element("section").classes("jig-end-of-log"):
        with ui.element("div").classes("jig-line"):
            ui.label(say("summary.log")).classes("jig-title jig-grow").props('role="heading" aria-level="3"')
            ui.link(say("summary.log.whole"), f"/runs/{seen.found.id}?tab=log").classes("jig-link")
        ui.label("\n".join(seen.last)).classes("jig-pre jig-pre-wrap").props('tabindex="0"')


def _facts(seen: Seen) -> None:
    record, run = seen.record, seen.run
    with ui.element("dl").classes("jig-facts jig-grow"):
        with _fact(say("summary.state")):
            run_state.mark(str(record["status"]))
            if run.why and not seen.found.nested:
                ui.label(run.why).classes("jig-wrap")
        if run.fix:
            with _fact(say("summary.fix")):
                ui.label(run.fix).classes("jig-wrap jig-strong")
        if record["exit_code"] is not None:
            _text(say("summary.exit_code"), record["exit_code"])
        if run.said and not seen.found.nested:
            with _fact(say("summary.rank", rank=run.rank)):
                for line in run.said:
                    ui.label(line).classes("jig-wrap jig-path")
        if record["exchange"]:
            _text(say("summary.exchange"), ranks_text.exchange(record["exchange"]))
        _text(say("summary.duration"), _lasts(seen))
        _text(say("summary.command"), written(record))
        _text(say("summary.target"), say("summary.where", target=record["target"], config=record["run_configuration"]))
        _text(say("summary.started"), _day(run.started))
        if record["reproduces"]:
            with _fact(say("summary.reproduces")):
                ui.link(str(record["reproduces"]), f"/runs/{record['reproduces']}")
        if record["note"]:
            _text(say("summary.note"), record["note"])


def _fact(name: str) -> ui.element:
    with ui.element("dt"):
        ui.label(name)
    return ui.element("dd")


def _text(name: str, value: object) -> None:
    with _fact(name):
        ui.label(str(value)).classes("jig-wrap")


def _lasts(seen: Seen) -> str:
    run = seen.run
    if run.duration_s is not None:
        return human_duration(run.duration_s)
    if run.started is None or run.final:
        return say("summary.not_started")
    return say("summary.so_far", time=human_duration(time.time() - run.started))


def _day(seconds: float | None) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds)) if seconds else say("summary.not_started")


def _values(title: str, values: dict[str, Any], nothing: str) -> None:
    with ui.element("section").classes("jig-values"):
        ui.label(title).classes("jig-title").props('role="heading" aria-level="3"')
        if not values:
            ui.label(nothing).classes("jig-soft")
            return
        with ui.element("table").classes("jig-table"), ui.element("tbody"):
            for name, value in list(values.items())[:MOST]:
                with ui.element("tr"):
                    with ui.element("th").props('scope="row"'):
                        ui.label(name)
                    with ui.element("td"):
                        ui.label(short(value))


def short(value: object) -> str:
    """A value in few characters."""
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= LONGEST else text[:LONGEST] + "…"
