"""Asking about a run, and asking it to stop: the only ways back to it besides its files."""

import os
import sys
import time

from jig.runner import events, tree
from jig.runner.folder import INSIDE, Home, RunFolder
from jig.system import boot_id, end, host_name, lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List

ENDED, ALIVE, ELSEWHERE, ABSENT = "ended", "alive", "elsewhere", "absent"
LEAVES_S = 1.0


def status(home: Home, run_id: str) -> str:
    """Whether the run has ended, is alive, or belongs to another machine; a dead one is written down as lost here.

    Alive means that its supervisor holds the lock. Only who can take the dead run's lock may write for it.
    """
    folder = home.run(run_id)
    past = events.read(folder.events)
    if not past:
        return ABSENT
    if past[-1]["event"] in events.FINAL:
        return ENDED
    # On a disk that other machines see too, a lock of another machine is not for us to judge.
    if past[0].get("host") != host_name() and home.local_state() != home.path:
        return ELSEWHERE
    if not os.path.exists(folder.lock(home)) and _supervisors(past, folder.id):
        return ALIVE  # the script removed the lock; its supervisor is still at work
    try:
        descriptor = os.open(folder.lock(home), os.O_RDWR | os.O_CREAT, 0o644)
    except FileNotFoundError:
        return ABSENT
    try:
        if not lock(descriptor, wait=False):
            return ALIVE
        past = events.read(folder.events)  # it may have ended between the first look and the lock
        if past[-1]["event"] not in events.FINAL:
            _write_lost(folder, past)
        return ENDED
    finally:
        os.close(descriptor)


def _write_lost(folder: RunFolder, past: "List[Dict[str, Any]]") -> None:
    if os.path.isdir(os.path.join(folder.path, INSIDE)) and sys.platform != "win32":
        from jig.runner.container import sweep

        sweep(folder.id)
    survivors = tree.end_carriers(folder.id)
    try:
        size = os.path.getsize(folder.log)
    except FileNotFoundError:
        size = 0
    writer = events.EventWriter(folder.events, folder.reserve, seq=past[-1].get("seq", 0))
    fields = {"survivors": survivors} if survivors else {}
    rebooted = past[0].get("boot") != boot_id()
    writer.write("lost", reason="machine-restarted" if rebooted else "supervisor-gone", log_size=size, **fields)
    writer.close()


def stop(home: Home, run_id: str, grace_s: float, timeout_s: float) -> str:
    """Ask the run to end and wait for it: returns as `status` does, `alive` when the time ran out."""
    folder = home.run(run_id)
    seen = status(home, run_id)
    if seen != ALIVE:
        return seen
    aside = "%s.%d" % (folder.stop, os.getpid())
    with open(aside, "w") as file:
        file.write("%f" % grace_s)
    os.replace(aside, folder.stop)
    for pid in _supervisors(events.read(folder.events), run_id):
        end(pid)  # wakes it, so that it need not wait for its next tick
    deadline = time.monotonic() + timeout_s
    while seen == ALIVE and time.monotonic() < deadline:
        time.sleep(0.01)
        seen = status(home, run_id)
    # Its last word is written: now it goes itself, or waits for the reader of a run that is not kept.
    deadline = min(deadline, time.monotonic() + LEAVES_S)
    while _supervisors(events.read(folder.events), run_id) and time.monotonic() < deadline:
        time.sleep(0.01)
    return seen


def _supervisors(past: "List[Dict[str, Any]]", run_id: str) -> "List[int]":
    """The run's supervisor, if it is a process of this machine (or of this container)."""
    pids = [event["pid"] for event in past if event["event"] == "preparing"]
    return [pid for pid in pids if tree.supervised_by(pid) == run_id]
