"""Showing a sweep as it goes: its log, and below it, at a terminal, how far it is."""

from __future__ import annotations

import time

from jig.cli.display import STATUS_AFTER_S, Display
from jig.cli.terminal import human_duration
from jig.follow import Quiet
from jig.store.runs import last_metrics
from jig.sweep import report

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jig.runner.folder import RunFolder
    from jig.sweep.definition import Sweep

EVERY_S = 0.5


class SweepDisplay(Display):
    """The display of a run, whose status line tells what the sweep logged of itself."""

    def __init__(self, folder: RunFolder, sweep: Sweep, sweep_id: str) -> None:
        super().__init__()
        self._folder = folder
        self._total = len(sweep.points(sweep_id))
        self._metric = sweep.objective.metric if sweep.objective is not None else ""
        self._read_at = 0.0
        self._progress = ""

    def show(self, item: dict[str, Any] | bytes | Quiet) -> None:
        """One item of `follow`."""
        if not isinstance(item, Quiet) or self._state != "running":
            super().show(item)
            return
        if not self._terminal or not self._at_line_start or item.seconds <= STATUS_AFTER_S:
            return
        if time.monotonic() - self._read_at > EVERY_S:
            self._read_at = time.monotonic()
            self._progress = report.progress(last_metrics(self._folder), self._total, self._metric)
        self._line.show(f"… {self._progress}, for {human_duration(time.monotonic() - self._since)}")
