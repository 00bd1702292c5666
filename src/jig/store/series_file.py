"""The numbers of a metrics file from an offset on."""

from __future__ import annotations

import os
import sys

from jig.store.series_lines import Curves, Lines
from jig.values import Value

CHUNK = 1 << 18  # what the processor's caches hold
SHARED_BYTES = 8 << 20  # from this many on a second process is worth its start


class Part(Value):
    """What the bytes from `start` to `end` tell."""

    start: int
    end: int
    curves: Curves


def read_new(file: int, start: int, times: bool) -> list[Part]:
    """What stands in the open file from `start` to its last whole line, in parts that follow each other."""
    size = os.fstat(file).st_size
    if sys.platform != "win32" and size - start >= SHARED_BYTES and _may_fork():
        from jig.store.series_fork import read_shared

        parts = read_shared(file, start, size, times)
    else:
        parts = [read_part(file, start, size, times)]
    return [part for part in parts if part.end > part.start]


def _may_fork() -> bool:
    """Whether a second process helps; one with threads must not fork."""
    threading = sys.modules.get("threading")
    return (threading is None or threading.active_count() == 1) and (os.cpu_count() or 1) > 1


def read_part(file: int, start: int, end: int, times: bool) -> Part:
    """What the whole lines between two offsets tell."""
    lines, at, size = Lines(times), start, CHUNK
    while at < end:
        data = read_at(file, min(size, end - at), at)
        whole = data.rfind(b"\n") + 1
        if whole:
            lines.take(data[:whole])
            at, size = at + whole, CHUNK
        elif len(data) < size:
            break  # the last line is not whole, or was not when the size was asked for
        else:
            size *= 2  # one line that is longer than a chunk
    return Part(start, at, lines.curves)


def read_at(file: int, size: int, offset: int) -> bytes:
    """Bytes of the file; where it can be had, without a place in it that processes share."""
    if sys.platform != "win32":
        return os.pread(file, size, offset)
    os.lseek(file, offset, os.SEEK_SET)
    return os.read(file, size)
