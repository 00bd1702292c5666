"""Processor time, memory and disk traffic of a run's processes.

What has ended stays counted: the kernel adds it to the process that took it in.
"""

import sys

assert sys.platform != "win32"  # before the imports, so that the type checker leaves them out on Windows

from jig.runner.gpu import proc
from jig.runner.gpu.family import Family

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, Optional, Tuple

    Counts = Tuple[float, int, int]  # seconds of processor time, bytes read, bytes written

NAMES = ("cpu_s", "memory_bytes", "read_bytes", "written_bytes", "processes")


class Usage:
    """Reads what a run uses. `guard` is the pid that it lives below; `supervisor` takes the guard in at the end."""

    def __init__(self, run_id: str, guard: int, supervisor: int) -> None:
        self.family = Family(run_id, guard)
        self._guard, self._supervisor = guard, supervisor
        self._before = _taken_in(supervisor)
        self._guard_s = 0.0  # what the guard itself has used, which is not the run's
        self._counts = {}  # type: Dict[int, Counts]

    def read(self) -> "Dict[str, Optional[float]]":
        """Since the start: processor time and disk traffic; now: memory and number of processes. None without /proc.

        Memory is the sum of what is resident of each process: pages that several share count for each of them.
        """
        if self._before is None:
            return dict.fromkeys(NAMES)
        memory_bytes = processes = 0
        for root, below in self.family.look().items():
            counts = self._counts_of(root, below)
            self._counts[root] = _higher(self._counts.get(root, counts), counts)
            for pid, stat in below.items():
                if pid != self._guard and not stat.is_dead:
                    memory_bytes += stat.memory_bytes
                    processes += 1
        cpu_s, read_bytes, written_bytes = (sum(column) for column in zip(*self._counts.values()))
        return dict(zip(NAMES, (round(cpu_s, 2), memory_bytes, read_bytes, written_bytes, processes)))

    def _counts_of(self, root: int, below: "Dict[int, proc.Stat]") -> "Counts":
        if not below:
            return self._after_the_guard() if root == self._guard else (0.0, 0, 0)
        cpu_s, read_bytes, written_bytes = 0.0, 0, 0
        for pid, stat in below.items():
            traffic = proc.traffic(pid)
            cpu_s += stat.own_s + stat.taken_in_s
            read_bytes += traffic[0]
            written_bytes += traffic[1]
        if root == self._guard:
            self._guard_s = below[root].own_s
            cpu_s -= self._guard_s
        return cpu_s, read_bytes, written_bytes

    def _after_the_guard(self) -> "Counts":
        """It has ended, and the supervisor has taken it in, with all that it had taken in itself."""
        now = _taken_in(self._supervisor)
        if now is None or self._before is None:
            return 0.0, 0, 0
        return now[0] - self._before[0] - self._guard_s, now[1] - self._before[1], now[2] - self._before[2]


def _taken_in(pid: int) -> "Optional[Counts]":
    stat = proc.stat(pid)
    return None if stat is None else (stat.taken_in_s,) + proc.traffic(pid)


def _higher(one: "Counts", other: "Counts") -> "Counts":
    """Of each the higher one: a child that nobody waits for is in no count once it has ended."""
    return max(one[0], other[0]), max(one[1], other[1]), max(one[2], other[2])
