"""A window of a log by byte offset: however long the log is, only what is looked at is read."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from typing import BinaryIO

from jig.values import Value
from jig.workbench.ansi import Pen, Span

LINES = 400
CONTEXT = 40  # lines before one that was jumped to
MOST_BYTES = 256 << 10  # of a window
CHUNK = 4 << 20  # of a search
LONGEST_WORD = 1000
ERRORS = (
    b"Traceback (most recent call last)", b"Error:", b"Exception:", b"error:", b"ERROR", b"CRITICAL", b"FATAL",
    b"Segmentation fault", b"Killed",
)  # fmt: skip


class Window(Value):
    """Lines with their offsets, from `start` up to `end` of a log of `size` bytes."""

    start: int
    end: int
    size: int
    lines: list[tuple[int, list[Span]]]


def after(path: str, offset: int, lines: int = LINES) -> Window:
    """From the line that holds this offset on."""
    return _window(path, lambda file, size: _after(file, min(offset, size), lines))


def before(path: str, offset: int | None = None, lines: int = LINES) -> Window:
    """What stands before this offset; before the end when there is none."""
    return _window(path, lambda file, size: _before(file, size if offset is None else min(offset, size), lines))


def around(path: str, offset: int) -> Window:
    """The line that holds this offset, with a few before it and many after."""

    def both(file: BinaryIO, size: int) -> tuple[int, bytes]:
        at, data = _after(file, min(offset, size), LINES)
        start, head = _before(file, at, CONTEXT)
        return start, head + data

    return _window(path, both)


def _window(path: str, read: Callable[[BinaryIO, int], tuple[int, bytes]]) -> Window:
    file = _opened(path)
    if file is None:
        return Window(0, 0, 0, [])
    with file:
        size = os.fstat(file.fileno()).st_size
        start, data = read(file, size)
        pen, at, lines = Pen(), start, []
        for line in data.split(b"\n"):
            lines.append((at, pen.spans(line.decode("utf-8", "replace"))))
            at += len(line) + 1
        if lines and lines[-1][0] == start + len(data):  # behind the last line end is no line
            lines.pop()
        return Window(start, start + len(data), size, lines)


def _opened(path: str) -> BinaryIO | None:
    """The file; None while nothing was printed yet, and where the script has put something that is no file."""
    try:
        file = open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0)))
    except (FileNotFoundError, IsADirectoryError):
        return None
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    return None


def _after(file: BinaryIO, offset: int, lines: int) -> tuple[int, bytes]:
    back = max(0, offset - MOST_BYTES)
    file.seek(back)
    ahead = file.read(offset - back).rfind(b"\n")
    offset = back + ahead + 1 if ahead >= 0 else 0 if back == 0 else offset
    file.seek(offset)
    data = file.read(MOST_BYTES)
    end = -1
    for _ in range(lines):
        found = data.find(b"\n", end + 1)
        if found < 0:
            # The last line, while it is written; or one that is longer than a window; or one that was cut by it.
            whole = len(data) < MOST_BYTES or end < 0
            return offset, data if whole else data[: end + 1]
        end = found
    return offset, data[: end + 1]


def _before(file: BinaryIO, offset: int, lines: int) -> tuple[int, bytes]:
    start = max(0, offset - MOST_BYTES)
    file.seek(start)
    data = file.read(offset - start)
    first = 0 if start == 0 else data.find(b"\n", 0, -1) + 1
    at = len(data) - 1 if data.endswith(b"\n") else len(data)
    for _ in range(lines):
        at = data.rfind(b"\n", first, at)
        if at < 0:
            return start + first, data[first:]
    return start + at + 1, data[at + 1 :]


def find(path: str, text: str, offset: int = 0) -> int | None:
    """Where the text next stands, small letters or capitals, from `offset` to the end and then from the beginning."""
    wanted = text.encode()[:LONGEST_WORD].lower()

    def search(data: bytes) -> int:
        return data.lower().find(wanted)

    found = _scan(path, search, offset)
    return found if found is not None or not offset else _scan(path, search, 0)


def first_error(path: str) -> int | None:
    """Where the first line stands that tells of an error, by the words that programs use for one."""

    def search(data: bytes) -> int:
        return min((at for word in ERRORS if (at := data.find(word)) >= 0), default=-1)

    return _scan(path, search, 0)


def _scan(path: str, search: Callable[[bytes], int], offset: int) -> int | None:
    file = _opened(path)
    if file is None:
        return None
    with file:
        file.seek(offset)
        rest = b""
        while data := file.read(CHUNK):
            at = search(rest + data)
            if at >= 0:
                return offset - len(rest) + at
            offset += len(data)
            rest = (rest + data)[-LONGEST_WORD:]
    return None
