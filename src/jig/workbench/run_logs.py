"""The file of which windows of a log are shown: the run's own, that of one rank, or those of all ranks put together."""

from __future__ import annotations

import os
import tempfile
import threading
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from jig.errors import StoreError
from jig.interleaved import LAUNCHER, Interleaved, log_name, ranks
from jig.store.queries import Found
from jig.workbench.gate import within
from jig.workbench.words import say

ALL = "all"  # where else the number of a rank stands, or nothing
LARGEST = 256 << 20  # bytes of logs that are put together
ENDS = ("events.jsonl", "outputs.json")  # with these a run becomes whole, and lines without an end are shown
KEPT = 4


class RunLogs:
    """Whose logs were looked at last, put together."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._merged: dict[str, _Merged] = {}

    @contextmanager
    def file(self, found: Found, whose: str) -> Iterator[str]:
        """A file with all that there is, to be read meanwhile; for `ALL` this takes as long as reading what is new."""
        if whose != ALL:
            yield within(found.folder.path, os.path.join(found.folder.path, _name(whose)))
            return
        with self._lock:
            merged = self._merged.pop(found.id, None) or _Merged(found)
            self._merged[found.id] = merged  # behind all others
            if len(self._merged) > KEPT:
                del self._merged[next(iter(self._merged))]
        try:
            path = merged.path()
        except OSError as error:  # a full disk: what was read and not written is read again by another one
            with self._lock:
                self._merged.pop(found.id, None)
            raise StoreError(say("log.not_merged", why=error.strerror), say("log.not_merged.hint")) from error
        yield path


def size(found: Found, whose: str) -> int:
    """How much there is: another number when there is more to show."""
    return _bytes(found, (*_logs(found), *ENDS) if whose == ALL else (_name(whose),))


def is_large(found: Found) -> bool:
    """Whether the logs of its processes are more than what is put together."""
    return _bytes(found, _logs(found)) > LARGEST


def _logs(found: Found) -> list[str]:
    return [LAUNCHER, *map(log_name, ranks(found.folder))]


def _name(whose: str) -> str:
    return log_name(int(whose)) if whose.isdecimal() else LAUNCHER


def _bytes(found: Found, names: Iterable[str]) -> int:
    total = 0
    for name in names:
        with suppress(OSError):  # nothing was printed yet
            total += os.lstat(os.path.join(found.folder.path, name)).st_size
    return total


class _Merged:
    """Of one run. The files are closed, and this one's is gone, when nobody holds it any more."""

    def __init__(self, found: Found) -> None:
        self._found = found
        self._reader = Interleaved(found.folder)
        self._file = tempfile.NamedTemporaryFile(prefix="jig-log-", suffix=".log")
        weakref.finalize(self, self._reader.close)
        self._left = LARGEST
        self._lock = threading.Lock()
        self._is_whole = False

    def path(self) -> str:
        with self._lock:
            if not self._is_whole:
                self._is_whole = self._found.is_whole()  # asked first: what is read afterwards goes to its end
                while self._left > 0 and (data := self._reader.read()):
                    self._file.write(data)
                    self._left -= len(data)
                if self._left <= 0:
                    self._is_whole = True
                    self._file.write(say("log.merged.large", mb=LARGEST >> 20).encode() + b"\n")
                elif self._is_whole:
                    self._file.write(self._reader.rest())
                self._file.flush()
        return self._file.name
