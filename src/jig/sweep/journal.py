"""What a sweep's program saw, in order: one line each, in the folder of the sweep's first run; kept over a resume."""

from __future__ import annotations

import os
import time

from jig.errors import StoreError
from jig.runner.folder import Home, RunFolder
from jig.runner.quick_json import dumps, loads
from jig.sweep.children import JOURNAL
from jig.system import lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BEFORE_S = 10.0  # for the program before us, which was just killed, to be gone


class Journal:
    """The journal of a sweep, for its one writer; open as long as that lives."""

    def __init__(self, folder: RunFolder, home: Home) -> None:
        # Beside the run's own lock: on a disk of this machine.
        self._lock = os.open(folder.lock(home) + "-sweep", os.O_RDWR | os.O_CREAT, 0o600)
        deadline = time.monotonic() + BEFORE_S
        while not lock(self._lock, wait=False):
            if time.monotonic() > deadline:
                raise StoreError(
                    f"another run goes on with the sweep {folder.id} already", "jig sweep show tells which"
                )
            time.sleep(0.05)
        path = os.path.join(folder.path, JOURNAL)
        self.past = read(path)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        if os.fstat(self._file).st_size:
            os.lseek(self._file, -1, os.SEEK_END)
            if os.read(self._file, 1) != b"\n":
                os.write(self._file, b"\n")  # a line that was torn when the writer before us was killed

    def write(self, **said: Any) -> None:
        """Append one line."""
        os.write(self._file, dumps({"time": round(time.time(), 3), **said}).encode() + b"\n")

    def elapsed_s(self) -> float:
        """How long the programs before this one were at work on the sweep."""
        total, began, last = 0.0, 0.0, 0.0
        for line in self.past:
            if "began" in line:
                total, began = total + last - began, line["time"]
            last = line["time"]
        return max(0.0, total + last - began)

    def ends(self) -> dict[str, dict[str, Any]]:
        """The runs whose end the sweep saw while it went on, by id."""
        return {line["run"]: line for line in self.past if "run" in line and line.get("ended")}


def is_held(folder: RunFolder, home: Home) -> bool:
    """Whether a program is at work on the sweep now."""
    from jig.runner.folder import is_held

    return is_held(folder.lock(home) + "-sweep")


def read(path: str) -> list[dict[str, Any]]:
    """Every whole line so far."""
    found = []
    try:
        with open(path, "rb") as file:
            lines = file.read().splitlines()
    except FileNotFoundError:
        return []
    for line in lines:
        try:
            said = loads(line)
        except ValueError:
            continue
        if isinstance(said, dict) and isinstance(said.get("time"), (int, float)):
            found.append(said)
    return found
