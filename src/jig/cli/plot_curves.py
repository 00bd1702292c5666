"""From runs to charts: which metrics can be drawn, their points, and what is told beside them."""

from __future__ import annotations

import os
from array import array

from jig.cli.terminal import printable, warn
from jig.errors import StoreError, UsageError, nearest
from jig.plot.chart import STEP, TIME, Chart, Curve, span_of, trouble
from jig.plot.smooth import smooth
from jig.runner import events
from jig.store import runs, series, system_series
from jig.store.downsample import min_max
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from jig.store.queries import Found
    from jig.store.series_lines import Column

    Points = tuple[array[float], array[float]]

MOST_UNASKED = 4  # metrics that are drawn when none is named
MOST_NAMED = 12  # names in a message
KINDS = {"list": "a list", "image": "an image", "table": "a table", "map": "a map"}


class Wanted(Value):
    """What is to be drawn, and how."""

    metrics: tuple[str, ...] = ()
    system: tuple[str, ...] = ()
    x: str = STEP
    log: bool = False
    smooth: bool = False


class Source:
    """One run to draw."""

    def __init__(self, found: Found, by_time: bool) -> None:
        self.found = found
        self.by_time = by_time
        self.log = series.Log(found.folder, times=by_time)
        self.views: dict[str, Column] = {}
        self.kinds: dict[str, str] = {}

    def look(self) -> None:
        """Take in what was logged since the last look."""
        if not os.path.isdir(self.found.folder.path):
            raise StoreError(f"the folder of the run {self.found.folder.id} is gone")
        self.views, self.kinds = self.log.views(self.found.nested, self.by_time)

    def points(self, name: str, smoothed: bool) -> Points:
        """The points to draw; smoothed ones are made of all that were logged, and then fewer."""
        if not smoothed:
            return self.views[name].steps, self.views[name].values
        whole = self.log.series(self.found.nested)[name]
        return min_max(whole.times if self.by_time else whole.steps, smooth(whole.values), series.VIEW_PIXELS)

    def started(self, first: float) -> float:
        """When the script started, in seconds since 1970; where that is unknown, the first that was heard of it."""
        past = events.read(self.found.folder.events)
        return runs.fold(past).started or first


