"""Following a run: new bytes by offset, from any process, at any time."""

from __future__ import annotations

import os
import time

from jig.runner import events
from jig.runner.folder import RunFolder
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jig.interleaved import Interleaved
    from jig.machines import Feed

SHORTEST_WAIT_S = 0.001
LONGEST_WAIT_S = 0.1
SOON_S, SOON_WAIT_S = 1.0, 0.0015
GATHER_S = 0.01
CHUNK = 1 << 20
REPORT_S = 3.0  # the script's first line waits so long for what jig reports of the GPU


class Reader:
    """Reads a run folder's growing files from where it left off."""

    def __init__(self, folder: RunFolder, log_offset: int = 0, log: str = "") -> None:
        """`log` is the path of another log than the run's own."""
        self._folder = folder
        self._path = log or folder.log
        self._offsets: dict[str, int] = {}  # of the files that are read line by line
        self.log_offset = log_offset
        self._log = -1

    def events(self) -> list[dict[str, Any]]:
        """Whole events since the last call."""
        return events.parse(self._lines(self._folder.events))

    def spark(self) -> list[dict[str, Any]]:
        """What the run's Spark has told since the last call."""
        from jig.runner.quick_json import loads

        told = []
        for line in self._lines(os.path.join(self._folder.path, "spark.jsonl")).splitlines():
            try:
                fields = loads(line)
            except ValueError:  # torn by a kill, or nonsense by the script
                continue
            if isinstance(fields, dict):
                told.append({**fields, "event": "spark"})
        return told

    def _lines(self, path: str) -> bytes:
        """Whole lines of a file since the last call."""
        offset = self._offsets.get(path, 0)
        try:
            with open(path, "rb") as file:
                file.seek(offset)
                data = file.read()
        except FileNotFoundError:
            return b""
        whole = data[: data.rfind(b"\n") + 1]
        self._offsets[path] = offset + len(whole)
        return whole

    def log(self) -> bytes:
        """Log bytes since the last call, a megabyte at most."""
        if self._log < 0:
            try:
                self._log = os.open(self._path, os.O_RDONLY)
            except FileNotFoundError:
                return b""
            os.lseek(self._log, self.log_offset, os.SEEK_SET)
        data = os.read(self._log, CHUNK)
        self.log_offset += len(data)
        return data

    def close(self) -> None:
        """Close the log."""
        if self._log >= 0:
            os.close(self._log)
            self._log = -1


class Quiet(Value):
    """Nothing new; the run has been quiet for this long. `bar` is a line that some rank has begun, and redraws."""

    seconds: float
    bar: str = ""


class Gate:
    """Keeps a script's first bytes back until the event `gpu` has come; not for long, and not past the run's end."""

    def __init__(self, shut: bool) -> None:
        self._shut = shut
        self._began = 0.0

    def lets_through(self, fresh: list[dict[str, Any]]) -> bool:
        """Whether the log may be shown, now that these events have come."""
        for event in fresh:
            if event["event"] == "running":
                self._began = time.monotonic()
            if event["event"] in ("gpu", *events.FINAL):
                self._shut = False
        if self._began and time.monotonic() - self._began > REPORT_S:
            self._shut = False
        return not self._shut


def follow(
    folder: RunFolder,
    feed: Feed,
    log_offset: int = 0,
    report_first: bool = False,
    spark: bool = False,
    log: str = "",
    merged: Interleaved | None = None,
) -> Iterator[dict[str, Any] | bytes | Quiet]:
    """Events, log bytes and pauses as they come, until the run's last event and the last byte of its log.

    Events are read before the log, so that when the last one is seen every byte it counts is there. With `report_first`
    the event `gpu` comes before the first byte: the script does not wait for it, its reader does. With `spark`
    there are events of that name too: what its Spark tells. `log` is the path of another log than the run's own;
    `merged` gives the lines of several.
    """
    reader, gate = Reader(folder, log_offset, log), Gate(report_first)
    read = merged.read if merged else reader.log
    wait_s, quiet_since = SHORTEST_WAIT_S, time.monotonic()
    final: dict[str, Any] | None = None
    gathered = False
    try:
        while True:
            fresh = reader.events()
            for event in fresh:
                if event["event"] in events.FINAL:
                    final = event
                else:
                    yield event
            yield from reader.spark() if spark else ()
            data = read() if gate.lets_through(fresh) else b""
            if data:
                yield data
            elif final is not None:
                if merged and (rest := merged.rest()):
                    yield rest
                yield final
                return
            now = time.monotonic()
            if data or fresh:
                wait_s, quiet_since = SHORTEST_WAIT_S, now
                if (
                    0 < len(data) < CHUNK
                ):  # a script that prints line by line: let some gather, it needs the core itself
                    time.sleep(GATHER_S if gathered else SHORTEST_WAIT_S)
                gathered = bool(data)
                continue
            gathered = False
            yield Quiet(now - quiet_since, merged.bar() if merged else "")
            for notice in feed.wait(wait_s):
                yield {"event": "note", "text": notice}
            if feed.gone:
                return
            # A container takes a tenth of a second to start: whoever waits for its first line should not wait longer.
            longest_s = LONGEST_WAIT_S if now - quiet_since > SOON_S else SOON_WAIT_S
            wait_s = min(longest_s, wait_s * 1.1)
    finally:
        feed.close()
        reader.close()
        if merged:
            merged.close()
