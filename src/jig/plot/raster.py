"""A picture as PNG: a canvas of one byte a pixel, whose values are shades of the colours that the picture has.

Each colour has its shades, from nearly white to itself, next to each other in the palette: to draw over what is there
is to take the larger of two bytes, so that lines never grow thicker where they meet, and columns are drawn by slices.
"""

from __future__ import annotations

import math
import struct
import zlib
from itertools import repeat

from jig.plot import font
from jig.plot.picture import Line, Picture, Text
from jig.track.png import SIGNATURE, chunk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Colour = tuple[int, int, int]

MOST_VALUES = 255
STROKE = 1.25  # width of the strokes of a letter
NEARLY_UPRIGHT = 1.0  # a line that is no wider than this is drawn as a bar


def render(picture: Picture) -> bytes:
    """The bytes of a PNG file."""
    colours = _in_order(picture)
    shades = max(1, MOST_VALUES // max(1, len(colours)))
    canvas = Canvas(picture.width, picture.height, shades)
    for shape in picture.shapes:
        base = colours.index(shape.colour) * shades
        if isinstance(shape, Text):
            _write(canvas, shape, base)
        else:
            canvas.line(shape.points, shape.width, base)
    return _png(canvas, _palette(colours, shades))


def _in_order(picture: Picture) -> list[Colour]:
    """The colours from the lowest to the topmost: curves lie above all else, the later ones above the earlier."""
    curves = dict.fromkeys(shape.colour for shape in picture.shapes if isinstance(shape, Line) and shape.curve)
    others = dict.fromkeys(shape.colour for shape in picture.shapes if shape.colour not in curves)
    return [*others, *curves]


def _palette(colours: Sequence[Colour], shades: int) -> bytes:
    mixed = [255, 255, 255]
    for colour in colours:
        for shade in range(1, shades + 1):
            mixed += [255 - round((255 - part) * shade / shades) for part in colour]
    return bytes(mixed)


def _write(canvas: Canvas, text: Text, base: int) -> None:
    wide = font.width(text.text, text.size) - font.GAP_X * font.UNIT_X * text.size
    left = text.x - {"start": 0.0, "middle": wide / 2, "end": wide}[text.anchor]
    for stroke in font.lines(text.text, text.size):
        canvas.line([(left + x, text.y + y) for x, y in stroke], STROKE * text.size / 12, base)


class Canvas:
    """Pixels, column after column."""

    def __init__(self, width: int, height: int, shades: int) -> None:
        self.width, self.height, self.shades = width, height, shades
        self.pixels = bytearray(width * height)

    def rows(self) -> bytes:
        """The pixels row after row."""
        turned = bytearray(len(self.pixels))
        for x in range(self.width):
            turned[x :: self.width] = self.pixels[x * self.height : (x + 1) * self.height]
        return bytes(turned)

    def line(self, points: Sequence[tuple[float, float]], width: float, base: int) -> None:
        """Points that are joined; a single one is a dot."""
        start = points[0]
        for end in points[1:] or points:
            if abs(end[0] - start[0]) <= NEARLY_UPRIGHT and abs(end[1] - start[1]) > 4 * width:
                self._bar((start[0] + end[0]) / 2, min(start[1], end[1]), max(start[1], end[1]), width, base)
            else:
                self._segment(start, end, width / 2, base)
            start = end

    def _bar(self, x: float, top: float, bottom: float, width: float, base: int) -> None:
        """A line from top to bottom: a slice of each column that it covers a part of."""
        first, end = max(0, round(top)), min(self.height, round(bottom))
        for column in range(math.floor(x - width / 2), math.ceil(x + width / 2)):
            covered = min(column + 1, x + width / 2) - max(column, x - width / 2)
            value = round(min(1.0, covered) * self.shades)
            if value and 0 <= column < self.width and end > first:
                place = slice(column * self.height + first, column * self.height + end)
                self.pixels[place] = bytes(map(max, self.pixels[place], repeat(base + value)))

    def _segment(self, start: tuple[float, float], end: tuple[float, float], half: float, base: int) -> None:
        """Every pixel is as dark as it is near to the line."""
        (x, y), (end_x, end_y) = start, end
        dx, dy = end_x - x, end_y - y
        squared = dx * dx + dy * dy
        reach = half + 1.0
        steep = abs(dy) > abs(dx)
        low, high = sorted((y, end_y) if steep else (x, end_x))
        slope = 0.0 if not squared else dx / dy if steep else dy / dx
        beside = reach * math.hypot(1.0, slope)
        limit = (self.height if steep else self.width) - 1
        for along in range(max(0, math.floor(low - reach)), min(limit, math.ceil(high + reach)) + 1):
            near = min(max(along + 0.5, low), high)
            middle = x + (near - y) * slope if steep else y + (near - x) * slope
            for across in range(math.floor(middle - beside), math.ceil(middle + beside) + 1):
                column, row = (across, along) if steep else (along, across)
                if not (0 <= column < self.width and 0 <= row < self.height):
                    continue
                away_x, away_y = column + 0.5 - x, row + 0.5 - y
                part = min(1.0, max(0.0, (away_x * dx + away_y * dy) / squared)) if squared else 0.0
                covered = half + 0.5 - math.hypot(away_x - part * dx, away_y - part * dy)
                if covered > 0.0:
                    value = base + round(min(1.0, covered) * self.shades)
                    place = column * self.height + row
                    if value > base and value > self.pixels[place]:
                        self.pixels[place] = value


def _png(canvas: Canvas, palette: bytes) -> bytes:
    rows = canvas.rows()
    filtered = b"".join(b"\0" + rows[start : start + canvas.width] for start in range(0, len(rows), canvas.width))
    head = struct.pack(">IIBBBBB", canvas.width, canvas.height, 8, 3, 0, 0, 0)
    parts = ((b"IHDR", head), (b"PLTE", palette), (b"IDAT", zlib.compress(filtered, 6)), (b"IEND", b""))
    return SIGNATURE + b"".join(chunk(kind, data) for kind, data in parts)
