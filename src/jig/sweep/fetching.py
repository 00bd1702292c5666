"""Bringing home what ended runs left on another machine, beside the sweep: large outputs keep no point waiting."""

from __future__ import annotations

import queue
import threading
import time

from jig.errors import MachineError
from jig.store.queries import Found
from jig.sweep.children import Child

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from jig.machines import Machine

TRIES = 5
AGAIN_S = 15.0


class Fetching:
    """A thread that brings outputs, one run after the other. What it cannot bring, any later command does."""

    def __init__(self, machine: Callable[[], Machine], say: Callable[[str], None]) -> None:
        self._machine = machine
        self._say = say
        self._waiting: queue.SimpleQueue[Child | None] = queue.SimpleQueue()
        self._leaving = threading.Event()
        self._thread: threading.Thread | None = None

    def bring(self, child: Child) -> None:
        """Bring a run's outputs soon."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, daemon=True)
            self._thread.start()
        self._waiting.put(child)

    def finish(self, limit_s: float, stopping: Callable[[], bool]) -> None:
        """Wait until all is here, or this long, or until somebody wants it to stop."""
        if self._thread is None:
            return
        self._waiting.put(None)
        deadline = time.monotonic() + limit_s
        while self._thread.is_alive() and time.monotonic() < deadline and not stopping():
            self._thread.join(0.1)
        self._leaving.set()

    def _work(self) -> None:
        while (child := self._waiting.get()) is not None:
            for turn in range(TRIES):
                try:
                    Found(child.run_id, child.folder, self._machine()).bring()
                    break
                except (MachineError, OSError) as error:
                    if turn + 1 == TRIES or self._leaving.wait(AGAIN_S):
                        self._say(
                            f"the outputs of {child.run_id} are not here yet ({error}); a later command fetches them"
                        )
                        break
