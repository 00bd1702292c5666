"""A sweep as it is now, from the record: for whoever looks at it from outside."""

from __future__ import annotations

from jig.errors import MachineError, StoreError
from jig.runner import events
from jig.store import runs
from jig.store.queries import Store
from jig.store.runs import Run
from jig.sweep import children, start
from jig.sweep.policy import Try
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jig.sweep.children import Child
    from jig.sweep.definition import Sweep
    from jig.sweep.space import Point


class State(Value):
    """A sweep, its points, and the runs of each."""

    id: str
    living: str  # the run that is, or was last, at work on it
    run: Run
    sweep: Sweep
    points: tuple[Point, ...]
    tries: dict[int, list[Try]]
    known: dict[str, Run]


def gather(sweep_id: str) -> State:
    """Everything that the record has of a sweep; its runs are asked themselves where nobody else does."""
    store = Store()
    sweep = start.load(sweep_id)
    found, others = children.find(sweep_id)
    living = ([sweep_id, *others])[-1]
    run = store.find(living, None).run()
    tries: dict[int, list[Try]] = {}
    known: dict[str, Run] = {}
    for child in found:
        seen = runs.fold(events.read(child.folder.events))
        if not seen.final and (run.final or children.is_here(child)):  # else the sweep itself asks its machine
            seen = _asked(store, child) or seen
        metric = sweep.objective.metric if sweep.objective is not None else ""
        value = children.objective_of(child.folder, metric) if metric else None
        known[child.run_id] = seen
        tries.setdefault(child.point, []).append(Try(child.run_id, seen.state, seen.reason, 0.0, value))
    return State(sweep_id, living, run, sweep, sweep.points(sweep_id), tries, known)


def _asked(store: Store, child: Child) -> Run | None:
    """What the run's machine says; None when it cannot be asked, or knows of no such run."""
    try:
        return children.look(child, store.find(child.run_id, None).machine)
    except (MachineError, StoreError):
        return None
