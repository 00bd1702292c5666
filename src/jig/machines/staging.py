"""The folder of a login that is being attached: made aside, put in its place whole, and swept up when it was left."""

from __future__ import annotations

import contextlib
import os
import shutil
import time

from jig.errors import MachineError
from jig.runner.folder import make_private
from jig.system import lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

# No login's own folder has a `+` in its name.
NEW, OLD, LOCK = "+new", "+old", "+lock"
PATIENCE = 6


class Staging:
    """One attach of a login at a time: its lock, which the kernel frees, says whether what is aside is still wanted."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._lock: int | None = None
        self._taken = False
        self.folder = place + NEW
        self.leftover_key = ""  # the public line of a key that a killed attach may have installed there

    def __enter__(self) -> Staging:
        machines = os.path.dirname(self._place)
        make_private(machines)
        for name in os.listdir(machines):
            if name.endswith(LOCK) and os.path.join(machines, name) != self._place + LOCK:
                _sweep(os.path.join(machines, name.removesuffix(LOCK)))
        self._lock = _own(self._place)
        for _ in range(PATIENCE):
            if self._lock is None:  # it may be held for a moment only, by somebody who sweeps up
                time.sleep(0.05)
                self._lock = _own(self._place)
        if self._lock is None:
            name = os.path.basename(self._place)
            raise MachineError(f"another attach of {name} is going on", "wait until it has ended")
        with contextlib.suppress(FileNotFoundError), open(os.path.join(self.folder, "key.pub")) as file:
            self.leftover_key = file.read().strip()
        _tidy(self._place)
        make_private(self.folder)
        return self

    def take_place(self) -> None:
        """Put the new folder where the old one was, if any."""
        if os.path.isdir(self._place):
            os.rename(self._place, self._place + OLD)
        os.rename(self.folder, self._place)
        self._taken = True

    def give_back(self) -> None:
        """Undo `take_place`, if it came to that."""
        if self._taken:
            os.rename(self._place, self.folder)
            self._taken = False

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        _tidy(self._place)
        _disown(self._place, self._lock)


def _own(place: str) -> int | None:
    """Take the lock of a login; None when somebody else has it."""
    while True:
        held = os.open(place + LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        if not lock(held, wait=False):
            os.close(held)
            return None
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(held), os.stat(place + LOCK)):
                return held
        os.close(held)  # whoever had it removed the file just then: there may be another one by now


def _disown(place: str, held: int | None) -> None:
    if held is not None:
        with contextlib.suppress(PermissionError):  # Windows keeps a file that is open
            os.unlink(place + LOCK)
        os.close(held)


def _sweep(place: str) -> None:
    """Remove what a killed attach of another login left, unless that one is still going."""
    held = _own(place)
    if held is not None:
        _tidy(place)
        _disown(place, held)


def _tidy(place: str) -> None:
    """Bring the old folder back where there is no new one, and remove whatever else is aside."""
    if os.path.isdir(place + OLD) and not os.path.isdir(place):
        os.rename(place + OLD, place)
    for aside in (place + NEW, place + OLD):
        if os.path.isdir(aside):
            shutil.rmtree(aside)
