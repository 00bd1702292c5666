"""The file of which windows of a log are shown: the run's own, that of one rank, or those of all ranks put together."""

from __future__ import annotations

import os
import tempfile
import threading

from jig.interleaved import LAUNCHER, Interleaved, log_name, ranks
from jig.store.queries import Found
from jig.workbench.gate import within

ALL = "all"  # where else the number of a rank stands, or nothing
ENDS = ("events.jsonl", "outputs.json")  # with these a run becomes whole, and lines without an end are shown
KEPT = 8


class RunLogs:
    """Whose logs were looked at last, put together."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._merged: dict[str, _Merged] = {}

    def path(self, found: Found, whose: str) -> str:
        """The file, with all that there is; for `ALL` this takes as long as reading what is new."""
        if whose != ALL:
            return _own(found, whose)
        with self._lock:
            merged = self._merged.pop(found.id, None) or _Merged(found)
            self._merged[found.id] = merged  # behind all others
            if len(self._merged) > KEPT:
                del self._merged[next(iter(self._merged))]
        return merged.path()


def size(found: Found, whose: str) -> int:
    """How much there is: another number when there is more to show."""
    names = [LAUNCHER, *map(log_name, ranks(found.folder)), *ENDS]
    places = [os.path.join(found.folder.path, name) for name in names] if whose == ALL else [_own(found, whose)]
    return sum(os.path.getsize(place) for place in places if os.path.exists(place))


def _own(found: Found, whose: str) -> str:
    name = log_name(int(whose)) if whose.isdecimal() else LAUNCHER
    return within(found.folder.path, os.path.join(found.folder.path, name))


class _Merged:
    """Of one run. The file is gone when nobody holds this any more."""

    def __init__(self, found: Found) -> None:
        self._found = found
        self._reader = Interleaved(found.folder)
        self._file = tempfile.NamedTemporaryFile(prefix="jig-log-", suffix=".log")
        self._lock = threading.Lock()
        self._is_whole = False

    def path(self) -> str:
        with self._lock:
            if not self._is_whole:
                self._is_whole = self._found.is_whole()  # asked first: what is read afterwards goes to its end
                while data := self._reader.read():
                    self._file.write(data)
                if self._is_whole:
                    self._file.write(self._reader.rest())
                    self._reader.close()
                self._file.flush()
        return self._file.name
