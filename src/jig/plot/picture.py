"""A picture as a list of shapes, which `raster` turns into PNG and `svg` into SVG."""

from __future__ import annotations

from jig.plot import font, ticks
from jig.plot.chart import Chart, pieces, x_scale, y_scale
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH, PANEL_HEIGHT = 1000, 340
MARGIN, TITLE_ROOM, FOOT_ROOM, LEGEND_ROW = 20, 34, 46, 22
TITLE_SIZE, TEXT_SIZE = 16.0, 12.0
Y_TICK_ROOM, X_TICK_ROOM = 38, 110
INK, GREY, GRID, FRAME = (40, 44, 52), (96, 103, 112), (232, 234, 237), (176, 181, 188)
# Told apart also by those who do not see all colours.
COLOURS = (
    (31, 119, 180), (230, 120, 20), (34, 139, 80), (200, 55, 60),
    (124, 88, 180), (122, 82, 66), (205, 90, 170), (80, 90, 100),
    (150, 155, 30), (20, 165, 180), (150, 20, 80), (20, 60, 120),
)  # fmt: skip


class Line(Value):
    """Points that are joined."""

    points: Sequence[tuple[float, float]]
    colour: tuple[int, int, int]
    width: float = 1.0
    curve: bool = False  # one of the data, which lies above the rest


class Text(Value):
    """Words; `anchor` is the end of them that stands at x: start, middle, end."""

    x: float
    y: float
    text: str
    size: float
    colour: tuple[int, int, int]
    anchor: str = "start"


class Picture(Value):
    """Shapes in the order in which they are drawn."""

    width: int
    height: int
    shapes: tuple[Line | Text, ...]


def colour_of(number: int, faint: bool = False) -> tuple[int, int, int]:
    """The colour of a curve; a faint one is nearer to the white of the paper."""
    red, green, blue = COLOURS[number % len(COLOURS)]
    return (_pale(red), _pale(green), _pale(blue)) if faint else (red, green, blue)


def _pale(part: int) -> int:
    return 255 - (255 - part) * 2 // 5


def compose(title: str, charts: Sequence[Chart], legend: Sequence[tuple[int, str]]) -> Picture:
    """One panel below the other, with a title above and the names of the curves."""
    shapes: list[Line | Text] = [Text(MARGIN, MARGIN + 14, title, TITLE_SIZE, INK)] if title else []
    top = float(MARGIN + (24 if title else 0))
    for colour, label in legend:
        shapes.append(Line([(MARGIN, top + 8), (MARGIN + 26, top + 8)], colour_of(colour), 3.0))
        shapes.append(Text(MARGIN + 34, top + 12.5, label, TEXT_SIZE, INK))
        top += LEGEND_ROW
    for chart in charts:
        shapes += _panel(chart, top, top + PANEL_HEIGHT)
        top += PANEL_HEIGHT
    return Picture(WIDTH, round(top) + MARGIN // 2, tuple(shapes))


def _panel(chart: Chart, top: float, bottom: float) -> list[Line | Text]:
    across, up = x_scale(chart), y_scale(chart.curves, chart.log)
    y_ticks = ticks.upwards(up, round((bottom - top - TITLE_ROOM - FOOT_ROOM) / Y_TICK_ROOM))
    left = MARGIN + 10 + max([font.width(tick.label, TEXT_SIZE) for tick in y_ticks], default=0.0)
    right, top, bottom = WIDTH - MARGIN - 10.0, top + TITLE_ROOM, bottom - FOOT_ROOM
    shapes: list[Line | Text] = [
        Text(left, top - 10, chart.title + (" (log)" if chart.log else ""), TEXT_SIZE + 1, INK),
        Text((left + right) / 2, bottom + 38, ticks.unit_of(chart.x, across)[1], TEXT_SIZE, GREY, "middle"),
    ]
    for tick in y_ticks:
        y = round(bottom - up.place(tick.value) * (bottom - top)) + 0.5
        shapes.append(Line([(left, y), (right, y)], GRID))
        shapes.append(Text(left - 7, y + 4.5, tick.label, TEXT_SIZE, GREY, "end"))
    for tick in ticks.along(chart.x, across, round((right - left) / X_TICK_ROOM)):
        x = round(left + across.place(tick.value) * (right - left)) + 0.5
        shapes.append(Line([(x, top), (x, bottom)], GRID))
        shapes.append(Line([(x, bottom), (x, bottom + 5)], FRAME))
        shapes.append(Text(x, bottom + 19, tick.label, TEXT_SIZE, GREY, "middle"))
    edge_x, edge_y = round(left) + 0.5, round(bottom) + 0.5
    shapes.append(Line([(edge_x, top), (edge_x, edge_y), (right, edge_y)], FRAME))
    for curve in sorted(chart.curves, key=lambda curve: not curve.faint):
        for piece in pieces(curve, chart.log):
            points = [
                (left + across.place(x) * (right - left), bottom - up.place(y) * (bottom - top)) for x, y in piece
            ]
            shapes.append(Line(points, colour_of(curve.colour, curve.faint), 1.7, curve=True))
    return shapes
