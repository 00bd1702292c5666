"""How to run on a machine: kinds of targets by the `type` of a .compute file. Pure: nothing is touched."""

from __future__ import annotations

from jig.environments import Environment
from jig.plan import Origin, Plan, Reproduces, SnapshotRef
from jig.project import ComputeTarget, RunConfig
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
    "cluster": "jig.targets.process",  # of its driver
}
# What is around the script; Python in one process needs nothing.
FRAMEWORKS = {"PySpark": "jig.targets.spark", "Distributed": "jig.targets.ranks"}


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
    """The module that plans the place of a run: a process, or a container."""
    return _module(KINDS[target.kind])


def for_run(target: ComputeTarget, config: RunConfig) -> Target:
    """The module that plans a run of this configuration there."""
    around = "Distributed" if config.distributed is not None else config.framework
    return _module(FRAMEWORKS.get(around) or KINDS[target.kind])


def _module(name: str) -> Target:
    from importlib import import_module

    module: Target = import_module(name)
    return module
