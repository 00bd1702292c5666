"""Curves of what a run used: `system.jsonl`, a sample a second of GPU, processor and memory."""

from __future__ import annotations

from array import array

from jig.runner.quick_json import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

GIB = float(1 << 30)
# What can be drawn: of each GPU a key and what one of its units is, of the run as a whole likewise.
OF_A_GPU = {
    "gpu_busy": ("busy_percent", 1.0),
    "gpu_memory": ("memory_bytes", GIB),
    "gpu_power": ("power_w", 1.0),
    "gpu_temperature": ("temperature_c", 1.0),
}
UNITS = {
    "gpu_busy": "%", "gpu_memory": "GiB", "gpu_power": "W", "gpu_temperature": "°C", "cpu": "%", "memory": "GiB",
}  # fmt: skip
NAMES = tuple(UNITS)


def read(path: str, name: str) -> dict[str, tuple[array[float], array[float]]]:
    """Times and values by device, for what a run uses as a whole under an empty name."""
    found: dict[str, tuple[array[float], array[float]]] = {}
    before = None
    for sample in _samples(path):
        for device, value in _values(sample, name, before).items():
            times, values = found.setdefault(device, (array("d"), array("d")))
            times.append(sample["time"])
            values.append(value)
        before = sample
    return found


def _values(sample: dict[str, Any], name: str, before: dict[str, Any] | None) -> dict[str, float]:
    if name == "memory":
        return _one("", sample.get("memory_bytes"), GIB)
    if name == "cpu":
        now, then = sample.get("cpu_s"), (before or {}).get("cpu_s")
        passed = sample["time"] - before["time"] if before else 0.0
        if passed <= 0 or not isinstance(now, (int, float)) or not isinstance(then, (int, float)):
            return {}
        return {"": 100.0 * (now - then) / passed}
    key, unit = OF_A_GPU[name]
    devices = sample.get("gpus")
    values: dict[str, float] = {}
    for device in devices if isinstance(devices, list) else ():
        if isinstance(device, dict):
            values.update(_one(str(device.get("uuid", "")), device.get(key), unit))
    return values


def _one(device: str, value: object, unit: float) -> dict[str, float]:
    return {device: value / unit} if isinstance(value, (int, float)) else {}


def _samples(path: str) -> Iterator[dict[str, Any]]:
    """Every whole sample; torn lines are left out."""
    try:
        file = open(path, "rb")
    except FileNotFoundError:
        return
    with file:
        for line in file:
            try:
                sample = loads(line) if line.endswith(b"\n") else None
            except (ValueError, RecursionError):
                continue
            if isinstance(sample, dict) and isinstance(sample.get("time"), (int, float)):
                yield sample
