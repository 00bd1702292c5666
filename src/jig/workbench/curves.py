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

GREY = "#7c8b9d"
COLOURS = ("#0d9488", "#2563eb", "#d97706", "#db2777", "#7c3aed", "#65a30d", "#0891b2", "#dc2626")
FEW = 120  # points that are drawn as points too
REST = 10  # a look that takes long is repeated after as many times its length
MOST = 60  # charts
STEPS = "value => +value.toPrecision(6)"
SECONDS = f"""value => value >= 7200 ? +(value / 3600).toFixed(2) + ' {say("curves.hours")}'
  : value >= 300 ? +(value / 60).toFixed(1) + ' {say("curves.minutes")}'
  : +value.toFixed(1) + ' {say("curves.seconds")}'"""
# Charts with the same axis are zoomed together, and show values at the same place. A chart is there a moment later.
TOGETHER = """(async () => {
  const {echarts} = await import("nicegui-echart");
  for (let tries = 0; tries < 100; tries++) {
    const element = getElement(%d);
    if (!element) return;
    if (element.chart) { element.chart.group = "%s"; echarts.connect("%s"); return; }
    await new Promise(resolve => setTimeout(resolve, 50));
  }
})()"""


class Chart:
    """A metric, or what was used of the machine: of several GPUs a curve each."""

    def __init__(self, curves: Sequence[Curve]) -> None:
        """Stands where it is made."""
        self.zoom: tuple[float, float] | None = None  # in hundredths of the whole
        self._group = ""
        first = curves[0]
        with ui.element("section").classes("jig-run-chart"):
            with ui.element("div").classes("jig-line"):
                title = say("curves.title", name=first.name, unit=first.unit) if first.unit else first.name
                ui.label(title).classes("jig-strong jig-cut").props('role="heading" aria-level="3"')
                self._devices = ui.element("div").classes("jig-line jig-devices")
                ui.element("div").classes("jig-grow")
                self._said = ui.label().classes("jig-soft")
            self._chart = ui.echart(_options(first.unit)).classes("jig-echart")
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

    def draw(
        self, curves: Sequence[Curve], extent: tuple[float, float], by_time: bool, is_log: bool, smoothed: bool
    ) -> None:
        """Show the points as they are now."""
        low, width = extent[0], extent[1] - extent[0]
        zoom = None if self.zoom is None else (low + width * self.zoom[0] / 100, low + width * self.zoom[1] / 100)
        options = self._chart.options
        options["xAxis"].update(min=extent[0], max=extent[1] if width else extent[0] + 1)
        options["xAxis"]["axisLabel"] = {**_LABEL, "showMaxLabel": False, ":formatter": SECONDS if by_time else STEPS}
        options["yAxis"]["type"] = "log" if is_log else "value"
        options["series"] = [one for at, curve in enumerate(curves) for one in _series(at, curve, zoom, smoothed)]
        self._chart.update()
        self._join("time" if by_time else "step")
        self._tell(curves)

    def _join(self, group: str) -> None:
        if group != self._group:
            self._group = group
            ui.run_javascript(TOGETHER % (self._chart.id, group, group))

    def _tell(self, curves: Sequence[Curve]) -> None:
        """The last values as text: a chart says nothing to who cannot see it."""
        values = curves[0].values
        last = [next((value for value in reversed(curve.values) if value - value == 0.0), None) for curve in curves]
        told = ", ".join(f"{value:.5g}" for value in last if value is not None)
        text = say("curves.last", value=told, count=len(values)) if told else ""
        strange = sum(curve.strange for curve in curves)
        self._said.set_text(text + (say("curves.strange", count=strange) if strange else ""))
        if len(curves) > 1 and len(self._devices.default_slot.children) != len(curves):
            self._devices.clear()
            with self._devices:
                for at, curve in enumerate(curves):
                    with ui.element("span").classes("jig-device"):
                        ui.element("span").classes("jig-dot").style(f"background: {COLOURS[at % len(COLOURS)]}")
                        ui.label(say("curves.device", number=curve.device))


_LABEL = {"color": GREY, "hideOverlap": True}


def _series(at: int, curve: Curve, zoom: tuple[float, float] | None, smoothed: bool) -> list[dict[str, Any]]:
    """Every point that shows, and the calm line over them."""
    points, calm = curve.drawn(zoom, smoothed)
    colour = COLOURS[at % len(COLOURS)]
    name = say("curves.device", number=curve.device) if curve.device else curve.name
    line = {"type": "line", "animation": False, "color": colour, "symbolSize": 4, "name": name}
    found = [{**line, "data": points, "showSymbol": len(points) <= FEW, "lineStyle": {"width": 1.5}}]
    if smoothed:
        found[0] |= {"lineStyle": {"width": 1, "opacity": 0.4}, "itemStyle": {"opacity": 0.5}}
        found.append(
            {**line, "data": calm, "showSymbol": False, "lineStyle": {"width": 2.5}, "tooltip": {"show": False}}
        )
    return found


