"""Ending a process tree, and making sure that it ended."""

import os
import time

from jig.system import carriers, command_line, descendants, end, kill, reap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List, Set

GIVE_UP_S = 30.0  # a process that survives KILL this long hangs in the kernel; it is named, not waited for
RUN_VARIABLE = "JIG_RUN_ID"


def supervised_by(pid: int) -> str:
    """The id of the run that this process supervises, by its command line; empty when it is something else."""
    words = command_line(pid)[-3:]
    is_one = len(words) == 3 and words[0].endswith("runner/__main__.py") and words[1] == "supervise"
    return words[2] if is_one else ""


def _is_another_run(pid: int) -> bool:
    """A run that was submitted from within this one is not part of it."""
    return supervised_by(pid) not in ("", os.environ.get(RUN_VARIABLE))


def end_below(root: int, grace_s: float) -> "List[int]":
    """End every descendant of this process: TERM, `grace_s`, KILL, until a look at the process table finds none.

    What one that was asked starts then, to tidy up after itself, is not asked: it has the rest of the time.
    Returns those that would not die.
    """
    start = time.monotonic()
    asked: "Set[int]" = set()
    calm = 0
    while reap():
        left = descendants(root, spare=_is_another_run)
        waited = time.monotonic() - start
        if waited < grace_s:
            fresh = descendants(root, spare=lambda pid: pid in asked or _is_another_run(pid)) if asked else left
            for pid in fresh:
                end(pid)
            asked.update(fresh)
        elif left:
            ours = [pid for pid in left if kill(pid)]
            if not ours or waited - grace_s > GIVE_UP_S:
                return left
        # Children that stay although nobody is to be ended are other runs; one look may miss who forks right then.
        calm = 0 if left else calm + 1
        if calm > 2:
            return []
        time.sleep(0.002 if waited < 0.1 else 0.02)
    return []


def end_carriers(run_id: str, variable: str = RUN_VARIABLE, give_up_s: float = GIVE_UP_S) -> "List[int]":
    """Kill whatever still carries the run's id in its environment; returns those that would not die."""
    start = time.monotonic()
    while True:
        left = carriers(variable, run_id)
        if not left:
            return []
        ours = [pid for pid in left if kill(pid)]
        if not ours or time.monotonic() - start > give_up_s:
            return left
        time.sleep(0.01)
