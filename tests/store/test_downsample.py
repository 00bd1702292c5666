"""Fewer points that draw the same."""

import math
from array import array

from hypothesis import given
from hypothesis import strategies as st

from jig.store.downsample import MOST_PER_PIXEL, min_max

numbers = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.integers(-3, 3).map(float),
    st.sampled_from([math.nan, math.inf, -math.inf, 1.7e308, -1.7e308, 0.0, -0.0]),
)
steps = st.one_of(st.integers(-50, 50).map(float), st.floats(-1e6, 1e6), st.sampled_from([math.nan, math.inf]))
points = st.lists(st.tuples(steps, numbers), max_size=400)


def key(point):
    return repr(point)


def brute(kept, pixels):
    """The points of each pixel, found one by one."""
    low, high = kept[0][0], kept[-1][0]
    found = {}
    for step, value in kept:
        pixel = pixels - 1
        for number in range(1, pixels):
            if step < low + (high - low) * number / pixels:
                pixel = number - 1
                break
        found.setdefault(pixel, []).append((step, value))
    return found


@given(points, st.integers(1, 12))
def test_every_pixel_keeps_its_lowest_and_highest_its_first_and_last_and_its_first_nan(given_points, pixels):
    xs, ys = array("d", [p[0] for p in given_points]), array("d", [p[1] for p in given_points])
    shown = list(zip(*min_max(xs, ys, pixels), strict=True))
    ordered = sorted((p for p in given_points if math.isfinite(p[0])), key=lambda p: p[0])
    assert [p[0] for p in shown] == sorted(p[0] for p in shown)
    if len(ordered) <= MOST_PER_PIXEL * pixels:
        assert list(map(key, shown)) == list(map(key, ordered))
        return
    assert len(shown) <= MOST_PER_PIXEL * pixels
    remaining = list(map(key, ordered))
    for point in shown:  # nothing is invented, and nothing stands there more often than it was given
        remaining.remove(key(point))
    now = brute(shown, pixels)
    for pixel, of_pixel in brute(ordered, pixels).items():
        finite = [value for _, value in of_pixel if math.isfinite(value)]
        kept = [value for _, value in now[pixel] if math.isfinite(value)]
        if finite:
            assert (kept[0], kept[-1], min(kept), max(kept)) == (finite[0], finite[-1], min(finite), max(finite))
        strange = [point for point in of_pixel if not math.isfinite(point[1])]
        assert [key(p) for p in now[pixel] if not math.isfinite(p[1])] == [key(p) for p in strange[:1]]


def test_one_spike_among_a_hundred_thousand_points_is_kept():
    count = 100_000
    values = array("d", [0.0]) * count
    values[73_211], values[73_212] = 9.0, -9.0
    shown = min_max(array("d", range(count)), values, 80)
    assert (73_211.0, 9.0) in zip(*shown, strict=True)
    assert (73_212.0, -9.0) in zip(*shown, strict=True)
    assert len(shown[0]) < 400
    assert (shown[0][0], shown[0][-1]) == (0.0, count - 1)


def test_steps_that_go_back_are_put_in_order():
    shown = min_max(array("d", [0, 1, 2, 1, 2, 3]), array("d", [0, 10, 20, 11, 21, 31]), 10)
    assert list(zip(*shown, strict=True)) == [(0, 0), (1, 10), (1, 11), (2, 20), (2, 21), (3, 31)]


def test_nothing_at_all():
    assert min_max(array("d"), array("d"), 5) == (array("d"), array("d"))
