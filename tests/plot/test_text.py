"""Charts in a terminal, line for line."""

import math
from array import array

from hypothesis import given
from hypothesis import strategies as st

from jig.plot.chart import Chart, Curve, pieces, trouble, y_scale
from jig.plot.smooth import smooth
from jig.plot.text import Look, draw


def curve(*ys, colour=0, label="run", start=0):
    return Curve(label, array("d", range(start, start + len(ys))), array("d", ys), colour)


def test_a_line_of_braille():
    chart = Chart("loss", (curve(0, 1, 2, 3),))
    assert draw(chart, Look(24, True), 4) == [
        "loss",
        "  │                ⢀⣀⠤⠤⠒",
        "2 ┤          ⢀⣀⠤⠒⠊⠉⠁",
        "  │     ⣀⡠⠤⠒⠉⠁",
        "0 ┤⣀⠤⠔⠊⠉",
        "  └┬────────────┬───────",
        "   0            2   step",
    ]


def test_the_same_without_braille():
    chart = Chart("loss", (curve(0, 1, 2, 3),))
    assert draw(chart, Look(24, False), 4) == [
        "loss",
        "  |                 ..''",
        "2 +            ...''",
        "  |      ...'''",
        "0 +..''''",
        "  ++------------+-------",
        "   0            2   step",
    ]


def test_curves_without_colour_are_letters():
    chart = Chart("loss", (curve(0, 0, 0), curve(9, 9, 9, colour=1)))
    assert draw(chart, Look(20, True), 3) == [
        "loss",
        "  │bbbbbbbbbbbbbbbbb",
        "5 ┤",
        "0 ┤aaaaaaaaaaaaaaaaa",
        "  └┬───────┬───────┬",
        "   0       1    step",
    ]


def test_colours_stand_around_each_piece_and_nothing_else():
    paint = lambda text, number: f"<{number}:{text}>"  # noqa: E731
    chart = Chart("loss", (curve(0, 0), curve(1, 1, colour=1)))
    lines = draw(chart, Look(16, True, paint), 2)
    assert [line.count("<0:") for line in lines] == [0, 0, 1, 0, 0]
    assert [line.count("<1:") for line in lines] == [0, 1, 0, 0, 0]


def test_a_gap_where_values_are_not_finite():
    chart = Chart("loss", (curve(1, 1, math.nan, math.nan, 1, 1),))
    assert draw(chart, Look(44, False), 3)[2] == "1.0 +'''''''''                     '''''''''"


def test_pieces_of_a_curve():
    one = curve(1, math.nan, 2, 3, math.inf, -math.inf, 4, 0, 5)
    assert pieces(one, log=False) == [[(0, 1)], [(2, 2), (3, 3)], [(6, 4), (7, 0), (8, 5)]]
    assert pieces(one, log=True) == [[(0, 1)], [(2, 2), (3, 3)], [(6, 4)], [(8, 5)]]


def test_what_cannot_be_drawn_is_told():
    assert trouble(curve(1, 2), log=False) == ""
    assert trouble(curve(1, math.nan), log=False) == "first NaN at 1"
    assert trouble(curve(1, 2, -math.inf), log=False) == "first infinite at 2"
    assert trouble(curve(1, 0), log=True) == "first without a logarithm at 1"
    assert trouble(curve(1, 0), log=False) == ""


def test_the_room_above_and_below():
    assert y_scale([curve(0, 100)], False)[:2] == (0.0, 104.0)
    assert y_scale([curve(5, 5)], False)[:2] == (2.5, 7.5)
    assert y_scale([curve(0, 0)], False)[:2] == (-0.5, 0.5)
    assert y_scale([], False)[:2] == (0.0, 1.04)
    assert y_scale([curve(1, 1)], True)[:2] == (0.5, 2.0)


points = st.lists(
    st.tuples(st.integers(0, 10**9), st.floats(allow_nan=True, allow_infinity=True)), min_size=1, max_size=30
)


@given(
    st.lists(points, min_size=1, max_size=3),
    st.booleans(),
    st.booleans(),
    st.integers(5, 120),
    st.integers(1, 12),
    st.sampled_from(["step", "time", "wall"]),
)
def test_every_chart_fits_its_room(runs, log, braille, columns, rows, x):
    curves = []
    for number, run in enumerate(runs):
        run = sorted(run, key=lambda point: point[0])
        curves.append(Curve("r", array("d", [p[0] for p in run]), array("d", [p[1] for p in run]), number))
    lines = draw(Chart("t", tuple(curves), x, log), Look(columns, braille), rows)
    assert len(lines) == rows + 3
    assert max(map(len, lines[1:])) <= max(
        columns, 10 + 3 + max(len(line.partition("┤" if braille else "+")[0]) for line in lines)
    )


def test_a_smooth_curve_neither_lags_nor_leaves_its_values():
    line = array("d", range(1000))
    calm = smooth(line)
    assert all(abs(one - other) < 12 for one, other in zip(line, calm, strict=True))
    flat = smooth(array("d", [3.0, math.nan, 3.0, math.inf] * 50))
    assert {repr(value) for value in flat} == {"3.0", "nan", "inf"}
    assert len(smooth(array("d"))) == 0


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=400))
def test_a_smooth_curve_stays_between_the_lowest_and_the_highest(values):
    calm = smooth(array("d", values))
    room = 1e-6 * max(1.0, *map(abs, values))
    assert min(values) - room <= min(calm) <= max(calm) <= max(values) + room
