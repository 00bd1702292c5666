"""A GPU, or an instance of one in MIG mode, as NVIDIA's management library tells of it."""

import ctypes
import os
import time

from jig.runner.gpu.nvml_errors import INSUFFICIENT_SIZE, NO_FUNCTION, NOT_SUPPORTED, NvmlError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Tuple

    from jig.runner.gpu.nvml import Nvml

SM, MEMORY = 1, 2  # clocks
MEMORY_V2 = 40 | 2 << 24
# Of clocks that are slower than they could be. The first bit says that nothing runs, which slows nothing down.
REASONS = ((2, "application-clocks"), (4, "sw-power-cap"), (8, "hw-slowdown"), (16, "sync-boost"), (32, "sw-thermal"),
           (64, "hw-thermal"), (128, "hw-power-brake"), (256, "display-clocks"))  # fmt: skip
FIRST_PID_NAMESPACE = 0xEFFFFFFC
# To read its counter of energy takes a device longer than all else together; later on, power tells it well enough.
COUNTED_S, RECOUNT_S = 10.0, 30.0
HIDDEN_BYTES = 64 << 20  # more than a driver uses for itself, less than any process on a device


class _Memory(ctypes.Structure):
    _fields_ = [(name, ctypes.c_ulonglong) for name in ("total", "free", "used")]


class _Memory2(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint)] + [
        (name, ctypes.c_ulonglong) for name in ("total", "reserved", "free", "used")
    ]


class _Rates(ctypes.Structure):
    _fields_ = [("gpu", ctypes.c_uint), ("memory", ctypes.c_uint)]


class _Pci(ctypes.Structure):
    _fields_ = [("short_id", ctypes.c_char * 16), ("numbers", ctypes.c_uint * 5), ("id", ctypes.c_char * 32)]


class _Process(ctypes.Structure):
    _fields_ = [("pid", ctypes.c_uint), ("memory", ctypes.c_ulonglong), ("instances", ctypes.c_uint * 2)]


class _Use(ctypes.Structure):
    _fields_ = [("pid", ctypes.c_uint), ("time_us", ctypes.c_ulonglong), ("sm", ctypes.c_uint),
                ("others", ctypes.c_uint * 3)]  # fmt: skip


