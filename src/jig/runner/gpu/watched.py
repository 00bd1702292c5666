"""The devices that a run may use, each with what is the run's and what is others'."""

import sys
import time

from jig.runner.gpu.nvml_errors import NvmlError

assert sys.platform != "win32"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

    from jig.runner.gpu.device import Device

    Owns = Callable[[int], bool]

UNKNOWN = dict.fromkeys(
    ("busy_percent", "memory_bytes", "power_w", "energy_j", "temperature_c", "sm_mhz", "memory_mhz", "throttle",
     "ours", "others")
)  # type: Dict[str, Any]  # fmt: skip


def watched(chosen: "Sequence[str]") -> "Tuple[Dict[str, Any], List[Watched], bool]":
    """A look at these devices, or at all; they themselves; and whether there may be some that cannot be seen."""
    from jig.runner.environment import has_nvidia
    from jig.runner.gpu import look

    if not has_nvidia():
        return look.look(), [], False
    since_us = int(time.time() * 1e6)
    from jig.runner.gpu.nvml import open_nvml

    try:
        nvml = open_nvml()
        watching, faults = _watch(nvml.devices(), chosen, since_us)
        report = look.ask()  # it opens the library once more, which costs nothing
    except NvmlError as error:
        told = {"driver": look.loaded_driver(), "cuda": None, "devices": []}  # type: Dict[str, Any]
        return dict(told, error=error.reason, hint=error.hint), [], True
    report["devices"] = [device for device in report["devices"] if not chosen or device["uuid"] in chosen]
    names = {device["uuid"]: device["name"] for device in report["devices"]}
    for device in watching:
        device.name = names.get(device.uuid)
    return report, watching, bool(nvml.faults or faults) and len(watching) != len(chosen)


def _watch(devices: "List[Device]", chosen: "Sequence[str]", since_us: int) -> "Tuple[List[Watched], List[NvmlError]]":
    watching, faults = [], []
    for device in devices:
        if not chosen or device.uuid in chosen:
            try:
                watching.append(Watched(device, since_us))
            except NvmlError as error:
                faults.append(error)
    return watching, faults


class Watched:
    """A device, since before the script used it."""

    def __init__(self, device: "Device", since_us: int) -> None:
        self._device, self._since_us = device, since_us
        self._tells_whose = False  # who keeps the device how busy
        self.uuid = device.uuid or ""
        self.name = None  # type: Optional[str]
        self.before_bytes = device.sample()["memory_bytes"] or 0  # type: int

    def sample(self, owns: "Owns") -> "Dict[str, Any]":
        """How it does, and what of that is the run's; `error` where it no longer tells."""
        try:
            found = self._device.sample()
            listed = self._device.processes()
            busy, self._since_us = self._device.busy_by_pid(self._since_us)
        except NvmlError as error:
            return dict(UNKNOWN, uuid=self.uuid, error=error.reason)
        if listed is None:  # then the pids of those that worked mean nothing either
            return dict(found, ours=None, others=None)
        self._tells_whose = self._tells_whose or bool(busy)
        ours = {pid: memory for pid, memory in listed if owns(pid)}
        # One that has ended since the last sample is no longer listed, and its last work is told all the same.
        worked = {pid: percent for pid, percent in busy.items() if pid in ours or (percent and owns(pid))}
        return dict(found, ours=self._ours(ours, worked), others=len(listed) - len(ours))

    def _ours(self, memory: "Dict[int, Optional[int]]", busy: "Dict[int, float]") -> "Optional[Dict[str, Any]]":
        pids = set(memory) | set(busy)
        if not pids:
            return None
        known = [value for value in memory.values() if value is not None]
        percent = min(100.0, round(sum(busy.values()), 1)) if self._tells_whose else None
        # Nobody's memory is told: the device's own has to do. Of one that has ended there is none left.
        total = None if memory and not known else sum(known)
        return {"memory_bytes": total, "busy_percent": percent, "pids": len(pids)}
