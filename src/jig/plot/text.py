"""Curves in a terminal: dots of braille in colours; letters without colour, and ASCII without braille."""

from __future__ import annotations

from jig.plot import ticks
from jig.plot.chart import Chart, Curve, Scale, pieces, x_scale, y_scale
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

BRAILLE = 0x2800
# The bit of each dot of a braille character: [row][column].
DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
LETTERS = "abcdefghijklmnopqrstuvwxyz"
X_LABEL_ROOM = 14
Y_ROWS_A_TICK = 2.5


class Look(Value):
    """What a terminal can show."""

    columns: int
    braille: bool
    paint: Callable[[str, int], str] | None = None  # text in the colour of a curve; None without colour

    def marks(self, count: int) -> str:
        """With what the curves are drawn: `dots` of braille, `points` of ASCII, or a `letters` for each curve."""
        if count > 1 and self.paint is None:
            return "letters"
        return "dots" if self.braille else "points"

    def line(self, marks: str, place: int) -> str:
        """The sample of a curve that stands before its name."""
        if marks == "letters":
            return LETTERS[place % len(LETTERS)]
        sample = "━━" if self.braille else "--"
        return self.paint(sample, place) if self.paint else sample


def draw(chart: Chart, look: Look, rows: int) -> list[str]:
    """The chart in lines: its title, `rows` of curves with their axis, and the ticks below."""
    across, up = x_scale(chart), y_scale(chart.curves, chart.log)
    y_ticks = ticks.upwards(up, max(2, round(rows / Y_ROWS_A_TICK)))
    gutter = max([len(tick.label) for tick in y_ticks], default=0)
    columns = max(10, look.columns - gutter - 2)
    marks = look.marks(len({curve.colour for curve in chart.curves}))
    canvas = _Canvas(columns, rows, marks)
    for curve in chart.curves:
        canvas.draw(curve, across, up)
    labels: dict[int, str] = {}
    for tick in y_ticks:
        labels.setdefault(_row(up.place(tick.value), rows), tick.label)
    side, knob, corner, flat, foot = "│┤└─┬" if look.braille else "|++-+"
    lines = [chart.title + (" (log)" if chart.log else "")]
    for row, drawn in enumerate(canvas.lines(look)):
        label = labels.get(row, "")
        lines.append(f"{label:>{gutter}} {knob if label else side}{drawn}".rstrip())
    return [*lines, *_below(chart.x, across, gutter + 1, columns, (corner, flat, foot))]


def _row(place: float, rows: int) -> int:
    return min(rows - 1, max(0, round((1 - place) * (rows - 1))))


def _below(x: str, across: Scale, indent: int, columns: int, signs: Sequence[str]) -> list[str]:
    """The x axis, its ticks, and its title at the right end."""
    corner, flat, foot = signs
    axis, words = [flat] * columns, [" "] * columns
    title = ticks.unit_of(x, across)[1]
    free, room = 0, columns
    if title and columns >= 3 * len(title):
        room = columns - len(title) - 2
        words[columns - len(title) :] = title
    for tick in ticks.along(x, across, max(2, columns // X_LABEL_ROOM)):
        at = round(across.place(tick.value) * (columns - 1))
        start = min(max(0, at - len(tick.label) // 2), columns - len(tick.label))
        if not 0 <= at < columns:
            continue
        axis[at] = foot
        if start < free or start + len(tick.label) > room:
            continue
        words[start : start + len(tick.label)] = tick.label
        free = start + len(tick.label) + 2
    return [" " * indent + corner + "".join(axis), (" " * (indent + 1) + "".join(words)).rstrip()]


class _Canvas:
    """Cells of a terminal, each with dots in them and the curve that drew there last."""

    def __init__(self, columns: int, rows: int, marks: str) -> None:
        self.columns, self.rows, self.marks = columns, rows, marks
        # Dots to a cell: as braille has them, as a comma and an apostrophe do, or one.
        self.across, self.down = {"dots": (2, 4), "points": (1, 2), "letters": (1, 1)}[marks]
        self.cells: list[dict[int, int]] = [{} for _ in range(rows)]
        self.owners: list[dict[int, int]] = [{} for _ in range(rows)]

    def draw(self, curve: Curve, across: Scale, up: Scale) -> None:
        """Every dot that the curve's lines touch."""
        width, height = self.columns * self.across - 1, self.rows * self.down - 1
        for piece in pieces(curve, up.log):
            last = None
            for x, y in piece:
                at = (round(across.place(x) * width), round((1 - up.place(y)) * height))
                for dot_x, dot_y in _between(last or at, at):
                    self._dot(dot_x, dot_y, curve.colour)
                last = at

    def _dot(self, x: int, y: int, owner: int) -> None:
        column, row = x // self.across, y // self.down
        if 0 <= column < self.columns and 0 <= row < self.rows:
            bit = DOTS[y % self.down][x % self.across] if self.marks == "dots" else 1 << y % self.down
            self.cells[row][column] = self.cells[row].get(column, 0) | bit
            self.owners[row][column] = owner

    def lines(self, look: Look) -> Iterator[str]:
        """Each row as text."""
        for cells, owners in zip(self.cells, self.owners, strict=True):
            text, column = [], 0
            while column < self.columns:
                end, owner = column, owners.get(column)
                while end < self.columns and owners.get(end) == owner:
                    end += 1
                part = "".join(self._sign(cells.get(at, 0), owner) for at in range(column, end))
                text.append(look.paint(part, owner) if look.paint and owner is not None else part)
                column = end
            yield "".join(text)

    def _sign(self, bits: int, owner: int | None) -> str:
        if not bits:
            return " "
        if self.marks == "dots":
            return chr(BRAILLE + bits)
        return LETTERS[(owner or 0) % len(LETTERS)] if self.marks == "letters" else " '.:"[bits]


def _between(start: tuple[int, int], end: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """The dots of a straight line, both ends included."""
    (x, y), (end_x, end_y) = start, end
    count = max(abs(end_x - x), abs(end_y - y))
    for number in range(count + 1):
        part = number / count if count else 0.0
        yield round(x + (end_x - x) * part), round(y + (end_y - y) * part)
