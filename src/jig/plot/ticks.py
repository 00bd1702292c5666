"""Ticks: round numbers along an axis, and the words for them."""

from __future__ import annotations

import math
import time

from jig.plot.chart import TIME, WALL, Scale
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

UNITS = ((1.0, "s"), (60.0, "min"), (3600.0, "h"), (86400.0, "d"))
CLOCK_STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)
DAY_S = 86400
LATEST_S = 1e11  # since 1970, that can be a time: what is not is a number like any other


class Tick(Value):
    """A number on an axis, and how it is written."""

    value: float
    label: str


def step_of(span: float, most: int) -> float:
    """The smallest of 1, 2 and 5 times a power of ten that divides the span into no more than `most` parts."""
    rough = span / max(1, most)
    power = 10.0 ** math.floor(math.log10(rough))
    for factor in (1.0, 2.0, 5.0, 10.0):
        if power * factor >= rough * (1 - 1e-9):
            return power * factor
    return power * 10.0


def linear(scale: Scale, most: int, whole: bool = False, short: bool = False) -> list[Tick]:
    """Round numbers within the scale; `whole` ones only, or in a `short` form such as 20k."""
    step = step_of(scale.high - scale.low, most)
    step = max(step, 1.0) if whole else step
    first = math.ceil(scale.low / step - 1e-9)
    numbers: list[float] = []
    while (value := (first + len(numbers)) * step) <= scale.high + step * 1e-9 and len(numbers) <= 4 * most + 4:
        numbers.append(value)
    write = _writer(step, numbers, short)
    return [Tick(value, write(value)) for value in numbers]


def _writer(step: float, numbers: list[float], short: bool) -> Callable[[float], str]:
    """How all numbers of an axis are written: with as many digits as the step between them needs."""
    largest = max(map(abs, numbers), default=0.0)
    if short and largest >= 10_000 and step >= 100:
        size, unit = next(
            (size, unit) for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")) if largest >= size * 10 or size == 1e3
        )
        if largest < 1e15:
            digits = _digits(step / size)
            return lambda value: f"{value / size:.{digits}f}{unit}" if value else "0"
    if largest >= 1e6 or (largest < 1e-3 and largest > 0):
        power = math.floor(math.log10(largest))
        digits = _digits(step / 10.0**power)
        return lambda value: f"{value:.{digits}e}" if value else "0"
    digits = _digits(step)
    return lambda value: f"{value + 0.0:.{digits}f}"


def _digits(step: float) -> int:
    return max(0, -math.floor(math.log10(step) + 1e-9)) if step < 1 else 0


def logarithmic(scale: Scale, most: int) -> list[Tick]:
    """Powers of ten within the scale, and the numbers between them where powers are few."""
    low, high = math.log10(scale.low), math.log10(scale.high)
    powers = range(math.ceil(low - 1e-9), math.floor(high + 1e-9) + 1)
    if len(powers) < 2:
        return linear(scale._replace(log=False), most)
    every = max(1, math.ceil(len(powers) / most))
    chosen = [power for power in powers if power % every == 0]
    found = [Tick(10.0**power, f"1e{power}" if abs(power) > 3 else f"{10.0**power:g}") for power in chosen]
    if len(found) * 3 <= most:
        small = [factor * 10.0**power for power in range(powers[0] - 1, powers[-1] + 1) for factor in (2, 5)]
        found += [Tick(value, f"{value:g}") for value in small if scale.low <= value <= scale.high]
    return sorted(found)


def unit_of(x: str, scale: Scale) -> tuple[float, str]:
    """The unit that the x axis is written in, and its title."""
    if x != TIME:
        return 1.0, "" if x == WALL else x
    span = scale.high - scale.low
    size, unit = [one for one in UNITS if span >= one[0] * 2 or one[0] == 1.0][-1]
    return size, f"time ({unit})"


def along(x: str, scale: Scale, most: int) -> list[Tick]:
    """Ticks of an x axis."""
    if x == WALL and max(abs(scale.low), abs(scale.high)) < LATEST_S:
        return _clock(scale, most)
    size, _ = unit_of(x, scale)
    scaled = Scale(scale.low / size, scale.high / size)
    found = linear(scaled, most, whole=x != TIME and scale.high - scale.low >= 1, short=True)
    return [Tick(tick.value * size, tick.label) for tick in found]


def _clock(scale: Scale, most: int) -> list[Tick]:
    """Round times of the clock on the wall here."""
    span = scale.high - scale.low
    step = next((step for step in CLOCK_STEPS_S if span / step <= most), DAY_S * math.ceil(span / DAY_S / max(1, most)))
    ahead_s = time.localtime(scale.low).tm_gmtoff or 0
    first = math.ceil((scale.low + ahead_s) / step) * step - ahead_s
    form = "%m-%d" if step >= DAY_S else "%m-%d %H:%M" if span > DAY_S else "%H:%M" if step >= 60 else "%H:%M:%S"
    count = int((scale.high - first) // step) + 1
    return [
        Tick(at, time.strftime(form, time.localtime(at))) for at in (first + step * number for number in range(count))
    ]


def upwards(scale: Scale, most: int) -> list[Tick]:
    """Ticks of a y axis."""
    return logarithmic(scale, most) if scale.log else linear(scale, most)
