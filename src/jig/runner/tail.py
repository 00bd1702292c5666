"""Sending a run's growing files to a client that reads them elsewhere, from the bytes it has already."""

import os
import time

from jig.runner import events, wire
from jig.runner.folder import Home, RunFolder
from jig.runner.status import ABSENT, status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO, Dict, List

CHUNK = 256 * 1024
SHORTEST_WAIT_S = 0.004
LONGEST_WAIT_S = 0.1
SOON_S = 1.0  # a container takes a tenth of a second to start: its first line is waited for with impatience
LOOK_AFTER_S = 1.0
HEARTBEAT_S = 5.0
EVENTS = "events.jsonl"
KEPT = {EVENTS, "docker.log", "environment.json", "plan.json", "prepare.log", "supervisor.log"}
KEPT |= {"ranks.jsonl", "spark.jsonl", "system.jsonl"}


def grown_files(folder: RunFolder) -> "List[str]":
    """The files of a run that a client keeps a copy of, besides its events."""
    return sorted(name for name in os.listdir(folder.path) if is_kept(name) and name != EVENTS)


def is_kept(name: str) -> bool:
    """Whether a client may have this file of a run: the names are fixed, so none can lead anywhere else."""
    if name in KEPT:
        return True
    for start, end in (("metrics.", "jsonl"), ("output.", "log")):
        if name.startswith(start) and name.endswith(end):
            rank = name[len(start) : -len(end)]  # empty, or a number and a dot
            number = rank[:-1]
            return not rank or (rank.endswith(".") and bool(number) and all(c in "0123456789" for c in number))
    return False


class Tail:
    """One client's reading of one run."""

    def __init__(self, home: Home, run_id: str, offsets: "Dict[str, int]", out: "BinaryIO") -> None:
        self._home = home
        self._folder = home.run(run_id)
        self._offsets = dict(offsets)
        self._out = out
        self._spoke = time.monotonic()

    def run(self, follow: bool) -> None:
        """Send what is new until the run has ended (or once, when not to follow); ends with an `end` answer."""
        wait_s, looked, quiet_since = SHORTEST_WAIT_S, 0.0, time.monotonic()
        while True:
            if time.monotonic() - looked > LOOK_AFTER_S:
                looked = time.monotonic()
                if status(self._home, self._folder.id) == ABSENT:
                    return wire.write_answer(self._out, {"end": "absent"})
            past = events.read(self._folder.events)
            ended = bool(past) and past[-1]["event"] in events.FINAL
            sent = self._send_new()
            if not sent and (ended or not follow):
                return wire.write_answer(self._out, {"end": "ended" if ended else "going"})
            if sent:
                wait_s, quiet_since = SHORTEST_WAIT_S, time.monotonic()
                continue
            if time.monotonic() - self._spoke > HEARTBEAT_S:
                self._say({"alive": True})
            time.sleep(wait_s)
            if time.monotonic() - quiet_since > SOON_S:
                wait_s = min(LONGEST_WAIT_S, wait_s * 1.1)

    def _send_new(self) -> bool:
        """Send every file's new bytes; False when there were none. The events are read first and sent last."""
        happened = self._new_bytes(EVENTS)
        sent = False
        for name in grown_files(self._folder):
            piece = self._new_bytes(name)
            while piece:
                self._send(name, piece)
                sent = True
                piece = self._new_bytes(name)
        if happened:
            self._send(EVENTS, happened)
        return sent or bool(happened)

    def _new_bytes(self, name: str) -> bytes:
        offset = self._offsets.get(name, 0)
        try:
            with open(os.path.join(self._folder.path, name), "rb") as file:
                file.seek(offset)
                return file.read(CHUNK)
        except FileNotFoundError:
            return b""

    def _send(self, name: str, piece: bytes) -> None:
        offset = self._offsets.get(name, 0)
        self._say({"file": name, "offset": offset, "size": len(piece)}, piece)
        self._offsets[name] = offset + len(piece)

    def _say(self, head: "Dict[str, object]", body: bytes = b"") -> None:
        self._spoke = time.monotonic()
        wire.write_frame(self._out, head, body)
