"""A picture as SVG."""

from __future__ import annotations

from jig.plot.picture import Line, Picture, Text

FONT = "-apple-system, 'Segoe UI', 'DejaVu Sans', Helvetica, Arial, sans-serif"
ESCAPED = {ord("&"): "&amp;", ord("<"): "&lt;", ord(">"): "&gt;", ord('"'): "&quot;"}


def render(picture: Picture) -> bytes:
    """The bytes of an SVG file."""
    size = f'width="{picture.width}" height="{picture.height}" viewBox="0 0 {picture.width} {picture.height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{FONT}">',
        f'<rect width="{picture.width}" height="{picture.height}" fill="#ffffff"/>',
    ]
    for shape in picture.shapes:
        parts.append(_text(shape) if isinstance(shape, Text) else _line(shape))
    return "\n".join([*parts, "</svg>\n"]).encode("utf-8", "replace")


def _hex(colour: tuple[int, int, int]) -> str:
    return "#" + bytes(colour).hex()


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _text(text: Text) -> str:
    # What XML cannot have at all is shown as a question mark.
    words = "".join(c if c.isprintable() else "?" for c in text.text).translate(ESCAPED)
    place = f'x="{_number(text.x)}" y="{_number(text.y)}" font-size="{_number(text.size)}"'
    return f'<text {place} fill="{_hex(text.colour)}" text-anchor="{text.anchor}">{words}</text>'


def _line(line: Line) -> str:
    points = line.points if len(line.points) > 1 else [*line.points, *line.points]
    joined = " ".join(f"{_number(x)},{_number(y)}" for x, y in points)
    ends = ' stroke-linejoin="round" stroke-linecap="round"' if line.curve else ""
    stroke = f'stroke="{_hex(line.colour)}" stroke-width="{_number(line.width)}"{ends}'
    return f'<polyline points="{joined}" fill="none" {stroke}/>'
