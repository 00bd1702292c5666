"""events.jsonl: one line per state change, appended by the supervisor alone, read by anybody at any time."""

import errno
import os
import time

from jig.runner.quick_json import dumps, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List

FINAL = ("completed", "failed", "canceled", "lost")


def parse(data: bytes) -> "List[Dict[str, Any]]":
    """The whole events in `data`; a last line that is still being written, or a torn one, is left out."""
    found = []
    for line in data.split(b"\n")[:-1]:
        try:
            event = loads(line.decode("utf-8", "replace"))
        except ValueError:  # torn by a kill in the middle of a write; the writer after it starts a new line
            continue
        if isinstance(event, dict) and isinstance(event.get("event"), str) and _is_stamped(event):
            found.append(event)
    return found


def _is_stamped(event: "Dict[str, Any]") -> bool:
    return all(isinstance(event.get(name), (int, float)) for name in ("time", "mono"))


def read(path: str) -> "List[Dict[str, Any]]":
    """Every event so far; none when the file is not there."""
    try:
        with open(path, "rb") as file:
            return parse(file.read())
    except FileNotFoundError:
        return []


class EventWriter:
    """Appends events; on a full disk keeps them until there is room, and gives up the reserve for the last one."""

    def __init__(self, path: str, reserve: str = "", seq: int = 0) -> None:
        self._reserve = reserve
        self._seq = seq
        self._start = time.monotonic()
        self._pending = b""
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0), 0o644)
        size = os.fstat(self._file).st_size
        if size and hasattr(os, "pread") and os.pread(self._file, 1, size - 1) != b"\n":
            self._pending = b"\n"  # the writer before us was killed in the middle of a line

    def write(self, event: str, **fields: "Any") -> None:
        """Append one event. `mono` counts from the supervisor's start: durations survive a clock set back."""
        self._seq += 1
        line = {"seq": self._seq, "time": round(time.time(), 6), "mono": round(time.monotonic() - self._start, 6)}
        line["event"] = event  # type: ignore[assignment]
        line.update(fields)
        self._pending += dumps(line).encode() + b"\n"
        if event in FINAL:
            self._give_up_reserve()
        try:
            self._flush()
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT) or event in FINAL:
                raise
        if event in FINAL:
            os.fsync(self._file)

    def _flush(self) -> None:
        while self._pending:
            self._pending = self._pending[os.write(self._file, self._pending) :]

    def _give_up_reserve(self) -> None:
        try:
            os.unlink(self._reserve)
        except FileNotFoundError:
            pass  # this run has none, or it is given up already

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)
