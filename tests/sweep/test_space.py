"""The points of a sweep: laws of grids and of random points."""

import math
from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from jig.sweep import space
from jig.sweep.space import Choice, Range, Setting, draw, grid, levels, sample, size

names = st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=4, unique=True)
parts = st.floats(0, 1, exclude_max=True)
sizes = st.integers(1, 5)
low_ends = st.floats(1e-6, 1e3)


def number(value: float) -> Decimal:
    return Decimal(repr(value))


@st.composite
def choices(draw_one, name="a"):
    texts = draw_one(st.lists(st.text(min_size=1, max_size=3), min_size=1, max_size=5, unique=True))
    return Choice(name, tuple((text, text) for text in texts))


@st.composite
def ranges(draw_one, name="r"):
    log = draw_one(st.booleans())
    if draw_one(st.booleans()):
        low = draw_one(st.integers(1, 100))
        return Range(name, Decimal(low), Decimal(low + draw_one(st.integers(0, 1000))), True, log)
    low = draw_one(low_ends)
    return Range(name, number(low), number(low * draw_one(st.floats(1, 1e6))), False, log)


@given(names, st.data())
def test_a_grid_has_every_combination_once_in_order(found, data):
    parameters = [Choice(name, tuple((n, str(n)) for n in range(data.draw(sizes)))) for name in found]
    points = list(grid(parameters))
    assert len(points) == len(set(points)) == size(parameters) == math.prod(len(one.values) for one in parameters)
    values = [tuple(setting.value for setting in point) for point in points]
    assert values == sorted(values), "the last parameter changes fastest"
    assert all([setting.name for setting in point] == found for point in points)
    assert points == list(grid(parameters))


@given(ranges(), parts)
def test_what_is_drawn_lies_within(given_range, part):
    value, text = draw(given_range, part)
    assert float(given_range.low) <= value <= float(given_range.high)
    assert type(value) is (int if given_range.whole else float)
    assert type(value)(text) == value, "the script gets the number that the record has"


@given(ranges(), parts, parts)
def test_a_larger_part_is_no_smaller_number(given_range, one, other):
    assert (draw(given_range, min(one, other))[0]) <= draw(given_range, max(one, other))[0]


@given(low_ends, st.floats(1.5, 1e6), parts)
def test_a_log_range_is_even_over_the_orders_of_magnitude(low, factor, part):
    found = draw(Range("r", number(low), number(low * factor), False, True), part)[0]
    assert math.isclose(math.log(found / low) / math.log(low * factor / low), part, abs_tol=1e-4)


def test_the_whole_numbers_of_a_log_range_have_their_shares():
    given_range = Range("r", Decimal(1), Decimal(3), True, True)
    edges = [math.log(2) / math.log(4), math.log(3) / math.log(4)]
    assert [draw(given_range, part)[0] for part in (0.0, edges[0] - 1e-9, edges[0] + 1e-9)] == [1, 1, 2]
    assert [draw(given_range, part)[0] for part in (edges[1] - 1e-9, edges[1] + 1e-9, 1 - 1e-12)] == [2, 3, 3]


@settings(deadline=None)
@given(st.lists(st.one_of(choices("a"), ranges("b")), min_size=1, max_size=1), st.text(max_size=5), st.integers(1, 40))
def test_random_points_are_the_same_by_their_seed(parameters, seed, samples):
    points = list(sample(parameters, samples, seed))
    assert points == list(sample(parameters, samples, seed))
    assert len(points) == len(set(points)) <= samples
    most = size(parameters)
    if most is not None and most <= 5:
        assert len(points) == min(samples, most)
    assert points[: samples // 2] == list(sample(parameters, samples // 2, seed)), "more samples only add points"


def test_random_points_are_what_they_always_were():
    """A later version that draws others could not go on with a sweep of this one."""
    lr = Range("lr", Decimal("1e-5"), Decimal("0.1"), False, True)
    depth = Range("depth", Decimal(1), Decimal(8), True)
    kind = Choice("kind", (("a", "a"), ("b", "b")))
    points = [tuple(setting.text for setting in point) for point in sample([lr, depth, kind], 3, "7")]
    assert points == [("0.000309244", "5", "b"), ("0.00528903", "2", "a"), ("0.000170174", "3", "a")]
    alone = [point[0] for point in sample([lr], 3, "7")]
    assert alone == [point[0] for point in sample([lr, depth, kind], 3, "7")], "others beside it change nothing"


def test_seeds_differ():
    lr = Range("lr", Decimal(0), Decimal(1))
    assert len({point for seed in range(50) for point in sample([lr], 2, str(seed))}) == 100


def test_steps():
    def texts(low, high, step, whole=False, log=False):
        return [text for _, text in levels(Range("r", Decimal(low), Decimal(high), whole, log, Decimal(step)))]

    assert texts("0", "0.3", "0.1") == ["0.0", "0.1", "0.2", "0.3"]
    assert texts("16", "100", "32", whole=True) == ["16", "48", "80"]
    assert texts("1e-5", "1e-2", "10", log=True) == ["1e-05", "0.0001", "0.001", "0.01"]
    assert texts("1000", "1000.003", "0.001") == ["1000.0", "1000.001", "1000.002", "1000.003"]
    assert texts("1234567.5", "2234567.5", "500000") == ["1234567.5", "1734567.5", "2234567.5"]
    assert texts("1", "64", "4", whole=True, log=True) == ["1", "4", "16", "64"]


def test_counts():
    def texts(low, high, count, whole=False, log=False):
        return [text for _, text in levels(Range("r", Decimal(low), Decimal(high), whole, log, None, count))]

    assert texts("0", "1", 5) == ["0.0", "0.25", "0.5", "0.75", "1.0"]
    assert texts("1e-4", "1", 3, log=True) == ["0.0001", "0.01", "1.0"]
    assert texts("1", "3", 9, whole=True) == ["1", "2", "3"], "whole numbers that fall together are there once"
    assert texts("5", "9", 1) == ["5.0"]


def test_a_narrow_range_keeps_its_digits():
    narrow = Range("r", Decimal("1000000.0"), Decimal("1000000.5"))
    assert len(list(sample([narrow], 20, "s"))) == 20


def test_values_are_counted_out_once_and_not_at_every_turn(monkeypatch):
    asked = []
    monkeypatch.setattr(space, "levels", lambda parameter: asked.append(parameter) or levels(parameter))
    many = Range("r", Decimal(1), Decimal(50_000), True, False, Decimal(1))
    assert len(list(sample([many], 500, "s"))) == 500
    assert len(asked) <= 2


def test_one_value_is_drawn_once():
    assert list(sample([Range("r", Decimal("0.5"), Decimal("0.5"))], 3, "s")) == [(Setting("r", 0.5, "0.5"),)]
