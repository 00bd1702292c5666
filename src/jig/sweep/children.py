"""The runs of a sweep as the record has them: each says in its plan which sweep and which point it belongs to."""

from __future__ import annotations

import math
import os
import time

from jig.runner import events, tree
from jig.runner.folder import Home, RunFolder, default_home
from jig.store import logged, runs
from jig.store.reserve import ON_ITS_WAY, abandoned, parse_line
from jig.store.runs import Run
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from jig.machines import Machine

DEFINITION = "sweep.yml"  # among the attachments of a sweep's own plan: the file as it was
JOURNAL = "sweep.jsonl"  # in the sweep's folder: what its program saw, in order
CONTINUES = "--sweep"
TAKING_IN_S = 15.0
GONE = Run(state="Lost", reason="supervisor-gone", why="the run was removed")


class Child(Value):
    """A run that a sweep submitted."""

    point: int
    run_id: str
    folder: RunFolder


def is_sweep(plan: Mapping[str, Any]) -> bool:
    """Whether the plan is a sweep's own, and not that of one of its runs."""
    return DEFINITION in plan.get("attachments", {})


def sweep_of(plan: Mapping[str, Any]) -> str:
    """The id of the sweep that a run is, goes on with, or belongs to; empty for others."""
    if not is_sweep(plan):
        return str(plan.get("sweep", ""))
    words = list(plan["arguments"])
    return str(words[words.index(CONTINUES) + 1] if CONTINUES in words else plan["run_id"])


def since(sweep_id: str) -> Iterator[tuple[str, str]]:
    """Id and folder of every run that was reserved after the sweep, in order."""
    home = Home(default_home())
    with open(home.order, "rb") as file:
        _, _, later = file.read().partition(f'"{sweep_id}"'.encode())
    for line in later.splitlines()[1:]:
        entry = parse_line(line)
        if entry is not None:
            yield entry[1], entry[2]


def find(sweep_id: str) -> tuple[list[Child], list[str]]:
    """The runs that a sweep submitted, in order, and the ids of the runs that go on with it."""
    found, others = [], []
    for run_id, place in since(sweep_id):
        folder = RunFolder(place)
        try:
            plan = runs.read_plan(folder)
        except (OSError, ValueError):  # removed, or not there yet
            continue
        if sweep_of(plan) != sweep_id:
            continue
        if is_sweep(plan):
            others.append(run_id)
        else:
            found.append(Child(int(plan.get("point", 0)), run_id, folder))
    return found, others


def latest(project: str | None) -> str:
    """The latest sweep, of this project or of all; empty when there is none."""
    home = Home(default_home())
    try:
        with open(home.order, "rb") as file:
            lines = file.read().splitlines()
    except FileNotFoundError:
        return ""
    for entry in map(parse_line, reversed(lines)):
        # Its own folder is here, and its id begins with the project's name.
        if entry is None or os.path.dirname(entry[2]) != home.runs:
            continue
        if project is not None and entry[1].rpartition("_")[0] != project:
            continue
        try:
            plan = runs.read_plan(RunFolder(entry[2]))
        except (OSError, ValueError):
            continue
        if is_sweep(plan) or plan.get("sweep"):
            return sweep_of(plan)
    return ""


def is_here(child: Child) -> bool:
    """Whether the run's own folder is here, and not a copy of it."""
    return os.path.dirname(os.path.dirname(child.folder.path)) != Home(default_home()).mirror


def wait_for_arrivals(sweep_id: str) -> None:
    """Wait for runs that are just being taken in here: their submit was killed, and they may come into being yet."""
    for run_id, place in since(sweep_id):
        plan = RunFolder(place).plan
        while os.path.isdir(place) and not os.path.exists(plan) and _is_being_taken_in(run_id, place):
            time.sleep(0.02)


def _is_being_taken_in(run_id: str, place: str) -> bool:
    if os.path.isdir("/proc/self"):
        return any(tree.supervised_by(int(name)) == run_id for name in os.listdir("/proc") if name.isdigit())
    try:
        return time.time() - os.stat(place).st_mtime < TAKING_IN_S
    except FileNotFoundError:
        return False


def look(child: Child, machine: Machine) -> Run | None:
    """How a run is now, as its machine tells it; None for one that never came to be. MachineError: it cannot be asked.

    Its outputs are not brought: that may take long.
    """
    run = runs.fold(events.read(child.folder.events))
    if run.final:
        return run
    if not machine.remote:
        seen = machine.ask("status", run=child.run_id)["status"]
        return GONE if seen == "absent" else runs.fold(events.read(child.folder.events))
    from jig.machines import mirror
    from jig.machines.ssh import SshMachine

    if not isinstance(machine, SshMachine):
        raise TypeError("only a machine over SSH is remote")
    if not os.path.isdir(child.folder.path):
        return GONE
    doubtful = abandoned(child.folder.path)  # asked before the machine: a submit may end in between
    if mirror.bring(machine, child.folder) == "absent":
        if not doubtful:
            return GONE
        import shutil

        shutil.rmtree(child.folder.path)
        return None
    if doubtful:
        os.unlink(os.path.join(child.folder.path, ON_ITS_WAY))
    return runs.fold(events.read(child.folder.events))


def objective_of(folder: RunFolder, metric: str) -> float | None:
    """The last value of the metric, where it is a number."""
    said = logged.read_on(folder.metrics, 0, {})[1] if os.path.exists(folder.metrics) else {}
    value = said.get("", {}).get("values", {}).get(metric)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return value if math.isfinite(value) else None
    except OverflowError:  # a whole number that no float can hold
        return None
