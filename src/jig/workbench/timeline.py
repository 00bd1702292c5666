"""Where the time of a run went: its states as parts of a bar, and each event with its moment."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator
from typing import Any

from nicegui import ui

from jig.cli.terminal import human_duration
from jig.store.runs import FINAL, STATES
from jig.workbench.run_seen import Seen
from jig.workbench.words import say

KNOWN = ("event", "time", "mono", "seq")
MOST = 300
LONGEST = 160


def show(seen: Seen) -> None:
    """All of it, where this is called."""
    past = seen.past
    if not past:
        ui.label(say("timeline.none")).classes("jig-soft")
        return
    begin = past[0]["time"]
    parts = _parts(seen)
    whole = sum(length for _, length in parts) or 1.0
    with ui.element("div").classes("jig-timeline").props('role="img"') as bar:
        bar.props["aria-label"] = ", ".join(f"{state} {human_duration(length)}" for state, length in parts)
        for state, length in parts:
            with ui.element("div").classes(f"jig-part jig-part-{state.lower()}") as part:
                part.style(f"flex-grow: {max(length / whole, 0.01):.4f}")
                part.tooltip(say("timeline.part", state=state, time=human_duration(length)))
    with ui.element("ul").classes("jig-legend"):
        for state, length in parts:
            with ui.element("li"):
                ui.element("span").classes(f"jig-dot jig-part-{state.lower()}")
                ui.label(say("timeline.part", state=state, time=human_duration(length)))
    with ui.element("table").classes("jig-table jig-events"), ui.element("tbody"):
        for event in past[:MOST]:
            with ui.element("tr"):
                with ui.element("td"):
                    ui.label(say("timeline.at", time=human_duration(event["time"] - begin)))
                with ui.element("th").props('scope="row"'):
                    ui.label(str(event["event"]))
                with ui.element("td"):
                    rest = ", ".join(_told(event))
                    ui.label(rest[:LONGEST] + ("…" if len(rest) > LONGEST else "")).classes("jig-soft jig-wrap")


def _told(event: dict[str, Any]) -> Iterator[str]:
    """What an event says, as a person reads it; of what is large, the word that matters."""
    for name, value in event.items():
        if name in KNOWN or value in (None, "", [], {}):
            continue
        if isinstance(value, dict):
            devices = [str(one.get("name")) for one in value.get("devices") or () if isinstance(one, dict)]
            value = value.get("verdict") or ", ".join(devices)
        elif isinstance(value, list):
            value = shlex.join(map(str, value))
        if value not in ("", None):
            yield f"{name} {value}"


def _parts(seen: Seen) -> list[tuple[str, float]]:
    """Each state with how long it lasted, by the supervisor's own clock; the present one until now."""
    words = {**STATES, "leased": STATES["preparing"]}
    marks = [(words[one["event"]], one["mono"], one["time"]) for one in seen.past if one["event"] in words]
    parts: list[tuple[str, float]] = []
    for place, (state, mono, moment) in enumerate(marks):
        if state in FINAL:
            break
        later = place + 1 < len(marks)
        length = marks[place + 1][1] - mono if later else time.time() - moment
        length = max(0.0, length)
        if parts and parts[-1][0] == state:
            parts[-1] = (state, parts[-1][1] + length)
        else:
            parts.append((state, length))
    return parts
