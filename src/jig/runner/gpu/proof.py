"""What a run did with the GPUs, added up from its samples: a pure function of them.

Between two samples all is taken to change evenly, so that busy seconds never exceed GPU seconds, nor a mean a peak.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Sequence, Tuple

BUSY_PERCENT = 1.0  # from here on a device is not idle
# A device was used when it was so busy once, or so long in all. Less is what filling memory takes, and nothing else.
USED_PERCENT, USED_S = 20.0, 0.2
LATE = 3  # gaps between samples: what a later one brings beyond that belongs to nobody
CONTEXT_BYTES = 64 << 20  # less than any framework takes on a device before it does anything; more than what drifts


class _Device:
    """The run's part of one device."""

    def __init__(self, uuid: str, name: "Optional[str]", before_bytes: int) -> None:
        self.uuid, self.name, self._before_bytes = uuid, name, before_bytes
        self._on, self._busy = False, 0.0  # at the sample before
        self._was_doubtful = False  # something worked here, before the run's memory was seen
        self._counter_j = None  # type: Optional[float]
        self.gpu_s = self.busy_s = 0.0
        self.energy_j = 0.0  # type: Optional[float]
        self.seen = self.shared = self.is_lost = self.is_doubtful = False
        self.memory_bytes = self.peak_memory_bytes = 0
        self.peak_percent = None  # type: Optional[float]

    def add(self, gpu: "Dict[str, Any]", dt_s: float) -> bool:
        """Take in what one sample says; whether the device is busy for the run, as far as can be told."""
        on, percent, self.memory_bytes, alone = self._judge(gpu)
        busy = min(100.0, percent or 0.0) / 100 if on else 0.0
        share = (self._on + on) / 2
        self.gpu_s += dt_s * share
        self.busy_s += dt_s * (self._busy + busy) / 2
        self._add_energy(gpu.get("energy_j"), share)
        self._on, self._busy = on, busy
        if on:
            self.seen = True
            self.peak_memory_bytes = max(self.peak_memory_bytes, self.memory_bytes)
            if percent is not None:
                self.peak_percent = max(self.peak_percent or 0.0, busy * 100)
        self.shared = self.shared or not alone
        hidden = gpu["ours"] is None and gpu["others"] is None
        self.is_lost = hidden and gpu["memory_bytes"] is None
        works = hidden and (percent or 0.0) >= BUSY_PERCENT  # for whom, nobody can tell
        self._was_doubtful = self._was_doubtful or (works and not on)
        self.is_doubtful = works or self._was_doubtful
        return works or busy * 100 >= BUSY_PERCENT or (on and percent is None)

    def _judge(self, gpu: "Dict[str, Any]") -> "Tuple[bool, Optional[float], int, bool]":
        """Whether the run is on the device, how busy that is in percent, its memory, and whether it is there alone."""
        ours, others, used = gpu["ours"], gpu["others"], gpu["memory_bytes"]
        if used is not None:  # others may have left since
            self._before_bytes = min(self._before_bytes, used)
        grown = max(0, (used or 0) - self._before_bytes)
        if ours is None:
            # Where processes are hidden, what the device holds more than before is taken for the run's.
            on = others is None and grown >= CONTEXT_BYTES
            return on, gpu["busy_percent"], grown if on else 0, others is not None or used is None
        memory = grown if ours["memory_bytes"] is None else ours["memory_bytes"]
        percent, whole = ours["busy_percent"], gpu["busy_percent"]
        if percent is None or (others == 0 and whole is not None and whole > percent):
            percent = whole
        return True, percent, memory, others == 0

    def _add_energy(self, counter_j: "Optional[float]", share: float) -> None:
        before, self._counter_j = self._counter_j, counter_j
        if not share or self.energy_j is None:
            return
        if counter_j is None:
            self.energy_j = None
        elif before is not None:
            self.energy_j += max(0.0, counter_j - before) * share

    def leave(self) -> None:
        """A sample says nothing of this device."""
        self._on, self._busy, self._counter_j, self.memory_bytes, self.is_lost = False, 0.0, None, 0, True

    def value(self) -> "Dict[str, Any]":
        return {
            "uuid": self.uuid,
            "name": self.name,
            "peak_memory_bytes": self.peak_memory_bytes,
            "peak_percent": _round(self.peak_percent),
            "busy_s": round(self.busy_s, 3),
        }


