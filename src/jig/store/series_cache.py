"""What was read of long metrics files, kept as arrays so that a second look costs little. Can be deleted at any time.

    cache/series/<hash of the file's path>/<start>-<end>.<kind>    what those bytes of the file tell

A file here is written aside and renamed, never changed, and carries a checksum: one that is missing or damaged costs
a second reading and nothing else, and two processes that write at once write the same.
"""

from __future__ import annotations

import os
import zlib

from jig.digest import name_of
from jig.runner.folder import default_home, make_private
from jig.runner.quick_json import dumps, loads
from jig.store.series_lines import Curves
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

VERSION = "1"  # of the files here; others are not read, and go when room is made
MOST_BYTES = 1 << 30
SEEN_BYTES = 256  # of the metrics file, at its beginning and before `end`: whether it is still the same file
COUNT_BYTES = 8


def encode(curves: Curves, mark: str = "") -> list[memoryview]:
    """The curves as bytes, with a checksum; `mark` must be known to read them again."""
    head = {
        "mark": mark,
        "times": curves.times,
        "columns": [[*key, len(column.values), column.gaps] for key, column in curves.columns.items()],
        "kinds": [[*key, kind] for key, kind in curves.kinds.items()],
    }
    pieces = [memoryview((VERSION + dumps(head) + "\n").encode())]
    for column in curves.columns.values():
        arrays = (column.steps, column.values, *((column.times,) if curves.times else ()))
        pieces += [memoryview(numbers).cast("B") for numbers in arrays if numbers]
    return [memoryview(_checksum(pieces)), *pieces]


def _checksum(pieces: Sequence[memoryview]) -> bytes:
    value = 0
    for piece in pieces:
        value = zlib.crc32(piece, value)
    return b"%08x" % value


def decode(data: bytes, mark: str = "") -> Curves | None:
    """The curves that these bytes stand for; None when they are not whole, or have another mark."""
    body = memoryview(data)[COUNT_BYTES:]
    if _checksum([body]) != data[:COUNT_BYTES] or bytes(body[:1]) != VERSION.encode():
        return None
    end = data.index(b"\n")
    head = loads(data[COUNT_BYTES + 1 : end])
    if head["mark"] != mark:
        return None
    curves, at = Curves(head["times"]), end + 1
    for run, name, count, gaps in head["columns"]:
        column = curves.column((run, name))
        column.gaps = gaps
        for numbers in (column.steps, column.values, *((column.times,) if curves.times else ())):
            numbers.frombytes(memoryview(data)[at : at + count * numbers.itemsize])
            at += count * numbers.itemsize
    curves.kinds.update({(run, name): kind for run, name, kind in head["kinds"]})
    return curves


class Span(Value):
    """A part of a metrics file that is kept here."""

    start: int
    end: int
    path: str


class Shelf:
    """What is kept of one metrics file, which is open as `file`."""

    def __init__(self, path: str, file: int) -> None:
        self._folder = os.path.join(default_home(), "cache", "series", name_of(os.fsencode(os.path.abspath(path)), 16))
        self._file = file

    def spans(self, kind: str) -> list[Span]:
        """The parts of this kind that follow each other from the beginning of the file on."""
        found: dict[int, Span] = {}
        for name in os.listdir(self._folder) if os.path.isdir(self._folder) else ():
            bounds, _, its_kind = name.partition(".")
            start, _, end = bounds.partition("-")
            if its_kind == kind and start.isdigit() and end.isdigit():
                span = Span(int(start), int(end), os.path.join(self._folder, name))
                if span.start not in found or found[span.start].end < span.end:
                    found[span.start] = span
        chain: list[Span] = []
        while (at := chain[-1].end if chain else 0) in found and found[at].end > at:
            chain.append(found[at])
        return chain

    def load(self, span: Span) -> Curves | None:
        """What is kept of the part; None when it is damaged, or of a file that was another one."""
        try:
            with open(span.path, "rb") as file:
                curves = decode(file.read(), self._mark(span.end))
            os.utime(span.path)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        return curves

    def keep(self, start: int, end: int, kind: str, curves: Curves) -> None:
        """Keep what a part tells; where that cannot be written it is read again next time."""
        path = os.path.join(self._folder, f"{start}-{end}.{kind}")
        aside = f"{path}.{os.getpid()}.tmp"
        pieces = encode(curves, self._mark(end))
        try:
            make_private(self._folder)
            with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                for piece in pieces:
                    file.write(piece)
            os.replace(aside, path)
            _make_room(os.path.dirname(self._folder), path)
        except OSError:
            _unlink(aside)

    def drop(self, spans: Sequence[Span]) -> None:
        """Remove parts that others have taken the place of."""
        for span in spans:
            _unlink(span.path)

    def _mark(self, end: int) -> str:
        """What tells this file from another of the same name: how it begins, and what stands before the offset."""
        pieces = []
        for offset in (0, max(0, end - SEEN_BYTES)):
            os.lseek(self._file, offset, os.SEEK_SET)
            pieces.append(os.read(self._file, min(SEEN_BYTES, end)))
        return name_of(b"".join(pieces), 16)


def _make_room(folder: str, just_written: str) -> None:
    """Remove what was not looked at for longest until the rest is small enough."""
    kept = sorted((found.st_mtime, found.st_size, path) for path, found in _files(folder) if path != just_written)
    excess = sum(size for _, size, _ in kept) - MOST_BYTES
    for _, size, path in kept:
        if excess <= 0:
            return
        _unlink(path)
        excess -= size


def _files(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    for entry in os.scandir(folder):
        for file in os.scandir(entry.path) if entry.is_dir(follow_symlinks=False) else ():
            yield file.path, file.stat(follow_symlinks=False)


def _unlink(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return  # somebody else removed it, or nothing can be written here
