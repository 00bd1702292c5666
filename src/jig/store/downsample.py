"""Fewer points that draw the same: of each pixel's points those that a line through all of them would show."""

from __future__ import annotations

from array import array
from bisect import bisect_left

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_PER_PIXEL = 5


def min_max(steps: array[float], values: array[float], pixels: int) -> tuple[array[float], array[float]]:
    """The points to draw over a width of `pixels`, in the order of their steps; all of them where they are few.

    Of the points that fall on one pixel the first, the last, the lowest and the highest are kept, so that no spike
    disappears, and the first whose value is not finite, so that NaN does not disappear either. A point without a finite
    step is left out.
    """
    steps, values = _in_order(steps, values)
    if len(steps) <= MOST_PER_PIXEL * pixels:
        return steps, values
    low, width = steps[0], steps[-1] - steps[0]
    chosen: list[int] = []
    start = 0
    for pixel in range(1, pixels + 1):
        end = len(steps) if pixel == pixels else bisect_left(steps, low + width * pixel / pixels, start)
        if end > start:
            chosen += _of_one_pixel(values, start, end)
            start = end
    return array("d", map(steps.__getitem__, chosen)), array("d", map(values.__getitem__, chosen))


def _in_order(steps: array[float], values: array[float]) -> tuple[array[float], array[float]]:
    """The points by ascending step, in their own order where steps are equal."""
    total = sum(steps)
    if total - total != 0.0:
        places: Sequence[int] = [place for place, step in enumerate(steps) if step - step == 0.0]
    else:
        places = range(len(steps))
    ascending = sorted(places, key=steps.__getitem__) if isinstance(places, list) or not _ascends(steps) else places
    if isinstance(ascending, range):
        return steps, values
    return array("d", map(steps.__getitem__, ascending)), array("d", map(values.__getitem__, ascending))


def _ascends(steps: array[float]) -> bool:
    from itertools import islice
    from operator import le

    return all(map(le, steps, islice(steps, 1, None)))


def _of_one_pixel(values: array[float], start: int, end: int) -> list[int]:
    """Where the points stand that one pixel shows."""
    part = values[start:end]
    total = sum(part)
    if total - total != 0.0:  # some are not finite, or together too large to add
        finite = [place for place, value in enumerate(part) if value - value == 0.0]
        strange = next((place for place, value in enumerate(part) if value - value != 0.0), None)
        known = {} if strange is None else {strange}
        if finite:
            by_value = part.__getitem__
            known = {*known, finite[0], min(finite, key=by_value), max(finite, key=by_value), finite[-1]}
        return [start + place for place in sorted(known)]
    places = {0, part.index(min(part)), part.index(max(part)), len(part) - 1}
    return [start + place for place in sorted(places)]
