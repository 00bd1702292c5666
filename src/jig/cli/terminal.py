"""Drawing on a terminal, without dependencies: width of text, a status line, a summary box, quantities for people."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

PIPE_WIDTH = 80
COLOURS = {"red": "31", "green": "32", "yellow": "33", "blue": "34", "magenta": "35", "cyan": "36", "dim": "2"}
# What a terminal acts on instead of showing, C0 and C1 and the marks that turn the direction of text around.
_ACTIVE = {*range(0x20), *range(0x7F, 0xA0), 0x61C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A)}
ESCAPED = {code: f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" for code in _ACTIVE} | {
    ord("\n"): "\\n",
    ord("\r"): "\\r",
    ord("\t"): "\\t",
}


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person looks at this stream through a terminal that can draw."""
    return stream is not None and not stream.closed and stream.isatty() and os.environ.get("TERM") != "dumb"


def width_of(stream: TextIO | None) -> int:
    """The columns of the terminal behind the stream; 80 where there is none."""
    if stream is None or stream.closed or not stream.isatty():
        return PIPE_WIDTH
    try:
        return os.get_terminal_size(stream.fileno()).columns or PIPE_WIDTH
    except OSError:
        return PIPE_WIDTH


def has_colour(stream: TextIO | None) -> bool:
    """Whether colour is wanted: at a terminal, unless NO_COLOR says otherwise."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR")


def coloured(text: str, colour: str, stream: TextIO | None) -> str:
    """The text in a colour, or as it is where there is none; it must read the same without."""
    return f"\x1b[{COLOURS[colour]}m{text}\x1b[0m" if has_colour(stream) else text


def printable(text: str, keep: str = "") -> str:
    """The text with every character that would act on a terminal written out, except those to keep."""
    if not text.isascii():  # half of a surrogate pair stands for a byte that is no UTF-8, as in names of files
        text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    table = ESCAPED if not keep else {code: shown for code, shown in ESCAPED.items() if chr(code) not in keep}
    return text.translate(table)


def warn(text: str) -> None:
    """Say on stderr what may not be as the person wants it."""
    sys.stderr.write(f"warning: {printable(text, keep=chr(10))}\n")


def _character_width(character: str) -> int:
    import unicodedata

    if unicodedata.category(character) in ("Mn", "Me", "Cf", "Cc") or "\u1160" <= character <= "\u11ff":
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def display_width(text: str) -> int:
    """How many columns the text takes: wide characters are two, combining and control characters none."""
    if text.isascii() and text.isprintable():
        return len(text)
    return sum(map(_character_width, text))


def cut(text: str, width: int, mark: str = "…") -> str:
    """The text, or as much of its beginning as fits the width together with the mark."""
    if display_width(text) <= width:
        return text
    head, _ = _split(text, max(width - display_width(mark), 0))
    return head + mark if width >= display_width(mark) else ""


def _split(text: str, width: int) -> tuple[str, str]:
    """The longest beginning that fits, with the marks that combine with its last character, and what follows."""
    used = 0
    for index, character in enumerate(text):
        used += _character_width(character)
        if used > width:
            return text[:index], text[index:]
    return text, ""


def wrap(text: str, width: int) -> list[str]:
    """The text in lines that fit the width, broken at spaces, and inside a word that is too long for one line."""
    lines: list[str] = []
    line = ""
    for word in text.split():
        if line and display_width(line) + 1 + display_width(word) <= width:
            line += " " + word
            continue
        if line:
            lines.append(line)
        while display_width(word) > width:
            head, tail = _split(word, width)
            if not head:  # one character wider than the line: it overflows, but the text goes on
                head, tail = word[0], word[1:]
            lines.append(head)
            word = tail
        line = word
    return [*lines, line] if line else lines


class StatusLine:
    """One line at the bottom that is drawn over and over; nothing where the stream is no terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._active = is_terminal(stream)
        self._shown = ""

    def show(self, text: str) -> None:
        """Draw the text in place of what the line says now."""
        if not self._active:
            return
        line = cut(printable(text), width_of(self._stream) - 1)  # the last column makes some terminals wrap
        if line == self._shown:
            return
        self._stream.write(f"\r{_encodable(line, self._stream)}\x1b[K")
        self._stream.flush()
        self._shown = line

    def clear(self) -> None:
        """Take the line away, so that something else can be written there."""
        if self._shown:
            self._stream.write("\r\x1b[K")
            self._stream.flush()
            self._shown = ""


def _encodable(text: str, stream: TextIO) -> str:
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, "replace").decode(encoding)


def _can_encode(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def box(title: str, rows: Sequence[tuple[str, str]], width: int, encoding: str | None = None) -> str:
    """The rows in a frame no wider than `width`; long values go on in the next line, nothing is cut.

    The frame is drawn with line characters where the encoding (that of stdout, when not given) has them.
    """
    drawn = _can_encode("╭─╮│╰╯", encoding or getattr(sys.stdout, "encoding", None) or "ascii")
    top_left, across, top_right, down, low_left, low_right = "╭─╮│╰╯" if drawn else "+-+|++"
    ellipsis = "…" if drawn else "..."
    room = max(width - 4, 12)
    shown = [(printable(key), printable(value)) for key, value in rows]
    key_width = min(max((display_width(key) for key, _ in shown), default=0), room // 2)
    lines: list[str] = []
    for key, value in shown:
        head = _pad(cut(key, key_width, ellipsis), key_width)
        left = room - key_width - 2
        for part in [value] if display_width(value) <= left else wrap(value, left):
            lines.append(f"{head}  {part}".rstrip())
            head = " " * key_width
    heading = cut(printable(title), room - 2, ellipsis)
    inner = max([display_width(heading) + 2, *map(display_width, lines)])
    bar = across * (inner - display_width(heading) - 1)
    return "\n".join(
        [
            f"{top_left}{across} {heading} {bar}{top_right}",
            *(f"{down} {_pad(line, inner)} {down}" for line in lines),
            f"{low_left}{across * (inner + 2)}{low_right}",
        ]
    )


def plain(rows: Sequence[tuple[str, str]]) -> str:
    """The rows of a box as `key: value` lines."""
    return "\n".join(f"{printable(key)}: {printable(value)}".rstrip() for key, value in rows)


def _pad(text: str, width: int) -> str:
    return text + " " * (width - display_width(text))


def human_duration(seconds: float) -> str:
    """A length of time: `0.8 s`, `1 min 05 s`, `2 h 03 min`, `3 d 04 h`."""
    tenths = round(max(seconds, 0.0) * 10)
    if tenths < 600:
        return f"{tenths / 10:.1f} s"
    whole = round(max(seconds, 0.0))
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    minutes = round(seconds / 60)
    if minutes < 24 * 60:
        return f"{minutes // 60} h {minutes % 60:02} min"
    hours = round(seconds / 3600)
    return f"{hours // 24} d {hours % 24:02} h"


def human_bytes(count: int) -> str:
    """A size in decimal units: `512 B`, `12.3 MB`."""
    if count < 1000:
        return f"{count} B"
    size = count / 1000
    units = ["PB", "TB", "GB", "MB", "kB"]
    while round(size, 1) >= 1000 and len(units) > 1:
        size /= 1000
        units.pop()
    return f"{size:.1f} {units[-1]}"
