"""The logs of a run of several processes as one: whole lines, each with its rank before it, in the order of their time.

The files stay as they are, byte for byte; this is a way to read them. What came before what is told by the sizes that
the launcher notes in `ranks.jsonl`; what it has not noted yet is taken as it comes.
"""

from __future__ import annotations

import os
import time

from jig.runner.folder import RunFolder
from jig.runner.quick_json import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

RECORD = "ranks.jsonl"
LAUNCHER = "output.log"  # torchrun's own words, which nothing is put before
PIECE_BYTES = 1 << 18
OPENED = sum(getattr(os, name, 0) for name in ("O_RDONLY", "O_NONBLOCK", "O_NOFOLLOW", "O_BINARY"))
LONGEST_LINE = 1 << 16
LIST_S = 0.1


def rank_of(name: str) -> int | None:
    """Whose log a file of a run folder is; None for another file."""
    start, _, rest = name.partition(".")
    rank, _, end = rest.rpartition(".")
    is_one = start == "output" and end == "log" and rank.isascii() and rank.isdigit() and len(rank) < 6
    return int(rank) if is_one and str(int(rank)) == rank else None


def log_name(rank: int) -> str:
    """The file of a rank's log."""
    return f"output.{rank}.log"


def ranks(folder: RunFolder) -> list[int]:
    """The ranks that have a log."""
    try:
        found = [rank_of(name) for name in os.listdir(folder.path)]
    except FileNotFoundError:
        return []
    return sorted(rank for rank in found if rank is not None)


class _Source:
    """One log, read on from where it was left; a line that is not whole waits."""

    def __init__(self, path: str, rank: int | None) -> None:
        self._path = path
        self._before = b"" if rank is None else b"[%d] " % rank
        self._torchs = b"" if rank is None else b"[rank%d]: " % rank  # before tracebacks, and says the same
        self._open = -1
        self._fails = False
        self.offset = 0
        self.waiting = b""

    def read(self, up_to: int | None) -> bytes:
        """Whole lines of what is new, up to this offset in the file."""
        if self._open < 0:
            try:
                self._open = os.open(self._path, OPENED)
            except OSError:  # not written yet, or the script has put a link in its place
                return b""
        wanted = PIECE_BYTES if up_to is None else min(PIECE_BYTES, up_to - self.offset)
        try:
            data = os.read(self._open, wanted) if wanted > 0 else b""
        except OSError:  # a folder, a pipe, a disk that is gone
            self._fails = True
            return b""
        if not data:
            return b""
        self.offset += len(data)
        lines = (self.waiting + data).split(b"\n")
        begun = lines.pop()
        self.waiting = _redrawn(begun) + b"\r" * begun.endswith(b"\r")
        if len(self.waiting) > LONGEST_LINE:
            lines, self.waiting = [*lines, self.waiting], b""
        return b"".join(map(self._shown, lines))

    def lags(self, size: int) -> bool:
        """Whether it was not read up to here yet, and can be."""
        return self._open >= 0 and not self._fails and self.offset < min(size, os.fstat(self._open).st_size)

    def rest(self) -> bytes:
        """The line that has no end."""
        line, self.waiting = self.waiting, b""
        return self._shown(line) if line else b""

    def _shown(self, line: bytes) -> bytes:
        return self._before + _redrawn(line).removeprefix(self._torchs) + b"\n"

    def bar(self) -> str:
        """The line that has no end yet, for a person: most often a progress bar."""
        line = _redrawn(self.waiting).decode(errors="replace").strip()
        return self._before.decode() + line if line else ""

    def close(self) -> None:
        if self._open >= 0:
            os.close(self._open)


def _redrawn(line: bytes) -> bytes:
    """What is to be seen of a line that went back to its start: what was written last."""
    return line.rstrip(b"\r").rpartition(b"\r")[2] if b"\r" in line else line


class Interleaved:
    """Reads the logs of all ranks, and of the launcher, as one stream."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._sources: dict[str, _Source] = {}
        self._steps: list[dict[str, Any]] = []
        self._record_offset = 0
        self._listed_at = float("-inf")

    def read(self) -> bytes:
        """Whole lines since the last call, some hundred kilobytes at most; empty when there are none."""
        self._list()
        self._read_record()
        while self._steps:
            step, told = self._steps[0], b""
            for name, source in sorted(self._sources.items()):
                size = step.get(name)
                if isinstance(size, int) and size > source.offset:
                    told += source.read(size)
            if told:
                return told
            if any(isinstance(size := step.get(name), int) and one.lags(size) for name, one in self._sources.items()):
                continue  # there is more of the same step, without a line's end so far
            self._steps.pop(0)
        while True:
            offset = sum(source.offset for source in self._sources.values())
            told = b"".join(source.read(None) for _, source in sorted(self._sources.items()))
            if told or offset == sum(source.offset for source in self._sources.values()):
                return told  # else there is more behind bars without a line's end

    def rest(self) -> bytes:
        """What is left at the end: lines without an end."""
        return b"".join(source.rest() for _, source in sorted(self._sources.items()))

    def bar(self) -> str:
        """The unfinished line of the first rank that has one."""
        return next((bar for _, source in sorted(self._sources.items()) if (bar := source.bar())), "")

    def _list(self) -> None:
        now = time.monotonic()
        if now - self._listed_at < LIST_S:
            return
        self._listed_at = now
        for rank in (None, *ranks(self._folder)):
            name = LAUNCHER if rank is None else log_name(rank)
            if name not in self._sources:
                self._sources[name] = _Source(os.path.join(self._folder.path, name), rank)

    def _read_record(self) -> None:
        try:
            with open(os.path.join(self._folder.path, RECORD), "rb") as file:
                file.seek(self._record_offset)
                data = file.read()
        except OSError:
            return
        data = data[: data.rfind(b"\n") + 1]
        self._record_offset += len(data)
        for line in data.splitlines():
            if b'"sizes"' in line:
                try:
                    said = loads(line)
                except (ValueError, RecursionError):  # torn by a kill, or the script's own
                    continue
                if isinstance(said, dict) and isinstance(said.get("sizes"), dict):
                    self._steps.append(said["sizes"])

    def close(self) -> None:
        """Close the logs."""
        for source in self._sources.values():
            source.close()