def _options(unit: str) -> dict[str, Any]:
    axis = {"axisLabel": _LABEL, "axisLine": {"lineStyle": {"color": GREY}}}
    faint = {"splitLine": {"lineStyle": {"color": GREY, "opacity": 0.2}}}
    # What cannot be less than nothing begins at nothing: a curve's height is then what it is.
    whole: dict[str, Any] = {"min": 0} if unit in ("%", "GiB", "W") else {"scale": True}
    return {
        "animation": False,
        "grid": {"left": 52, "right": 16, "top": 12, "bottom": 24},
        "xAxis": {"type": "value", "splitLine": {"show": False}, **axis},
        "yAxis": {"type": "value", **whole, **faint, **axis},
        "tooltip": {"trigger": "axis", "renderMode": "richText", ":valueFormatter": STEPS},
        "dataZoom": [{"type": "inside", "filterMode": "none"}],
        "series": [],
    }


class Curves:
    """All charts of a run, with the switches above them."""

    def __init__(self, session: Session, seen: Seen) -> None:
        """Stands where it is made; `refresh` fills it."""
        self._session, self._seen = session, seen
        self._log, self._charts = series.Log(seen.found.folder), dict[str, Chart]()
        self._busy, self._again, self._not_before = False, False, 0.0
        with ui.element("div").classes("jig-line jig-curve-tools"):
            both = {"step": say("curves.by_step"), "time": say("curves.by_time")}
            self._across = ui.toggle(both, value="step", on_change=self.again).props("no-caps unelevated")
            self._across.classes("jig-choice")
            self._is_log = ui.switch(say("curves.log"), on_change=self.again)
            self._smooth = ui.switch(say("curves.smooth"), on_change=self.again)
            ui.label(say("curves.help")).classes("jig-soft")
        self._metrics = ui.element("div").classes("jig-run-charts")
        ui.label(say("curves.system")).classes("jig-title").props('role="heading" aria-level="2"')
        self._system = ui.element("div").classes("jig-run-charts")

    async def refresh(self, seen: Seen) -> None:
        """Draw what is new, unless the last look was just now."""
        self._seen = seen
        if time.monotonic() >= self._not_before or seen.final:
            await self.again()

    async def again(self) -> None:
        """Draw everything as it is now; asked for meanwhile, once more."""
        if self._busy:
            self._again = True
            return
        self._busy, began = True, time.monotonic()
        try:
            await self._look()
            while self._again:
                self._again = False
                await self._look()
        finally:
            self._busy = False
            self._not_before = time.monotonic() + REST * (time.monotonic() - began)

    async def _look(self) -> None:
        seen, folder = self._seen, self._seen.found.folder
        since = float(seen.run.started or seen.plan["created"])
        by_time = self._across.value == "time"
        start = since if by_time else None
        curves = await self._session.work(lambda: curve_data.metrics(self._log, seen.found.nested, start))
        used = await self._session.work(lambda: curve_data.system(f"{folder.path}/system.jsonl", since))
        self._draw(self._metrics, curves, _extent([*curves, *used]) if by_time else None, say("curves.none"))
        in_time = _extent([*curves, *used] if by_time else used)
        self._draw(self._system, used, in_time, say("curves.system.none"))

    def _draw(self, place: ui.element, curves: Sequence[Curve], extent: tuple[float, float] | None, empty: str) -> None:
        together: dict[str, list[Curve]] = {}
        for curve in curves:
            together.setdefault(curve.name, []).append(curve)
        is_metric = place is self._metrics
        with place:
            if not curves and not place.default_slot.children:
                ui.label(empty).classes("jig-soft")
            for name, them in list(together.items())[:MOST]:
                key = f"{place.id} {name}"
                if key not in self._charts:
                    if not any(one.startswith(f"{place.id} ") for one in self._charts):
                        place.clear()  # what said that there was nothing
                    self._charts[key] = Chart(them)
                    self._charts[key].on_zoom(self.again)
                is_log, by_time = bool(self._is_log.value) and is_metric, extent is not None
                self._charts[key].draw(them, extent or _extent(them), by_time, is_log, bool(self._smooth.value))


def _extent(curves: Sequence[Curve]) -> tuple[float, float]:
    ends = [end for curve in curves if curve.across for end in (curve.across[0], curve.across[-1])]
    return (min(ends), max(ends)) if ends else (0.0, 1.0)
