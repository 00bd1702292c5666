"""Ending the runs of a sweep: all are told first, then they are waited for, so that none need wait for another."""

from __future__ import annotations

import time

from jig.errors import MachineError
from jig.runner import events
from jig.store import runs
from jig.sweep import children
from jig.sweep.children import Child

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jig.machines import Machine

EVERY_S = 0.05
FAR_EVERY_S = 0.5
AWAY_S = 5.0  # a machine that cannot be reached is not waited for: the wish to end is written down


def tell(going: Sequence[Child], machine_of: Callable[[Child], Machine], grace_s: float) -> None:
    """Ask runs to end, without waiting for that; where their machine cannot be reached, with the next contact."""
    from jig.machines import mirror

    away = False  # they are all on one machine: one that did not answer is not asked again for each of them
    for child in going:
        machine = machine_of(child)
        try:
            if not away:
                machine.ask("stop", run=child.run_id, grace_s=grace_s, timeout_s=0.0)
        except MachineError:
            if not machine.remote:
                raise
            away = True
        if away:
            mirror.wish(child.folder, grace_s)


def end(
    going: Sequence[Child],
    machine_of: Callable[[Child], Machine],
    grace_s: float,
    limit_s: float,
    say: Callable[[Child, str], None],
) -> list[Child]:
    """End these runs, in order, and wait until they have ended; returns those of which that cannot be told in time."""
    left = [child for child in going if not runs.fold(events.read(child.folder.events)).final]
    tell(left, machine_of, grace_s)
    began = time.monotonic()
    while left:
        trouble, wait_s = "it goes on", limit_s
        for child in list(left):
            try:
                run = children.look(child, machine_of(child))
            except MachineError as error:
                trouble, wait_s = f"{error.message}; it ends with the next contact", AWAY_S
                break  # the others are there too
            if run is None or run.final:
                left.remove(child)
                say(child, run.state if run is not None else "never began")
        if left and time.monotonic() - began >= wait_s:
            for child in left:
                say(child, f"has not ended yet: {trouble}")
            return left
        if left:
            time.sleep(FAR_EVERY_S if machine_of(left[0]).remote else EVERY_S)
    return []
