"""How to run on a machine: kinds of targets by the `type` of a .compute file. Pure: nothing is touched."""

from __future__ import annotations

from jig.environments import Environment
from jig.errors import JigError
from jig.plan import Origin, Plan, Reproduces, SnapshotRef
from jig.project import ComputeTarget
from jig.spec import RunSpec
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object  # `typing` costs 3 ms to import

KINDS = {
    "local": "jig.targets.process",
    "remote": "jig.targets.process",
    "localdocker": "jig.targets.container",
    "remotedocker": "jig.targets.container",
}


class Ticket(Value):
    """What was reserved for a run before it is planned."""

    run_id: str
    number: int
    created: float
    user: str
    parent_run_id: str = ""
    sweep: str = ""
    reproduces: Reproduces | None = None
    point: int = 0


class Given(Value):
    """Everything that a plan is made of; `attachments` are further blobs of the record, by name."""

    spec: RunSpec
    snapshot: SnapshotRef
    environment: Environment
    ticket: Ticket
    origin: Origin = Origin()
    attachments: tuple[tuple[str, str], ...] = ()


class Target(Protocol):
    """One kind of target: turns what is wanted into a plan."""

    def plan(self, given: Given) -> Plan:
        """The whole plan; pure."""


def for_kind(target: ComputeTarget) -> Target:
    """The module that plans for this kind of compute target."""
    from importlib import import_module

    if target.kind not in KINDS:
        raise JigError(
            f"the target {target.name} is of type {target.kind}, which this version of jig does not run yet",
            f"types that run: {', '.join(sorted(KINDS))}",
        )
    module: Target = import_module(KINDS[target.kind])
    return module
