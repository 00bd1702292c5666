"""Round numbers along an axis."""

import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jig.plot import ticks
from jig.plot.chart import Scale


def labels(found):
    return [tick.label for tick in found]


@pytest.mark.parametrize(
    ("low", "high", "most", "expected"),
    [
        (0, 10, 5, ["0", "2", "4", "6", "8", "10"]),
        (-0.1, 2.4, 5, ["0.0", "0.5", "1.0", "1.5", "2.0"]),
        (0.1, 0.11, 5, ["0.100", "0.102", "0.104", "0.106", "0.108", "0.110"]),
        (-3, 3, 4, ["-2", "0", "2"]),
        (0, 5e-6, 5, ["0", "1e-06", "2e-06", "3e-06", "4e-06", "5e-06"]),
        (1e6, 1.2e6, 4, ["1.00e+06", "1.05e+06", "1.10e+06", "1.15e+06", "1.20e+06"]),
    ],
)
def test_numbers_upwards(low, high, most, expected):
    assert labels(ticks.upwards(Scale(low, high), most)) == expected


@pytest.mark.parametrize(
    ("low", "high", "most", "expected"),
    [
        (0, 999, 4, ["0", "500"]),
        (0, 1_000_000, 5, ["0", "200k", "400k", "600k", "800k", "1000k"]),
        (0, 25_000_000, 5, ["0", "5M", "10M", "15M", "20M", "25M"]),
        (12_000, 12_003, 4, ["12000", "12001", "12002", "12003"]),
        (0, 3, 10, ["0", "1", "2", "3"]),
    ],
)
def test_steps(low, high, most, expected):
    assert labels(ticks.along("step", Scale(low, high), most)) == expected


@pytest.mark.parametrize(
    ("span_s", "title", "expected"),
    [
        (90, "time (s)", ["0", "20", "40", "60", "80"]),
        (600, "time (min)", ["0", "2", "4", "6", "8", "10"]),
        (9 * 3600, "time (h)", ["0", "2", "4", "6", "8"]),
        (3 * 86400, "time (d)", ["0", "1", "2", "3"]),
    ],
)
def test_time_since_the_start(span_s, title, expected):
    scale = Scale(0, span_s)
    assert ticks.unit_of("time", scale)[1] == title
    assert labels(ticks.along("time", scale, 5)) == expected


def test_a_clock_that_no_wall_has():
    assert labels(ticks.along("wall", Scale(0.0, 1e300), 3)) == labels(ticks.along("step", Scale(0.0, 1e300), 3))
    assert ticks.along("wall", Scale(-1e18, 5.0), 3)


def test_the_clock_on_the_wall(monkeypatch):
    monkeypatch.setenv("TZ", "Asia/Kolkata")  # half an hour beside the others
    time.tzset()
    try:
        start = 1_700_000_000  # 03:43:20 there
        assert labels(ticks.along("wall", Scale(start, start + 3600), 4)) == ["03:45", "04:00", "04:15", "04:30"]
        assert labels(ticks.along("wall", Scale(start, start + 20), 2)) == ["03:43:20", "03:43:30", "03:43:40"]
        assert labels(ticks.along("wall", Scale(start, start + 3 * 86400), 4)) == ["11-16", "11-17", "11-18"]
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize(
    ("low", "high", "most", "expected"),
    [
        (0.001, 1000, 8, ["0.001", "0.01", "0.1", "1", "10", "100", "1000"]),
        (0.9, 11, 6, ["1", "2", "5", "10"]),
        (1e-12, 1, 5, ["1e-12", "1e-9", "1e-6", "0.001", "1"]),
        (2, 8, 4, ["2", "4", "6", "8"]),
    ],
)
def test_logarithms(low, high, most, expected):
    assert labels(ticks.upwards(Scale(low, high, True), most)) == expected


numbers = st.floats(-1e300, 1e300)


@given(numbers, numbers, st.integers(1, 20))
def test_ticks_stand_within_the_scale_in_order_and_are_not_too_many(one, other, most):
    low, high = min(one, other), max(one, other)
    if not high - low > max(abs(low), abs(high)) * 1e-9:
        return
    found = ticks.linear(Scale(low, high), most)
    values = [tick.value for tick in found]
    room = (high - low) * 1e-6
    assert all(low - room <= value <= high + room for value in values)
    assert values == sorted(set(values))
    assert len(found) <= most + 1
    assert len(set(labels(found))) == len(found)


@given(st.floats(1e-300, 1e300), st.floats(1.01, 1e10), st.integers(2, 20))
def test_ticks_of_a_logarithm_too(low, times, most):
    scale = Scale(low, min(low * times, 1e301), True)
    found = [tick.value for tick in ticks.logarithmic(scale, most)]
    assert found == sorted(set(found))
    assert all(-1e-6 <= scale.place(value) <= 1 + 1e-6 for value in found)
    assert not any(math.isnan(value) for value in found)
