"""Ending a process tree, and making sure that it ended."""

import os
import signal
import time

from jig.system import carriers, descendants

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterable, List, Set

GIVE_UP_S = 30.0  # a process that survives KILL this long hangs in the kernel; it is named, not waited for
RUN_VARIABLE = "JIG_RUN_ID"


def reap() -> bool:
    """Take in every child that has ended; False when there are no children left at all."""
    try:
        while True:
            pid, _ = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return True
    except ChildProcessError:
        return False


def send(pids: "Iterable[int]", number: int) -> "Set[int]":
    """Signal each; returns those that are not ours to signal."""
    denied = set()
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue
        except PermissionError:
            denied.add(pid)
    return denied


def end_below(root: int, grace_s: float) -> "List[int]":
    """End every descendant of this process: TERM, `grace_s`, KILL, until a look at the process table finds none.

    Returns those that would not die.
    """
    start = time.monotonic()
    asked = set()  # type: Set[int]
    while reap():
        left = descendants(root)
        waited = time.monotonic() - start
        if waited < grace_s:
            fresh = [pid for pid in left if pid not in asked]
            send(fresh, signal.SIGTERM)
            send(fresh, signal.SIGCONT)  # a stopped process could not even hear the first
            asked.update(fresh)
        else:
            denied = send(left, signal.SIGKILL)
            if left and (denied >= set(left) or waited - grace_s > GIVE_UP_S):
                return left
        time.sleep(0.002 if waited < 0.1 else 0.02)
    return []


def end_carriers(run_id: str) -> "List[int]":
    """Kill whatever still carries the run's id in its environment; returns those that would not die."""
    start = time.monotonic()
    while True:
        left = carriers(RUN_VARIABLE, run_id)
        if not left:
            return []
        denied = send(left, signal.SIGKILL)
        if denied >= set(left) or time.monotonic() - start > GIVE_UP_S:
            return left
        time.sleep(0.01)
