"""Charts as pictures, read back with a decoder that is not ours."""

import io
import math
import xml.etree.ElementTree as ElementTree
from array import array

import pytest
from PIL import Image

from jig.plot import font, picture, raster, svg
from jig.plot.chart import Chart, Curve
from jig.plot.picture import Line, Picture, Text


def curve(*ys, colour=0, faint=False):
    return Curve("run", array("d", range(len(ys))), array("d", ys), colour, faint)


def pixels(shapes, width=60, height=40):
    with Image.open(io.BytesIO(raster.render(Picture(width, height, tuple(shapes))))) as image:
        assert image.size == (width, height)
        return image.convert("RGB").load()


BLUE, RED = (0, 0, 255), (255, 0, 0)


def test_a_line_is_its_colour_in_the_middle_and_white_beside():
    for points in ([(5, 20), (55, 20)], [(30, 5), (30, 35)], [(10, 5), (50, 35)]):
        seen = pixels([Line(points, BLUE, 3.0)])
        (x, y), (end_x, end_y) = points
        middle = (round((x + end_x) / 2), round((y + end_y) / 2))
        assert seen[middle] == BLUE
        assert seen[0, 0] == seen[59, 39] == (255, 255, 255)


def test_edges_are_shades_and_lines_do_not_grow_darker_where_they_meet():
    once = pixels([Line([(5, 10.25), (55, 20.75)], BLUE)])
    twice = pixels([Line([(5, 10.25), (55, 20.75)], BLUE)] * 2)
    found = {once[x, y] for x in range(60) for y in range(40)}
    assert len(found) > 5
    assert all(red == green and blue == 255 for red, green, blue in found)
    assert all(once[x, y] == twice[x, y] for x in range(60) for y in range(40))


def test_curves_lie_above_the_grid_and_later_ones_above_earlier_ones():
    cross = [Line([(5, 20), (55, 20)], BLUE, 3.0, curve=True), Line([(30, 5), (30, 35)], RED, 3.0)]
    assert pixels(cross)[30, 20] == BLUE
    cross = [Line([(5, 20), (55, 20)], BLUE, 3.0, curve=True), Line([(30, 5), (30, 35)], RED, 3.0, curve=True)]
    assert pixels(cross)[30, 20] == RED


def test_what_lies_outside_is_cut_off():
    assert pixels([Line([(-1e4, 20), (1e4, 20)], BLUE, 3.0), Line([(30, -1e4), (30, 1e4)], BLUE, 3.0)])[2, 20] == BLUE
    assert pixels([Line([(-50, -50), (-40, -40)], BLUE, 3.0), Text(1e5, 1e5, "x", 12.0, RED)])[0, 0] == (255, 255, 255)


def test_a_single_point_is_a_dot():
    assert pixels([Line([(30.5, 20.5)], BLUE, 4.0, curve=True)])[30, 20] == BLUE


@pytest.mark.parametrize(("anchor", "left", "right"), [("start", 30, 60), ("middle", 15, 45), ("end", 0, 31)])
def test_words_stand_where_they_belong(anchor, left, right):
    seen = pixels([Text(30, 25, "abc", 12.0, (0, 0, 0), anchor)])
    dark = [(x, y) for x in range(60) for y in range(40) if seen[x, y] != (255, 255, 255)]
    assert dark
    assert left <= min(x for x, _ in dark) + 1
    assert max(x for x, _ in dark) <= right
    assert min(y for _, y in dark) >= 14
    assert max(y for _, y in dark) <= 26


def test_every_printable_character_has_strokes_of_its_own():
    drawn = [font.GLYPHS[chr(code)] for code in range(33, 127)]
    assert len(set(drawn)) == len(drawn)
    for strokes in drawn:
        for stroke in strokes.split():
            assert stroke.isdigit()
            assert len(stroke) % 2 == 0


def test_a_character_without_strokes_is_a_box():
    assert list(font.lines("é", 12.0)) == list(font.lines("漢", 12.0))
    assert font.width("é", 12.0) > 0


def charts():
    noisy = curve(*[math.sin(x / 5) for x in range(300)])
    return [
        Chart("loss", (noisy, curve(1, 2, math.nan, 4, colour=1))),
        Chart('a <b> & "c" \x1b é', (curve(5),), x="time", log=True),
        Chart("nothing", (), x="wall"),
    ]


def test_a_sheet_of_charts_in_both_forms():
    made = picture.compose("title", charts(), [(0, "first"), (1, "second <&>")])
    with Image.open(io.BytesIO(raster.render(made))) as image:
        assert image.size == (made.width, made.height) == (1000, 20 + 24 + 2 * 22 + 3 * 340 + 10)
        counted = {colour: count for count, colour in image.convert("RGB").getcolors(1 << 24)}
    assert counted[picture.COLOURS[0]] > 500
    assert counted[picture.COLOURS[1]] > 50
    tree = ElementTree.fromstring(svg.render(made))
    texts = [element.text for element in tree.iter("{http://www.w3.org/2000/svg}text")]
    assert {"title", "first", "second <&>", "loss", 'a <b> & "c" ? é (log)', "step", "time (s)"} <= set(texts)
    lines = list(tree.iter("{http://www.w3.org/2000/svg}polyline"))
    strokes = [line.get("stroke") for line in lines if line.get("stroke-linejoin")]
    assert strokes == ["#1f77b4", "#e67814", "#e67814", "#1f77b4"]  # the second curve in two pieces


def test_a_faint_curve_lies_behind():
    made = picture.compose("", [Chart("loss", (curve(1, 2), curve(2, 1, faint=True)))], [(0, "run")])
    curves = [shape.colour for shape in made.shapes if isinstance(shape, Line) and shape.curve]
    assert curves == [picture.colour_of(0, faint=True), picture.colour_of(0)]
    assert raster.render(made).startswith(b"\x89PNG")
