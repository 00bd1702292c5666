"""A run that is only a place: it is held open while a shell is in it, and ends with the last one.

Who enters holds a lock of the run's. The kernel frees it when that process dies, however that comes about.
"""

import os
import time

from jig.runner import tree
from jig.runner.folder import Home, RunFolder
from jig.system import lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

FIRST_S = 60.0  # for the first shell to come
LEFT_S = 3.0  # whoever is connected to a script that ends knows of that before we do: it did not leave, it ended
SHELL_VARIABLE = "JIG_SHELL"  # in the environment of all that is started in a shell: the run's id


def place(home: Home, folder: RunFolder) -> str:
    """The file that is locked: beside the run's own lock, so on a disk of this machine."""
    return folder.lock(home) + "-shells"


class Hold:
    """The supervisor's side."""

    def __init__(self, home: Home, folder: RunFolder) -> None:
        self._path = place(home, folder)
        self._run_id = folder.id
        self._stop = folder.stop
        self._give_up_at = time.monotonic() + FIRST_S
        self._free_since = 0.0
        os.close(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600))

    def look(self) -> None:
        """Ask the run to end when the last shell has left, or none has come."""
        descriptor = os.open(self._path, os.O_RDWR)
        try:
            if not lock(descriptor, wait=False):
                self._free_since = 0.0
                return
            has_come = os.fstat(descriptor).st_size > 0
        finally:
            os.close(descriptor)
        now = time.monotonic()
        self._free_since = self._free_since or now
        over = now - self._free_since > LEFT_S if has_come else now > self._give_up_at
        if over and not os.path.exists(self._stop):
            with open(self._stop, "w") as file:
                file.write("0")

    def close(self) -> None:
        """Nobody can enter any more, and what the shells left running is ended."""
        os.unlink(self._path)
        tree.end_carriers(self._run_id, SHELL_VARIABLE)


def enter(home: Home, folder: RunFolder) -> "Optional[int]":
    """Hold the place open as long as the returned descriptor is; None for a run that needs no holding."""
    try:
        descriptor = os.open(place(home, folder), os.O_RDWR)
    except FileNotFoundError:
        return None
    lock(descriptor, shared=True)
    os.write(descriptor, b"entered\n")  # after the lock: whoever is seen to have come is also seen to be there
    return descriptor
