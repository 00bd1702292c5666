"""The keys of a `.runconfig` file that speak of GPUs: how many, whether one must be there, and what idleness means."""

from __future__ import annotations

from jig.project import keys
from jig.project.schema import Section
from jig.project.yaml import MAP
from jig.runner.gpu import VISIBLE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SAMPLING_S = 1.0
SHORTEST_SAMPLING_S, LONGEST_SAMPLING_S = 0.1, 60.0
LONGEST_IDLE_S = 30 * 86400.0
UNITS_S = {"s": 1.0, "m": 60.0, "h": 3600.0}
EXAMPLE = "IdleGpu: {warn: 2m, stop: 30m}"


def read(section: Section) -> dict[str, Any]:
    """The fields of a RunConfig that these keys give."""
    gpus, require = _count(section), bool(section.flag("RequireGpu"))
    warn_s, stop_s = _idle(section)
    every_s = _sampling(section)
    if gpus == 0 and require:
        section.fault(
            "RequireGpu", "`RequireGpu: true` beside `Gpus: 0`, which gives the run none", "remove one of them"
        )
    if gpus == 0 and (warn_s or stop_s):
        section.fault("IdleGpu", "`IdleGpu` beside `Gpus: 0`, which gives the run none", "remove one of them")
    if not every_s and (warn_s or stop_s):
        section.fault(
            "GpuSampling",
            "`GpuSampling: 0` looks at no GPU, and `IdleGpu` must know when it is idle",
            "remove one of the two",
        )
    shared = bool(section.flag("SharedGpu"))
    if shared and not gpus and (gpus == 0 or section.value("Gpus") is None):
        message = "`SharedGpu: true` does nothing without `Gpus`, which says how many the run leases"
        section.fault("SharedGpu", message, "write `Gpus: 1` too, or remove `SharedGpu`")
    if gpus is not None:
        _fault_chosen_devices(section)
    return {
        "gpus": gpus,
        "require_gpu": require,
        "idle_gpu_warn_s": warn_s,
        "idle_gpu_stop_s": stop_s,
        "shared_gpu": shared,
        "gpu_sampling_s": every_s,
    }


def _count(section: Section) -> int | None:
    text = section.text("Gpus")
    if text is None or (text.isascii() and text.isdigit() and len(text) < 4):
        return None if text is None else int(text)
    message = f"`Gpus` must be how many GPUs a run wants, a whole number, 0 or more and up to 999, but found {text!r}"
    section.fault("Gpus", message, "write, for example, `Gpus: 1`")
    return None


def _fault_chosen_devices(section: Section) -> None:
    """Notes that the file chooses devices by itself; what else is wrong with the variables is told elsewhere."""
    node = section.value("EnvironmentVariables")
    for key, _ in node.pairs() if node is not None and node.kind == MAP else ():
        if key.text == VISIBLE:
            message = f"`Gpus` sets `{VISIBLE}` to the devices that the run gets, and it is set here too"
            fix = "remove it, or remove `Gpus`: then the run has every GPU, and this variable chooses"
            section.place.fault(key.line, f"EnvironmentVariables.{VISIBLE}", message, fix)


def _idle(section: Section) -> tuple[float | None, float | None]:
    node = section.value("IdleGpu")
    if node is None:
        return None, None
    if node.kind != MAP:
        message = "`IdleGpu` must hold `warn`, `stop` or both"
        fix = f"write, for example, `{EXAMPLE}`"
        if node.is_scalar and _seconds(node.text) is not None:
            stop, warn = (f"`IdleGpu: {{{key}: {node.text}}}`" for key in ("stop", "warn"))
            fix = f"write {stop} to end the run then, {warn} to be told"
        section.fault("IdleGpu", message, fix)
        return None, None
    idle = section.section("IdleGpu", keys.IDLE_GPU)
    warn_s, stop_s = _duration(idle, "warn"), _duration(idle, "stop")
    if not idle.entries:
        section.fault("IdleGpu", "`IdleGpu` holds nothing", f"write, for example, `{EXAMPLE}`")
    if warn_s and stop_s and stop_s <= warn_s:
        message = "`stop` must be longer than `warn`: both count from the moment at which the GPU was busy last"
        idle.fault("stop", message, f"write, for example, `{EXAMPLE}`")
    return warn_s, stop_s


def _duration(section: Section, key: str) -> float | None:
    """The seconds of a key; None when it is absent."""
    text = section.text(key)
    if text is None:
        return None
    seconds = _seconds(text)
    if seconds is not None:
        return seconds
    fix = f"write, for example, `{key}: 90s`, `{key}: 2m` or `{key}: 1h`"
    if text.isascii() and text.isdigit() and int(text):
        fix = f"write `{key}: {text}s` for seconds, `{key}: {text}m` for minutes, `{key}: {text}h` for hours"
    message = f"`{key}` must be a time with its unit (s, m or h), more than 0 and up to 720h, but found {text!r}"
    section.fault(key, message, fix)
    return None


def _seconds(text: str) -> float | None:
    """Seconds of a text such as 90s, 2m or 1.5h; None when it is none, or too long."""
    number = _number(text[:-1])
    if number is None or text[-1] not in UNITS_S:
        return None
    seconds = number * UNITS_S[text[-1]]
    return seconds if 0 < seconds <= LONGEST_IDLE_S else None


def _sampling(section: Section) -> float:
    text = section.text("GpuSampling")
    number = SAMPLING_S if text is None else _number(text)
    if number is not None and (number == 0 or SHORTEST_SAMPLING_S <= number <= LONGEST_SAMPLING_S):
        return number
    message = (
        f"`GpuSampling` must be seconds between two looks at the GPU, 0.1 to 60, or 0 for none, but found {text!r}"
    )
    section.fault("GpuSampling", message, "write, for example, `GpuSampling: 5`")
    return SAMPLING_S


def _number(text: str) -> float | None:
    """A plain decimal number; no sign, no exponent, no infinity."""
    whole, _, part = text.partition(".")
    digits = whole + part
    return float(text) if whole and digits.isascii() and digits.isdigit() and len(digits) < 12 else None
