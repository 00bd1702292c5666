"""Everything that a run logged, point by point, as it stands in its files."""

from __future__ import annotations

import os

from jig.runner.folder import RunFolder
from jig.runner.quick_json import loads
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

SYSTEM = "system.jsonl"
SYSTEM_NAMES = ("cpu_s", "memory_bytes", "processes", "read_bytes", "written_bytes")
GPU_NAMES = ("busy_percent", "memory_bytes", "power_w", "temperature_c", "sm_mhz", "memory_mhz")


class Point(Value):
    """One value that was logged."""

    name: str
    step: int | float  # the number of points of this name before it, where none was given
    time: float
    value: Any


def files(folder: RunFolder) -> dict[int, str]:
    """The metrics files of a run by rank, rank 0 first."""
    found = {}
    for name in os.listdir(folder.path) if os.path.isdir(folder.path) else []:
        start, _, rank = name.removesuffix(".jsonl").partition(".")
        if start == "metrics" and name.endswith(".jsonl") and (not rank or (rank.isascii() and rank.isdigit())):
            found[int(rank or 0)] = name
    return dict(sorted(found.items()))


def read(folder: RunFolder, file: str, run: str = "") -> Iterator[Point]:
    """The points of one file in their order, of the run itself or of a run nested in it."""
    counts: dict[str, int] = {}
    for entry in _entries(os.path.join(folder.path, file)):
        values = entry.get("values")
        if not isinstance(values, dict) or _run_of(entry) != run:
            continue
        time, step = finite(entry.get("time")), finite(entry.get("step"))
        for name, value in values.items():
            count = counts.get(name, 0)
            if is_number(value):
                counts[name] = count + 1
            yield Point(name, count if step is None else step, time or 0.0, value)


def _run_of(entry: dict[str, Any]) -> str:
    run = entry.get("run", "")
    return run if isinstance(run, str) else ""


def is_number(value: Any) -> bool:
    """Whether a series can hold it: true and false are 1 and 0."""
    return isinstance(value, (int, float))


def finite(value: Any) -> int | float | None:
    """The number, None for what is no number or not a finite one."""
    if not isinstance(value, (int, float)) or value != value or abs(value) == float("inf"):
        return None
    return value


def system(folder: RunFolder) -> Iterator[Point]:
    """What the sampler saw, as points: `cpu_s`, `memory_bytes`, `gpu_0_busy_percent` and so on."""
    devices: dict[str, int] = {}
    for count, entry in enumerate(_entries(os.path.join(folder.path, SYSTEM))):
        time = finite(entry.get("time")) or 0.0
        seen = [(name, entry.get(name)) for name in SYSTEM_NAMES]
        for gpu in entry.get("gpus") or ():
            place = devices.setdefault(str(gpu.get("uuid")), len(devices))
            seen += [(f"gpu_{place}_{name}", gpu.get(name)) for name in GPU_NAMES]
            ours = gpu.get("ours") or {}
            seen += [(f"gpu_{place}_ours_{name}", ours.get(name)) for name in ("busy_percent", "memory_bytes")]
        for name, value in seen:
            if is_number(value):
                yield Point(name, count, time, value)


def devices(folder: RunFolder) -> list[str]:
    """The UUIDs of the GPUs, in the order of their numbers in `system`."""
    found: dict[str, None] = {}
    for entry in _entries(os.path.join(folder.path, SYSTEM)):
        found.update(dict.fromkeys(str(gpu.get("uuid")) for gpu in entry.get("gpus") or ()))
    return list(found)


def _entries(path: str) -> Iterator[dict[str, Any]]:
    """The whole lines of a file; what a kill or a full disk tore is left out."""
    try:
        file = open(path, "rb")
    except FileNotFoundError:
        return
    with file:
        for line in file:
            if not line.endswith(b"\n"):
                return
            try:
                entry = loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(entry, dict):
                yield entry
