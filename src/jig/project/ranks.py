"""The keys of a `.runconfig` file that make a run several processes: how many, and how they exchange gradients."""

from __future__ import annotations

from jig.project import keys
from jig.project.schema import Section
from jig.project.yaml import MAP
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

GPUS = "gpus"  # one process for each device that the run sees
MOST_PROCESSES = 1024
MOST_RESTARTS = 1000
MOST_STEPS = 10**9
SMALLEST_BLOCK, LARGEST_BLOCK = 128, 16384
BLOCK = 2048
EXAMPLE = "Distributed: {processes: 4}"
COMPRESSED = "GradientCompression: {kind: onebit, warmup_steps: 200}"


class Distributed(Value):
    """A run of several processes; `processes` is their number, or 0 for one on each GPU that the run sees."""

    processes: int
    restarts: int = 0  # of all of them, when one fails
    backend: str = "auto"


class Compression(Value):
    """How gradients are packed before they go to the other processes."""

    kind: str
    warmup_steps: int = 0  # in full precision, before
    block: int = BLOCK  # so many numbers have a pair of means


def of_plan(ranks: dict[str, Any] | None) -> dict[str, Any]:
    """The same fields as `read`, of a run that was planned."""
    if not ranks:
        return {"distributed": None, "compression": None}
    told = ranks.get("compression") or {}
    return {
        "distributed": Distributed(int(ranks["processes"]), int(ranks["restarts"]), str(ranks["backend"])),
        "compression": Compression(**told) if told else None,
    }


def read(section: Section) -> dict[str, Any]:
    """The fields of a RunConfig that these keys give."""
    distributed, compression = _distributed(section), _compression(section)
    if distributed is not None:
        if section.text("Framework") in (None, "PySpark"):
            is_default = section.value("Framework") is None
            said = "this run's framework is PySpark" + (", as it is where none is named" if is_default else "")
            fix = "write `Framework: Python` too" if is_default else "remove one of them: Spark has its own processes"
            section.fault("Distributed", f"`Distributed` starts a Python script several times, and {said}", fix)
        if distributed.processes == 0 and section.text("Gpus") == "0":
            message = "`processes: gpus` beside `Gpus: 0`, which gives the run none"
            section.fault("Distributed", message, "write how many processes: `Distributed: {processes: 4}`")
    if compression is not None and distributed is None and section.value("Distributed") is None:
        section.fault(
            "GradientCompression",
            "`GradientCompression` packs what several processes send each other, and this run is one process",
            "write `Distributed: {processes: gpus}` too; a script that starts its processes by itself calls "
            "`onebit.attach(model)`",
        )
    return {"distributed": distributed, "compression": compression}


def _distributed(section: Section) -> Distributed | None:
    node = section.value("Distributed")
    if node is None:
        return None
    if node.kind != MAP:
        fix = f"write, for example, `{EXAMPLE}`"
        if node.is_scalar and (node.text == GPUS or _number(node.text, MOST_PROCESSES)):
            fix = f"write `Distributed: {{processes: {node.text}}}`"
        section.fault("Distributed", "`Distributed` must hold `processes`, and may hold more keys", fix)
        return None
    inside = section.section("Distributed", keys.DISTRIBUTED)
    text = inside.text("processes")
    processes = 0 if text in (None, GPUS) else _number(text or "", MOST_PROCESSES)
    if text is None and "processes" not in inside.entries:
        section.fault(
            "Distributed", "`Distributed` does not say how many `processes`", f"write, for example, `{EXAMPLE}`"
        )
    elif text is None or processes is None or (processes == 0 and text != GPUS):
        message = f"`processes` must be a number from 1 to {MOST_PROCESSES}, or `gpus`, but found {text!r}"
        inside.fault(
            "processes", message, "write `processes: gpus` for one on each GPU, or, for example, `processes: 4`"
        )
    nodes = _whole(inside, "nodes", 1, MOST_PROCESSES, "`nodes: 1`, or remove it")
    if nodes is not None and nodes != 1:
        message = f"`nodes: {nodes}`: a run has its processes on one machine"
        inside.fault("nodes", message, "remove it, and write as `processes` how many there are on that machine")
    restarts = _whole(inside, "restarts", 0, MOST_RESTARTS, "`restarts: 3`")
    backend = inside.choice("backend", keys.BACKENDS)
    return Distributed(processes or 0, restarts or 0, backend or "auto")


def _compression(section: Section) -> Compression | None:
    node = section.value("GradientCompression")
    if node is None:
        return None
    if node.kind != MAP:
        kind = section.choice("GradientCompression", keys.COMPRESSIONS)
        return None if kind in (None, "none") else Compression(kind)
    inside = section.section("GradientCompression", keys.COMPRESSION)
    kind = inside.choice("kind", keys.COMPRESSIONS)
    if kind is None and "kind" not in inside.entries:
        section.fault(
            "GradientCompression",
            "`GradientCompression` does not say which `kind`",
            f"write, for example, `{COMPRESSED}`",
        )
    steps = _whole(inside, "warmup_steps", 0, MOST_STEPS, "`warmup_steps: 200`")
    block = _whole(inside, "block", SMALLEST_BLOCK, LARGEST_BLOCK, f"`block: {BLOCK}`")
    if block is not None and block & (block - 1):
        message = f"`block` must be a power of two, so that it fills words, but found {block}"
        inside.fault("block", message, f"write `block: {1 << (block.bit_length() - 1)}`")
    if kind == "fp16" and block is not None:
        inside.fault("block", "`block` belongs to `onebit`: half precision has no blocks", "remove it")
    return None if kind in (None, "none") else Compression(kind, steps or 0, block or BLOCK)


def _whole(section: Section, key: str, least: int, most: int, example: str) -> int | None:
    """The whole number of a key; None when it is absent, or none."""
    text = section.text(key)
    if text is None:
        return None
    number = _number(text, most)
    if number is not None and number >= least:
        return number
    section.fault(
        key,
        f"`{key}` must be a whole number from {least} to {most}, but found {text!r}",
        f"write, for example, {example}",
    )
    return None


def _number(text: str, most: int) -> int | None:
    is_one = text.isascii() and text.isdigit() and len(text) < 11 and int(text) <= most
    return int(text) if is_one else None