class Device:
    """A card, or an instance of one in MIG mode."""

    def __init__(self, nvml: "Nvml", handle: "ctypes.c_void_p", index: int, card: "Optional[Device]" = None) -> None:
        self._nvml, self._handle, self.index = nvml, handle, index
        self._parent = card
        self._card = card or self  # a card tells of its instances what they have in common
        uuid = nvml.text("nvmlDeviceGetUUID", handle)
        if uuid is None:  # nobody could name it
            raise NvmlError(NOT_SUPPORTED)
        self.uuid = uuid
        self._energy = _Energy()
        self._uses = 128  # how many of its notes on processes fit; more when it says so

    def mig_mode(self) -> bool:
        """Whether the card is split into instances."""
        mode, later = ctypes.c_uint(), ctypes.c_uint()
        asked = self._nvml.call("nvmlDeviceGetMigMode", self._card._handle, ctypes.byref(mode), ctypes.byref(later))
        return self._nvml.told(asked) and mode.value == 1

    def instances(self) -> "List[Device]":
        """The instances of a card in MIG mode."""
        found = []
        for number in range(self._number(ctypes.c_uint, "nvmlDeviceGetMaxMigDeviceCount") or 0):
            handle = ctypes.c_void_p()
            asked = ("nvmlDeviceGetMigDeviceHandleByIndex", self._handle, ctypes.c_uint(number), ctypes.byref(handle))
            if self._nvml.told(self._nvml.call(*asked)):
                found.append(Device(self._nvml, handle, self.index, self))
        return found

    def describe(self) -> "Dict[str, Any]":
        """What it is, and how it does at the moment."""
        card, (total, free, _) = self._card, self._memory()
        major, minor = ctypes.c_int(), ctypes.c_int()
        version = (card._handle, ctypes.byref(major), ctypes.byref(minor))
        capable = self._nvml.told(self._nvml.call("nvmlDeviceGetCudaComputeCapability", *version))
        pci = _Pci()
        placed = self._nvml.told(self._nvml.call("nvmlDeviceGetPciInfo_v3", card._handle, ctypes.byref(pci)))
        return {
            "index": self.index,
            "uuid": self.uuid,
            "name": self._nvml.text("nvmlDeviceGetName", self._handle),
            "major": major.value if capable else None,
            "minor": minor.value if capable else None,
            "memory_clock_mhz": card._clock("nvmlDeviceGetMaxClockInfo", MEMORY),
            "sm_clock_mhz": card._clock("nvmlDeviceGetMaxClockInfo", SM),
            "pci_bus_id": pci.id.decode() if placed else None,
            "memory_bytes": total,
            "free_bytes": free,
            "parent": self._parent and self._parent.uuid,
            "mig_mode": self._parent is not None,
            "ecc_errors": card._number(ctypes.c_ulonglong, "nvmlDeviceGetTotalEccErrors", 1, 0),
            "busy_percent": self._busy(),
            "power_w": self._power(),
            "temperature_c": card._number(ctypes.c_uint, "nvmlDeviceGetTemperature", 0),
        }

    def sample(self) -> "Dict[str, Any]":
        """The numbers that change; `energy_j` only grows. What a card does as a whole is not told of an instance."""
        power_w = self._power()
        return {
            "uuid": self.uuid,
            "busy_percent": self._busy(),
            "memory_bytes": self._memory()[2],
            "power_w": power_w,
            "energy_j": None if self._parent else self._energy.read(self._count_energy, power_w),
            "temperature_c": self._card._number(ctypes.c_uint, "nvmlDeviceGetTemperature", 0),
            "sm_mhz": self._card._clock("nvmlDeviceGetClockInfo", SM),
            "memory_mhz": self._card._clock("nvmlDeviceGetClockInfo", MEMORY),
            "throttle": self._card._throttle(),
        }

    def processes(self) -> "Optional[List[Tuple[int, Optional[int]]]]":
        """Processes that compute on it, with their memory in bytes; None where they are hidden."""
        found: "Dict[int, Optional[int]]" = {}
        known = False
        for name in ("nvmlDeviceGetComputeRunningProcesses", "nvmlDeviceGetMPSComputeRunningProcesses"):
            listed = self._listed(name)
            known = known or listed is not None
            for process in listed or ():
                memory = process.memory if process.memory != 2**64 - 1 else None
                found[process.pid] = max(filter(None, (found.get(process.pid), memory)), default=memory)
        if not known:
            return None
        if not _first_pid_namespace():
            # A container has process numbers of its own: there the driver names nobody, or by numbers without meaning.
            found = {pid: found[pid] for pid in found if os.path.exists("/proc/%d" % pid)}
            if not found and (self._memory()[2] or 0) > HIDDEN_BYTES:
                return None
        return sorted(found.items())

    def _listed(self, name: str) -> "Optional[List[_Process]]":
        for version in ("_v3", "_v2"):
            room = 32
            while True:
                count, buffer = ctypes.c_uint(room), (_Process * room)()
                code = self._nvml.call(name + version, self._handle, ctypes.byref(count), buffer)
                if code != INSUFFICIENT_SIZE:
                    break
                room = max(count.value, room) * 2  # more may come until the next try
            if self._nvml.told(code):
                return list(buffer[: count.value])
            if code != NO_FUNCTION:
                return None
        return None

    def busy_by_pid(self, since_us: int) -> "Tuple[Dict[int, float], int]":
        """How busy each process kept it since then, in percent, and the time of the newest figure; maybe of none."""
        while True:
            count, buffer, since = ctypes.c_uint(self._uses), (_Use * self._uses)(), ctypes.c_ulonglong(since_us)
            code = self._nvml.call("nvmlDeviceGetProcessUtilization", self._handle, buffer, ctypes.byref(count), since)
            if code != INSUFFICIENT_SIZE:
                break
            self._uses = 2 * max(self._uses, count.value)
        if not self._nvml.told(code):
            return {}, since_us
        percents: "Dict[int, List[int]]" = {}
        newest = since_us
        for use in buffer[: count.value]:
            if use.pid and use.time_us > since_us and use.sm <= 100:  # else a place that was not filled
                percents.setdefault(use.pid, []).append(use.sm)
                newest = max(newest, use.time_us)
        return {pid: sum(values) / len(values) for pid, values in percents.items()}, newest

    def _number(self, kind: "Any", name: str, *arguments: int) -> "Optional[int]":
        return self._nvml.number(kind, name, self._handle, *arguments)

    def _clock(self, name: str, which: int) -> "Optional[int]":
        return self._number(ctypes.c_uint, name, which)

    def _busy(self) -> "Optional[int]":
        rates = _Rates()
        asked = self._nvml.call("nvmlDeviceGetUtilizationRates", self._handle, ctypes.byref(rates))
        return int(rates.gpu) if self._nvml.told(asked) else None

    def _power(self) -> "Optional[float]":
        milliwatts = None if self._parent else self._number(ctypes.c_uint, "nvmlDeviceGetPowerUsage")
        return None if milliwatts is None else milliwatts / 1000

    def _count_energy(self) -> "Optional[float]":
        millijoules = self._number(ctypes.c_ulonglong, "nvmlDeviceGetTotalEnergyConsumption")
        return None if millijoules is None else millijoules / 1000

    def _memory(self) -> "Tuple[Optional[int], Optional[int], Optional[int]]":
        """Total, free and used bytes, as nvidia-smi counts them: what the driver keeps for itself is not used."""
        newer = _Memory2(version=MEMORY_V2)
        if self._nvml.told(self._nvml.call("nvmlDeviceGetMemoryInfo_v2", self._handle, ctypes.byref(newer))):
            return newer.total, newer.free, newer.used
        older = _Memory()
        if self._nvml.told(self._nvml.call("nvmlDeviceGetMemoryInfo", self._handle, ctypes.byref(older))):
            return older.total, older.free, older.used
        return None, None, None

    def _throttle(self) -> "Optional[List[str]]":
        for name in ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"):
            mask = self._number(ctypes.c_ulonglong, name)
            if mask is not None:
                return [reason for bit, reason in REASONS if mask & bit]
        return None


class _Energy:
    """A counter that is read rarely, and carried on by power in between."""

    def __init__(self) -> None:
        self._value_j: "Optional[float]" = None
        self._began_s = self._counted_s = self._read_s = time.monotonic()

    def read(self, count: "Callable[[], Optional[float]]", power_w: "Optional[float]") -> "Optional[float]":
        """The joules until now; None where the device does not count them."""
        now = time.monotonic()
        if power_w is None or now - self._began_s < COUNTED_S or now - self._counted_s > RECOUNT_S:
            counted = count()
            self._value_j = None if counted is None else max(self._value_j or 0.0, counted)
            self._counted_s = now
        elif self._value_j is not None:
            self._value_j += power_w * (now - self._read_s)
        self._read_s = now
        return self._value_j


def _first_pid_namespace() -> bool:
    try:
        return os.stat("/proc/self/ns/pid").st_ino == FIRST_PID_NAMESPACE
    except OSError:  # no such thing here, as in some sandboxes
        return False
