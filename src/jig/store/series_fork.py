"""A long metrics file, read by several processes: each takes a share of its lines."""

from __future__ import annotations

import os
import sys

from jig.store import series_file
from jig.store.series_cache import decode, encode
from jig.store.series_file import Part, read_at, read_part

assert sys.platform != "win32"  # nothing of this exists there

MOST_PROCESSES = 4


def read_shared(file: int, start: int, size: int, times: bool) -> list[Part]:
    """What stands between the offsets, in parts that follow each other."""
    bounds = _bounds(file, start, size)
    others = [_Other(file, *between, times) for between in zip(bounds[1:-1], bounds[2:], strict=True)]
    return [read_part(file, bounds[0], bounds[1], times), *(other.part() for other in others)]


def _bounds(file: int, start: int, size: int) -> list[int]:
    """Where each process begins: equal shares, moved to the beginning of a line."""
    count = min(MOST_PROCESSES, os.cpu_count() or 1, (size - start) // (series_file.SHARED_BYTES // 2))
    bounds = [start]
    for number in range(1, count):
        share = start + (size - start) * number // count
        line_end = read_at(file, series_file.CHUNK, share).find(b"\n")
        if line_end >= 0 and share + line_end + 1 > bounds[-1]:
            bounds.append(share + line_end + 1)
    return [*bounds, size]


class _Other:
    """A share that another process reads; when that one fails, this one does it."""

    def __init__(self, file: int, start: int, end: int, times: bool) -> None:
        self._asked = (file, start, end, times)
        self._pipe, theirs = os.pipe()
        self._pid = os.fork()
        if not self._pid:
            done = 1
            try:
                part = read_part(*self._asked)
                with open(theirs, "wb") as pipe:
                    pipe.write(b"%d\n" % part.end)
                    for piece in encode(part.curves):
                        pipe.write(piece)
                done = 0
            finally:
                os._exit(done)  # whatever happened: nothing of the parent may run twice
        os.close(theirs)

    def part(self) -> Part:
        """What it found."""
        with open(self._pipe, "rb") as pipe:
            data = pipe.read()
        os.waitpid(self._pid, 0)
        end, _, told = data.partition(b"\n")
        curves = decode(told)
        if curves is None:
            return read_part(*self._asked)
        return Part(self._asked[1], int(end), curves)
