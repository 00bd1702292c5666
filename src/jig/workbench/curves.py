"""The curves of a run: its metrics, and what it used of the machine, as they grow."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from nicegui import ui
from nicegui.events import GenericEventArguments

from jig.store import series
from jig.workbench import curve_data
from jig.workbench.curve_data import Curve
from jig.workbench.run_seen import Seen
from jig.workbench.session import Session
from jig.workbench.words import say

GREY, POINTS, CALM = "#7c8b9d", "#0d9488", "#7c3aed"
FEW = 120  # points that are drawn as points too
REST = 10  # a look that takes long is repeated after as many times its length
MOST = 60  # charts


class Chart:
    """One curve in the page."""

    def __init__(self, curve: Curve) -> None:
        """Stands where it is made."""
        self.zoom: tuple[float, float] | None = None  # in hundredths of the whole
        with ui.element("section").classes("jig-chart"):
            with ui.element("div").classes("jig-line"):
                title = say("curves.title", name=curve.name, unit=curve.unit) if curve.unit else curve.name
                ui.label(title).classes("jig-strong jig-cut").props('role="heading" aria-level="3"')
                self._said = ui.label().classes("jig-soft")
            self._chart = ui.echart(_options()).classes("jig-echart")
            self._chart.props["aria-hidden"] = "true"

    def on_zoom(self, handler: Any) -> None:
        """Call this when the person has zoomed."""

        def zoomed(event: GenericEventArguments) -> Any:
            told = event.args[0] if isinstance(event.args, list) else event.args
            told = (told.get("batch") or [told])[0]
            start, end = float(told.get("start") or 0.0), float(told.get("end") or 0.0)
            self.zoom = None if start <= 0.0 and end >= 100.0 else (start, end)
            return handler()

        self._chart.on("chart:datazoom", zoomed, args=[["start", "end", "batch"]], throttle=0.3, leading_events=False)

    def draw(self, curve: Curve, extent: tuple[float, float], is_log: bool, smoothed: bool) -> None:
        """Show the points as they are now."""
        low, width = extent[0], extent[1] - extent[0]
        zoom = None if self.zoom is None else (low + width * self.zoom[0] / 100, low + width * self.zoom[1] / 100)
        points, calm = curve.drawn(zoom, smoothed)
        options = self._chart.options
        options["xAxis"].update(min=extent[0], max=extent[1] if width else extent[0] + 1)
        options["yAxis"]["type"] = "log" if is_log else "value"
        options["series"][0].update(data=points, showSymbol=len(points) <= FEW)
        options["series"][1].update(data=calm)
        self._chart.update()
        last = next((value for value in reversed(curve.values) if value - value == 0.0), None)
        strange = curve.strange
        text = "" if last is None else say("curves.last", value=f"{last:.5g}", count=len(curve.values))
        self._said.set_text(text + (say("curves.strange", count=strange) if strange else ""))


def _options() -> dict[str, Any]:
    line = {"type": "line", "animation": False, "data": []}
    axis = {"axisLabel": {"color": GREY, "hideOverlap": True}, "axisLine": {"lineStyle": {"color": GREY}}}
    return {
        "animation": False,
        "grid": {"left": 56, "right": 16, "top": 12, "bottom": 26},
        "xAxis": {"type": "value", "splitLine": {"show": False}, **axis},
        "yAxis": {"type": "value", "scale": True, "splitLine": {"lineStyle": {"color": GREY, "opacity": 0.2}}, **axis},
        "tooltip": {"trigger": "axis", "renderMode": "richText"},
        "dataZoom": [{"type": "inside", "filterMode": "none"}],
        "series": [
            {**line, "color": POINTS, "symbolSize": 4, "lineStyle": {"width": 1.5}},
            {**line, "color": CALM, "showSymbol": False, "lineStyle": {"width": 2}},
        ],
    }


class Curves:
    """All charts of a run, with the switches above them."""

    def __init__(self, session: Session, seen: Seen) -> None:
        """Stands where it is made; `refresh` fills it."""
        self._session, self._seen = session, seen
        self._log, self._charts = series.Log(seen.found.folder), dict[str, Chart]()
        self._busy, self._not_before = False, 0.0
        with ui.element("div").classes("jig-line jig-curve-tools"):
            both = {"step": say("curves.by_step"), "time": say("curves.by_time")}
            self._across = ui.toggle(both, value="step", on_change=self.again).props("no-caps dense")
            self._is_log = ui.switch(say("curves.log"), on_change=self.again)
            self._smooth = ui.switch(say("curves.smooth"), on_change=self.again)
            ui.label(say("curves.help")).classes("jig-soft")
        self._metrics = ui.element("div").classes("jig-charts")
        ui.label(say("curves.system")).classes("jig-title").props('role="heading" aria-level="2"')
        self._system = ui.element("div").classes("jig-charts")

    async def refresh(self, seen: Seen) -> None:
        """Draw what is new, unless the last look was just now."""
        self._seen = seen
        if time.monotonic() >= self._not_before or seen.final:
            await self.again()

    async def again(self) -> None:
        """Draw everything as it is now."""
        if self._busy:
            return
        self._busy, began = True, time.monotonic()
        try:
            seen, folder = self._seen, self._seen.found.folder
            since = float(seen.run.started or seen.plan["created"])
            by_time = self._across.value == "time"
            start = since if by_time else None
            curves = await self._session.work(lambda: curve_data.metrics(self._log, seen.found.nested, start))
            used = await self._session.work(lambda: curve_data.system(f"{folder.path}/system.jsonl", since))
            in_time = _extent([*curves, *used] if by_time else used)
            for place, them, empty in (
                (self._metrics, curves, say("curves.none")),
                (self._system, used, say("curves.system.none")),
            ):
                alike = in_time if them is used or by_time else None
                self._draw(place, them, alike, empty)
        finally:
            self._busy = False
            self._not_before = time.monotonic() + REST * (time.monotonic() - began)

    def _draw(self, place: ui.element, curves: Sequence[Curve], extent: tuple[float, float] | None, empty: str) -> None:
        with place:
            if not curves and not place.default_slot.children:
                ui.label(empty).classes("jig-soft")
            for curve in curves[:MOST]:
                key = f"{place.id} {curve.name}"
                if key not in self._charts:
                    if not any(one.startswith(f"{place.id} ") for one in self._charts):
                        place.clear()  # what said that there was nothing
                    self._charts[key] = Chart(curve)
                    self._charts[key].on_zoom(self.again)
                is_log = bool(self._is_log.value) and place is self._metrics
                self._charts[key].draw(curve, extent or _extent([curve]), is_log, bool(self._smooth.value))


def _extent(curves: Sequence[Curve]) -> tuple[float, float]:
    ends = [end for curve in curves if curve.across for end in (curve.across[0], curve.across[-1])]
    return (min(ends), max(ends)) if ends else (0.0, 1.0)
