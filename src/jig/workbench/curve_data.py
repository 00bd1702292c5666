"""The points of a run's curves as the page draws them: no spike lost, however many there are."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right

from jig.plot.smooth import PART, smooth
from jig.store import series, system_series
from jig.store.downsample import min_max
from jig.values import Value

Points = list[tuple[float, float | None]]

PIXELS = 500  # of a curve in the page, more or less
FEW = 4  # a calm curve looks at as many neighbours at least, where there are ten times as many


class Curve(Value):
    """One curve: where its points stand, how they are called, and what is drawn."""

    name: str
    unit: str
    across: array[float]
    values: array[float]
    device: str = ""  # the GPU, where there are several

    def drawn(self, zoom: tuple[float, float] | None, smoothed: bool) -> tuple[Points, Points]:
        """The points within the zoom, with one more on each side, and those of a calmer curve through all of them."""
        across, calm = self.across, _calm(self.values) if smoothed else array("d")
        values = self.values
        if zoom is not None:
            first, last = max(0, bisect_left(across, zoom[0]) - 1), bisect_right(across, zoom[1]) + 1
            across, values, calm = across[first:last], values[first:last], calm[first:last]
        return _points(*min_max(across, values, PIXELS)), _points(*min_max(across, calm, PIXELS)) if smoothed else []

    @property
    def strange(self) -> int:
        """How many values are no numbers that can be drawn."""
        return sum(value - value != 0.0 for value in self.values)


def _calm(values: array[float]) -> array[float]:
    """The usual calm curve; of a short one a bolder one, for it would hardly be another."""
    window = max(len(values) / PART, min(FEW, len(values) / 10))
    return smooth(values, max(1, round(len(values) / window))) if values else values


def _points(across: array[float], values: array[float]) -> Points:
    pairs = zip(across, values, strict=True)
    return [(round(place, 6), value if value - value == 0.0 else None) for place, value in pairs]


def metrics(log: series.Log, run: str, since: float | None) -> list[Curve]:
    """The metrics by step, or by seconds since a moment."""
    found = []
    for name, one in log.series(run).items():
        across = one.steps if since is None else array("d", [moment - since for moment in one.times])
        ordered = sorted((place for place in range(len(across)) if across[place] - across[place] == 0.0),
                         key=across.__getitem__)  # fmt: skip
        if ordered != list(range(len(across))):
            across, values = (array("d", map(them.__getitem__, ordered)) for them in (across, one.values))
        else:
            values = one.values
        found.append(Curve(name, "", across, values))
    return found


def system(path: str, since: float) -> list[Curve]:
    """What the run used, by seconds since a moment; of each GPU a curve of its own."""
    found = []
    for name in system_series.NAMES:
        devices = system_series.read(path, name)
        for number, (uuid, (times, values)) in enumerate(devices.items()):
            across = array("d", [moment - since for moment in times])
            found.append(Curve(name, system_series.UNITS[name], across, values, str(number) if uuid else ""))
    return found
