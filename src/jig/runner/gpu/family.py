"""Which processes are the run's: those below the guard, and a container's, which have another parent.

The latter are found by the run's id in their environment. The process table of a large machine is long, so it is gone
through rarely, and the less often the longer that takes.
"""

import sys
import time

from jig.runner import tree
from jig.runner.gpu import proc
from jig.system import carriers, descendants

assert sys.platform != "win32"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable, Dict, List, Tuple, TypeVar

    T = TypeVar("T")

FULL_LOOK_S = 5.0  # between looks for the children of all threads, and not of each process's first alone
TABLE_LOOK_S = 1.0  # between looks through the process table at first; each time twice as long, up to:
TABLE_LOOK_MOST_S = 60.0
LOOK_SHARE = 0.001  # of one core: the most that either may take in the long run
REMEMBERED_S = 60.0  # for so long a process that has ended is still known to have been the run's


class Family:
    """Follows the run's processes. A run that was submitted from within this one is not part of it."""

    def __init__(self, run_id: str, guard: int) -> None:
        self._run_id, self._guard = run_id, guard
        self._mark = ("%s=%s" % (tree.RUN_VARIABLE, run_id)).encode()
        first = proc.stat(guard)
        self._roots = {guard: first.began if first else 0}
        self._alive = {}  # type: Dict[int, proc.Stat]
        self._seen_at = {}  # type: Dict[int, float]
        self._judged: "Dict[Tuple[int, int], bool]" = {}
        self._is_another = {}  # type: Dict[int, bool]
        self._full_look = Rarely(0.0, FULL_LOOK_S, FULL_LOOK_S)
        self._table_look = Rarely(TABLE_LOOK_S, TABLE_LOOK_S, TABLE_LOOK_MOST_S)

    def look(self) -> "Dict[int, Dict[int, proc.Stat]]":
        """All living processes of the run, by the root that they are below: the guard, or a container's first."""
        full = self._full_look.is_due()
        found = self._full_look.timed(self._look_fully) if full else self._look_below_roots(False)
        if len(self._roots) == 1 and self._table_look.is_due():
            self._table_look.timed(self._look_for_containers)
        return found

    def owns(self, pid: int) -> bool:
        """Whether a process is the run's; one that has ended was when it was last seen."""
        if pid in self._alive:
            return pid != self._guard
        stat = proc.stat(pid)
        if stat is None:
            return pid in self._seen_at
        key = (pid, stat.began)
        if key not in self._judged:
            self._judged[key] = self._is_below(stat) or self._is_in_container(pid, stat)
        return self._judged[key]

    def _look_fully(self) -> "Dict[int, Dict[int, proc.Stat]]":
        self._is_another.clear()  # right between fork and exec a process still has its parent's command line
        self._judged = {key: ours for key, ours in self._judged.items() if proc.stat(key[0]) is not None}
        self._seen_at = {pid: at for pid, at in self._seen_at.items() if time.monotonic() - at < REMEMBERED_S}
        return self._look_below_roots(True)

    def _look_below_roots(self, full: bool) -> "Dict[int, Dict[int, proc.Stat]]":
        known = {}  # type: Dict[int, List[int]]
        for pid, stat in (self._alive if proc.TELLS_CHILDREN or not full else self._table()).items():
            known.setdefault(stat.parent, []).append(pid)
        found = {root: self._walk(root, known, full) for root in self._roots}
        self._alive = {pid: stat for below in found.values() for pid, stat in below.items()}
        self._seen_at.update(dict.fromkeys(self._alive, time.monotonic()))
        for root in [root for root, below in found.items() if not below and root != self._guard]:
            del self._roots[root]
        return found

    def _table(self) -> "Dict[int, proc.Stat]":
        pids = [pid for root in self._roots for pid in descendants(root)]
        return {pid: stat for pid, stat in ((pid, proc.stat(pid)) for pid in pids) if stat is not None}

    def _walk(self, root: int, known: "Dict[int, List[int]]", full: bool) -> "Dict[int, proc.Stat]":
        found = {}  # type: Dict[int, proc.Stat]
        first = proc.stat(root)
        if first is None or first.began != self._roots[root]:
            return found
        found[root] = first
        left = [root]
        while left:
            pid = left.pop()
            for child in {*proc.children(pid, full), *known.get(pid, ())}:
                stat = None if child in found else proc.stat(child)
                if stat is not None and stat.parent == pid and not self._is_other(child):
                    found[child] = stat
                    left.append(child)
        return found

    def _look_for_containers(self) -> None:
        for pid in carriers(tree.RUN_VARIABLE, self._run_id):
            stat = proc.stat(pid)
            if stat is not None and pid not in self._alive and not self._is_below(stat):
                self._is_in_container(pid, stat)

    def _is_in_container(self, pid: int, stat: "proc.Stat") -> bool:
        """Whether it has the run's id; if so, what is below the topmost one that has it is followed from now on."""
        if not proc.carries(pid, self._mark) or self._is_other(pid):
            return False
        while proc.carries(stat.parent, self._mark):
            above = proc.stat(stat.parent)
            if above is None:
                break
            pid, stat = stat.parent, above
        self._enter(pid)
        return True

    def _enter(self, root: int) -> None:
        stat = proc.stat(root)
        if stat is not None:
            self._roots[root] = stat.began

    def _is_below(self, stat: "proc.Stat") -> bool:
        while stat.parent > 1:
            if stat.parent in self._roots or stat.parent in self._alive:
                return True
            above = proc.stat(stat.parent)
            if above is None or self._is_other(stat.parent):
                return False
            stat = above
        return False

    def _is_other(self, pid: int) -> bool:
        if pid not in self._is_another:
            self._is_another[pid] = tree.supervised_by(pid) not in ("", self._run_id)
        return self._is_another[pid]


class Rarely:
    """Something dear, done the less often the more it takes: after `first_s`, then with gaps that grow."""

    def __init__(self, first_s: float, least_s: float, most_s: float) -> None:
        self._at = time.monotonic() + first_s
        self._gap_s, self._most_s = least_s, most_s

    def is_due(self) -> bool:
        """Whether it is time."""
        return time.monotonic() >= self._at

    def timed(self, do: "Callable[[], T]") -> "T":
        """Do it, and see what that takes."""
        before_s = time.process_time()
        done = do()
        self._at = time.monotonic() + max(self._gap_s, (time.process_time() - before_s) / LOOK_SHARE)
        self._gap_s = min(2 * self._gap_s, self._most_s)
        return done
