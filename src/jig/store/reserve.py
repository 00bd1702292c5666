"""Reserving a run: its id is taken by making the folder, its number by a line in the order file, under one lock."""

from __future__ import annotations

import os
import time

from jig.runner.folder import Home, make_private
from jig.runner.quick_json import dumps, loads
from jig.system import lock
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import BinaryIO

LAST_LINE_BYTES = 65536
BACK = "back"  # begins a line that gives a number back
ON_ITS_WAY = "on-its-way"  # in the copy of a run that is being handed to another machine; locked while that goes on
UNBORN = {"plan.json", "plan.json.new", ON_ITS_WAY}  # what such a copy may hold before the machine has the run


class Reserved(Value):
    """A run that exists only as an empty folder; a reader does not count it."""

    run_id: str
    number: int
    created: float
    folder: str
    order: str = ""  # the file that has its number

    def release(self) -> None:
        """Give id and number back; a run that arrived there in the meantime stays."""
        if self.leave():
            self._give_back_number()

    def leave(self) -> bool:
        """Remove the folder, and that alone; False when it is gone already, or has become a run."""
        try:
            names = os.listdir(self.folder)
            if ON_ITS_WAY in names and UNBORN.issuperset(names):  # a copy of what the machine did not take
                for name in names:
                    os.unlink(os.path.join(self.folder, name))
            os.rmdir(self.folder)
        except OSError:
            return False
        return True

    def _give_back_number(self) -> None:
        """The next run gets it, unless one was reserved meanwhile. Readers of runs do not know this kind of line."""
        try:
            with open(self.order, "r+b") as order:
                lock(order.fileno())
                if _last(order) == (self.number, _milliseconds(self.run_id)):
                    order.seek(0, os.SEEK_END)
                    order.write(dumps([BACK, self.number, self.run_id]).encode() + b"\n")
        except OSError:
            return  # then it is used up: numbers need only grow


def reserve(home: Home, runs: str, project: str) -> Reserved:
    """Take the next id and number. Unique also when many submits share a millisecond or the clock is set back."""
    make_private(home.path)
    make_private(runs)
    with open(home.order, "a+b") as order:
        lock(order.fileno())
        number, before = _last(order)
        created = time.time()
        # Never below the last one: two homes may hold runs of one order, and a clock may be set back.
        milliseconds = max(int(created * 1000), before + 1)
        while True:
            run_id = f"{project}_{milliseconds}"
            reserved = Reserved(run_id, number + 1, created, os.path.join(runs, run_id), home.order)
            try:
                os.mkdir(reserved.folder)
                order.write(dumps([reserved.number, run_id, reserved.folder]).encode() + b"\n")
                return reserved
            except FileExistsError:
                milliseconds += 1
            except BaseException:  # Ctrl-C
                reserved.leave()
                raise


def adopt(home: Home, folder: str) -> None:
    """Enter a run that came from elsewhere, so that the index sees it."""
    with open(home.order, "a+b") as order:
        lock(order.fileno())
        number, _ = _last(order)
        order.write(dumps([number + 1, os.path.basename(folder), folder]).encode() + b"\n")


def abandoned(folder: str) -> bool:
    """Whether the client that was handing this run to a machine died; then only the machine knows if it has it."""
    if not os.path.exists(os.path.join(folder, "plan.json")):  # it may be about to lock, which comes before the plan
        return False
    try:
        file = os.open(os.path.join(folder, ON_ITS_WAY), os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        return lock(file, wait=False)
    finally:
        os.close(file)


def _last(order: BinaryIO) -> tuple[int, int]:
    """Number and milliseconds of the last whole line; a line torn by a full disk is ended first."""
    size = order.seek(0, os.SEEK_END)
    order.seek(max(0, size - LAST_LINE_BYTES))
    tail = order.read()
    if tail and not tail.endswith(b"\n"):
        order.write(b"\n")
    for line in reversed(tail.splitlines()):
        entry = parse_line(line)
        if entry is not None:
            return entry[0], _milliseconds(entry[1])
        back = _given_back(line)
        if back is not None:
            return back
    return 0, 0


def _milliseconds(run_id: str) -> int:
    milliseconds = run_id.rpartition("_")[2]
    return int(milliseconds) if milliseconds.isdigit() else 0


def _given_back(line: bytes) -> tuple[int, int] | None:
    """The number before one that was given back, and that one's milliseconds: an id is not used twice."""
    try:
        word, number, run_id = loads(line)
    except ValueError:
        return None
    return (number - 1, _milliseconds(run_id)) if word == BACK and isinstance(number, int) else None


def parse_line(line: bytes) -> tuple[int, str, str] | None:
    """Number, id and folder of one line of the order file; None for a torn line, or another kind."""
    try:
        number, run_id, folder = loads(line)
    except ValueError:
        return None
    return (number, run_id, folder) if isinstance(number, int) else None
