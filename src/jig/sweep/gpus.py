"""How many runs of a configuration a machine's free GPUs are enough for."""

from __future__ import annotations

from jig.errors import MachineError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from jig.machines import Machine
    from jig.project import RunConfig


def room(machine: Callable[[], Machine], config: RunConfig) -> int:
    """As many runs as there are devices for now; one where none are asked for, or nobody can tell."""
    if not config.gpus:
        return 1
    try:
        found = machine().ask("gpu")
    except MachineError:  # the submit that follows tells
        return 1
    held = {uuid for holder in found["holders"] if not holder["waiting"] for uuid in holder["uuids"] or ()}
    free = [device for device in found["look"]["devices"] if _is_free(device, held, config.shared_gpu)]
    return max(1, len(free) // config.gpus)


def _is_free(device: Mapping[str, Any], held: set[str], shared: bool) -> bool:
    from jig.runner.gpu.lease_rules import used_by

    return device["uuid"] not in held and device["parent"] not in held and (shared or not used_by(device, ""))  # type: ignore[arg-type]