class Proof:
    """Adds samples up.

    `devices` have uuid, name, and the bytes that were used before the script; `is_blind`: there may be more of them;
    `every_s` is the gap that samples are meant to have, now.
    """

    def __init__(
        self, devices: "Sequence[Tuple[str, Optional[str], int]]" = (), is_blind: bool = False, every_s: float = 1.0
    ) -> None:
        self.every_s = every_s
        self._devices = [_Device(*device) for device in devices]
        self._is_blind = is_blind
        self._samples = 0
        self._has_lived = False  # in any sample
        self._idle_s = 0.0
        self._peak_memory_bytes = 0
        self._cpu_s = None  # type: Optional[float]
        self._peak_rss_bytes = None  # type: Optional[int]

    def add(self, sample: "Dict[str, Any]", dt_s: float) -> None:
        """Take in a sample, `dt_s` after the one before it."""
        dt_s = min(dt_s, LATE * self.every_s)
        self._samples += 1
        self._has_lived = self._has_lived or sample["processes"] != 0
        if sample["cpu_s"] is not None:
            self._cpu_s = sample["cpu_s"]
        if sample["memory_bytes"] is not None:
            self._peak_rss_bytes = max(self._peak_rss_bytes or 0, sample["memory_bytes"])
        gpus = {gpu["uuid"]: gpu for gpu in sample["gpus"]}
        busy = False
        for device in self._devices:
            if device.uuid in gpus:
                busy = device.add(gpus[device.uuid], dt_s) or busy
            else:
                device.leave()
        if busy:
            self._idle_s = 0.0
        elif not any(device.is_lost for device in self._devices):  # one that does not answer may be busy
            self._idle_s += dt_s
        self._peak_memory_bytes = max(self._peak_memory_bytes, sum(device.memory_bytes for device in self._devices))

    def value(self) -> "Dict[str, Any]":
        """The proof so far."""
        used = [device for device in self._devices if device.seen]
        gpu_s, busy_s = sum(device.gpu_s for device in used), sum(device.busy_s for device in used)
        peak = _highest([device.peak_percent for device in used])
        mean = min(peak, 100 * busy_s / gpu_s) if gpu_s and peak is not None else None
        return {
            "verdict": self._verdict(used),
            "shared": any(device.shared for device in self._devices),
            "gpu_s": round(gpu_s, 3),
            "busy_s": round(busy_s, 3),
            "mean_percent": _round(mean),
            "peak_percent": _round(peak),
            "peak_memory_bytes": self._peak_memory_bytes,
            "energy_j": _round(_energy_j(used)),
            "idle_s": round(self._idle_s, 3),
            "devices": [device.value() for device in self._devices],
            "samples": self._samples,
            "cpu_s": self._cpu_s,
            "peak_rss_bytes": self._peak_rss_bytes,
        }

    def _verdict(self, used: "List[_Device]") -> str:
        if any((device.peak_percent or 0.0) >= USED_PERCENT or device.busy_s >= USED_S for device in used):
            return "used"
        if self._is_blind or any(device.peak_percent is None for device in used):
            return "unknown"
        if not self._devices:
            return "no gpu"
        if not self._has_lived or any(device.is_lost or device.is_doubtful for device in self._devices):
            return "unknown"
        return "idle" if used else "not used"


def _energy_j(used: "List[_Device]") -> "Optional[float]":
    """Of all devices that the run was on; of one that others were on too, nobody can tell whose it was."""
    found = [device.energy_j for device in used if not device.shared]
    known = [joules for joules in found if joules is not None]
    return sum(known) if used and len(known) == len(used) else None


def _highest(values: "List[Optional[float]]") -> "Optional[float]":
    known = [value for value in values if value is not None]
    return max(known) if known else None


def _round(value: "Optional[float]") -> "Optional[float]":
    return None if value is None else round(value, 1)
