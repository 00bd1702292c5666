"""An interpreter that is there already, with whatever its owner installed."""

from __future__ import annotations

from jig.environments import Environment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jig.project import ComputeTarget, CondaSpec


def decide(target: ComputeTarget, conda: CondaSpec, prepare: bool, root: str = "") -> Environment:
    """The target's own interpreter; the conda file has no say."""
    return Environment("user", python=target.python_location, prepare=prepare)