class Sheet:
    """All that is drawn at once."""

    def __init__(self, found: Iterable[Found], wanted: Wanted) -> None:
        self.wanted = wanted
        self.sources = [Source(one, wanted.x != STEP) for one in found]
        self._colours: dict[str, int] = {}

    @property
    def labels(self) -> dict[str, int]:
        """The name of each curve, with its colour."""
        return self._colours

    def charts(self, patient: bool = False) -> list[Chart]:
        """A chart for each metric; UsageError for one that nobody logged, unless it may still come."""
        for source in self.sources:
            source.look()
        names = self.wanted.metrics or self._unasked(patient)
        if not patient:
            for name in names:
                self._check(name)
        charts = [self._chart(name) for name in names] + [self._system(name, patient) for name in self.wanted.system]
        spans = {x: span_of([chart for chart in charts if chart.x == x]) for x in {chart.x for chart in charts}}
        return [chart._replace(span=spans[chart.x]) for chart in charts]

    def _unasked(self, patient: bool) -> tuple[str, ...]:
        if self.wanted.system:
            return ()
        names = self.names()
        if not names and not patient:
            one = self.sources[0].found.id
            said = f"the run {one} logged no numbers" if len(self.sources) == 1 else "none of these runs logged numbers"
            raise StoreError(said, self._others() or 'a script logs with jig.log("loss", 0.1)')
        if len(names) > MOST_UNASKED and not patient:
            warn(f"drawn are the first {MOST_UNASKED} metrics; -m draws others: {_list(names[MOST_UNASKED:])}")
        return tuple(names[:MOST_UNASKED])

    def names(self) -> list[str]:
        """Every metric that can be drawn, once the sources have been looked at."""
        return list(dict.fromkeys(name for source in self.sources for name in source.views))

    def _others(self) -> str:
        kinds = {name: kind for source in self.sources for name, kind in source.kinds.items()}
        return f"it logged {_list([f'{name} ({kind})' for name, kind in kinds.items()])}" if kinds else ""

    def _check(self, name: str) -> None:
        having = [source for source in self.sources if name in source.views]
        if not having:
            raise self._not_drawn(name)
        for source in self.sources:
            if source not in having:
                warn(f"{source.found.id} has no {name}")

    def _not_drawn(self, name: str) -> UsageError:
        numbers = self.names()
        drawn = f"numbers, which can be drawn, are {_list(numbers)}" if numbers else "no numbers were logged"
        kinds = {kind for source in self.sources for kind in [source.kinds.get(name)] if kind}
        if kinds:
            what = " and ".join(sorted(KINDS.get(kind, kind) for kind in kinds))
            return UsageError(f"{name} is {what}, and only numbers can be drawn", drawn)
        who = f"the run {self.sources[0].found.id}" if len(self.sources) == 1 else "none of these runs"
        verb = "did not log" if len(self.sources) == 1 else "logged"
        close = nearest(name, numbers)
        return UsageError(f"{who} {verb} {name}", f"did you mean {close}?" if close else drawn)

    def _chart(self, name: str) -> Chart:
        curves = []
        for source in self.sources:
            if name not in source.views:
                continue
            colour = self._colour(source.found.id)
            forms = (False, True) if self.wanted.smooth else (False,)
            for smoothed in forms:
                xs, ys = source.points(name, smoothed)
                if self.wanted.x == TIME:
                    xs = _since(xs, source.started(xs[0] if xs else 0.0))
                curves.append(Curve(source.found.id, xs, ys, colour, faint=len(forms) > 1 and not smoothed))
        return Chart(printable(name), tuple(curves), self.wanted.x, self.wanted.log)

    def _system(self, name: str, patient: bool) -> Chart:
        """What the runs used; it is known by time only."""
        x, curves = self.wanted.x if self.wanted.x != STEP else TIME, []
        for source in self.sources:
            found = system_series.read(os.path.join(source.found.folder.path, "system.jsonl"), name)
            for number, (times, values) in enumerate(found.values()):
                label = source.found.id + (f" GPU {number}" if len(found) > 1 else "")
                if x == TIME:
                    times = _since(times, source.started(times[0]))
                curves.append(Curve(label, *min_max(times, values, series.VIEW_PIXELS), self._colour(label)))
        if not curves and not patient:
            raise StoreError(
                f"there are no samples of {name}", "a run without a GPU has none of it, nor one with GpuSampling: 0"
            )
        return Chart(f"{name} ({system_series.UNITS[name]})", tuple(curves), x, self.wanted.log)

    def _colour(self, label: str) -> int:
        return self._colours.setdefault(label, len(self._colours))


def thinned(chart: Chart, pixels: int) -> Chart:
    """The chart with the points that so many pixels can show."""
    curves = []
    for curve in chart.curves:
        xs, ys = min_max(curve.xs, curve.ys, pixels)
        curves.append(curve._replace(xs=xs, ys=ys))
    return chart._replace(curves=tuple(curves))


def _since(times: array[float], start: float) -> array[float]:
    return array("d", [moment - start for moment in times])


def _list(names: list[str]) -> str:
    shown = ", ".join(map(printable, names[:MOST_NAMED]))
    return shown + (f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")


def told(curve: Curve, log: bool) -> str:
    """A curve in a few numbers: where it ended, where it was lowest and highest, and what of it is not drawn."""
    finite = [(y, x) for x, y in zip(curve.xs, curve.ys, strict=True) if y - y == 0.0]
    parts = [f"last {curve.ys[-1]:.4g}"] if curve.ys else []
    if len(finite) > 1:
        (low, at_low), (high, at_high) = min(finite), max(finite)
        parts += [f"min {low:.4g} at {at_low:.6g}", f"max {high:.4g} at {at_high:.6g}"]
    return ", ".join([*parts, *filter(None, (trouble(curve, log),))])


def for_programs(charts: list[Chart]) -> list[dict[str, Any]]:
    """The curves with their points, which of long series are those to draw."""
    return [
        {
            "run_id": curve.label,
            "metric": chart.title,
            "x": chart.x,
            "smoothed": not curve.faint and any(other.faint for other in chart.curves),
            "points": [list(point) for point in zip(curve.xs, curve.ys, strict=True)],
        }
        for chart in charts
        for curve in chart.curves
    ]
