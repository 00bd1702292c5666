"""What a person reads about GPUs: the report before a run, its waiting and idling, the proof after it."""

from __future__ import annotations

from jig.cli.terminal import human_duration
from jig.runner.gpu import NO_DRIVER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from jig.store.runs import Run

HEADINGS = {"idle": "THE GPU DID NOTHING", "not used": "NO GPU WAS USED", "no gpu": "NO GPU WAS THERE"}


def is_sampled(plan: Mapping[str, Any]) -> bool:
    """Whether a run tells of its GPUs at all; a plan of an older jig does not."""
    return bool((plan.get("gpu") or {}).get("every_s"))


def is_out_of_reach(plan: Mapping[str, Any]) -> bool:
    """Whether the run is in a container that gets none of the machine's GPUs."""
    container = plan.get("container")
    return container is not None and not container.get("gpus")


def report(look: Mapping[str, Any], asked: bool, leased: Sequence[str] = ()) -> list[str]:
    """The machine's GPUs, a block each, as the frameworks themselves put it; only those that the run leased, if any.

    A machine without a driver is worth a line only to who asked for a GPU.
    """
    devices = [device for device in look.get("devices") or () if not leased or device.get("uuid") in leased]
    if not devices:
        return nothing(look) if asked or has_driver(look) else []
    return [line for device in devices for line in _block(device, look)] + complaint(look)


def complaint(look: Mapping[str, Any]) -> list[str]:
    """What is wrong beside the devices that can be seen: one of several may be lost."""
    if not look.get("error"):
        return []
    return [f"not all is well: {look['error']}", *([f"fix: {look['hint']}"] if look.get("hint") else [])]


def nothing(look: Mapping[str, Any]) -> list[str]:
    """Why there is no GPU to tell of, and what to do."""
    if not has_driver(look):
        return ["GPU: none (no NVIDIA driver on this machine)"]
    lines = [f"GPU: none ({look.get('error') or 'the NVIDIA driver of this machine has no device'})"]
    return [*lines, f"fix: {look['hint']}"] if look.get("hint") else lines


def has_driver(look: Mapping[str, Any]) -> bool:
    """Whether there is a driver, in order or not."""
    return bool(look.get("driver") or look.get("devices") or look.get("error") not in (None, "", NO_DRIVER))


def _block(device: Mapping[str, Any], look: Mapping[str, Any]) -> list[str]:
    clock = number(device.get("memory_clock_mhz"))
    cuda = f" (CUDA {look['cuda']})" if look.get("cuda") else ""
    lines = [
        f"GPU {_or_unknown(device.get('index'))}",
        f"name: {_or_unknown(device.get('name'))}",
        f"major: {_or_unknown(device.get('major'))} minor: {_or_unknown(device.get('minor'))}"
        f" memoryClockRate (GHz) {'unknown' if clock is None else f'{clock / 1000:g}'}",
        f"pciBusID {_or_unknown(device.get('pci_bus_id'))}",
        f"Total memory: {gib(device.get('memory_bytes'))}",
        f"Free memory: {gib(device.get('free_bytes'))}",
        f"UUID: {_or_unknown(device.get('uuid'))}",
        f"driver: {_or_unknown(look.get('driver'))}{cuda}",
    ]
    if device.get("parent"):
        lines.insert(7, f"MIG instance of {device['parent']}")
    return lines


def leased(event: Mapping[str, Any]) -> str:
    """Which devices a run got: by number, those without one by name."""
    uuids, indices = event.get("uuids") or [], event.get("indices") or []
    names = [str(index) if index is not None else uuid for uuid, index in zip(uuids, indices, strict=False)] or uuids
    return f"leased GPU {', '.join(map(str, names))}"


def idle(event: Mapping[str, Any]) -> str:
    """The warning that a GPU is paid for and does nothing."""
    idle_s, stop_s = number(event.get("idle_s")) or 0.0, number(event.get("stop_s"))
    then = f"; the run is stopped when that is {whole_time(stop_s)}" if stop_s is not None else ""
    return f"WARNING: the GPU has done nothing for {whole_time(idle_s)}{then}"


def verdict(proof: Mapping[str, Any] | None) -> str:
    """What a run did with its GPU, in one line; empty when there was none to use, or nobody looked."""
    word = (proof or {}).get("verdict")
    if proof is None or word in (None, "no gpu"):
        return ""
    if word == "unknown":
        return "unknown: the driver did not tell, or the run was over too soon"
    parts = []
    if word != "not used":
        parts = [f"{_short(proof.get('gpu_s'))} GPU s, {_short(proof.get('busy_s'))} s busy"]
        parts += [
            f"{name} {_short(proof.get(key))} %" for name, key in (("mean", "mean_percent"), ("peak", "peak_percent"))
        ]
        parts.append(f"peak memory {gib(proof.get('peak_memory_bytes'))}")
        energy = number(proof.get("energy_j"))
        if energy:
            parts.append(_energy(energy))
    if proof.get("shared"):
        parts.append("shared device")
    return ": ".join(filter(None, (str(word), ", ".join(parts))))


def accusation(run: Run, width: int) -> list[str]:
    """The loud paragraph about a run that asked for a GPU and did not use it; nothing for any other."""
    if not run.cause:
        return []
    from jig.cli.terminal import printable, wrap

    heading = HEADINGS.get(str((run.proof or {}).get("verdict")), HEADINGS["not used"])
    return [heading, "=" * len(heading), *wrap(printable(run.cause.replace("\n", " ")), width)]


def number(value: Any) -> float | None:
    """A finite number of a file that anybody may have written; None when it is none."""
    plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if plain and abs(value) < 1e18 else None


def gib(count: Any) -> str:
    """Bytes as the frameworks print a GPU's memory: `11.17GiB`."""
    size = number(count)
    return "unknown" if size is None else f"{size / (1 << 30):.2f}GiB"


def whole_time(seconds: float) -> str:
    """A length of time without tenths of a second: `45 s`, `2 min 00 s`."""
    return f"{seconds:.0f} s" if seconds < 60 else human_duration(seconds)


def _short(value: Any) -> str:
    found = number(value)
    return "?" if found is None else f"{found:.1f}" if abs(found) < 100 else f"{found:.0f}"


def _energy(joules: float) -> str:
    return f"{joules:.0f} J" if joules < 10_000 else f"{joules / 3600:.1f} Wh"


def _or_unknown(value: Any) -> Any:
    return "unknown" if value is None or value == "" else value
