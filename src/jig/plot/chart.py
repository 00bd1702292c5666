"""What is drawn, and where: curves, the range that shows them, and the scale from numbers to places."""

from __future__ import annotations

import math

from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from array import array
    from collections.abc import Sequence

LARGEST, SMALLEST = 1e300, 1e-290  # what lies beyond is drawn there: so do ranges, and their parts, stay numbers
MARGIN = 0.04
STEP, TIME, WALL = "step", "time", "wall"


class Curve(Value):
    """Points in the order of their x. `colour` counts from 0; a faint one stands behind another."""

    label: str
    xs: array[float]
    ys: array[float]
    colour: int = 0
    faint: bool = False

    def shown(self, log: bool) -> bool:
        """Whether there is a point that can be drawn."""
        return any(_is_drawn(y, log) for y in self.ys)


class Chart(Value):
    """One picture: curves of one metric, over steps, seconds since the start (`time`), or the clock (`wall`)."""

    title: str
    curves: tuple[Curve, ...]
    x: str = STEP
    log: bool = False
    span: tuple[float, float] | None = None  # of x, where several charts have the same


class Scale(Value):
    """From a number to a place between 0 and 1."""

    low: float
    high: float
    log: bool = False

    def place(self, value: float) -> float:
        """Where the value stands; outside of 0 and 1 when it is out of range."""
        low, high = self.low, self.high
        if self.log:
            low, high, value = math.log10(low), math.log10(high), math.log10(value)
        return (_within(value) - low) / (high - low)


def _is_drawn(y: float, log: bool) -> bool:
    return y - y == 0.0 and (not log or y > 0.0)


def pieces(curve: Curve, log: bool) -> list[list[tuple[float, float]]]:
    """The unbroken lines of a curve: one ends where a value is not finite, or has no logarithm."""
    found: list[list[tuple[float, float]]] = [[]]
    for x, y in zip(curve.xs, curve.ys, strict=True):
        if _is_drawn(y, log):
            found[-1].append((x, y))
        elif found[-1]:
            found.append([])
    return [piece for piece in found if piece]


def span_of(charts: Sequence[Chart]) -> tuple[float, float]:
    """From the first point of all curves to the last."""
    ends = [x for chart in charts for curve in chart.curves for x in (curve.xs[:1] + curve.xs[-1:])]
    return min(ends, default=0.0), max(ends, default=1.0)


def x_scale(chart: Chart) -> Scale:
    """The chart's own span, or the one that it shares with others."""
    low, high = (_within(end) for end in chart.span or span_of([chart]))
    if _differ(low, high):
        return Scale(low, high)
    room = max(0.5, abs(high) * 1e-6)
    return Scale(low - room, high + room)


def y_scale(curves: Sequence[Curve], log: bool) -> Scale:
    """All values that can be drawn, with a little room above and below."""
    drawn = [y for curve in curves for y in curve.ys if _is_drawn(y, log)]
    low = _within(min(drawn, default=1.0 if log else 0.0))
    high = _within(max(drawn, default=10.0 if log else 1.0))
    if log:
        low, high = max(low, SMALLEST), max(high, SMALLEST)
        powers = math.log10(high) - math.log10(low)
        room = 10.0 ** (powers * MARGIN) if powers > 0.04 else 2.0
        return Scale(max(low / room, SMALLEST / 10), min(high * room, LARGEST * 10), True)
    if not _differ(low, high):
        room = abs(high) / 2 if abs(high) > SMALLEST else 0.5
        return Scale(low - room, high + room)
    room = (high - low) * MARGIN
    # A curve that only touches zero, as a loss or a share does, stands on it.
    return Scale(low if low == 0.0 else low - room, high + room)


def _within(value: float) -> float:
    return min(max(value, -LARGEST), LARGEST)


def _differ(low: float, high: float) -> bool:
    """Whether there are round numbers to be found between the two."""
    return high - low > max(abs(low), abs(high), SMALLEST) * 1e-9


def trouble(curve: Curve, log: bool) -> str:
    """What cannot be drawn of a curve, for a person; empty when all can."""
    for x, y in zip(curve.xs, curve.ys, strict=True):
        if y != y:
            return f"first NaN at {x:.10g}"
        if y - y != 0.0:
            return f"first infinite at {x:.10g}"
        if log and y <= 0.0:
            return f"first without a logarithm at {x:.10g}"
    return ""
