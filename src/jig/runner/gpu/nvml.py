"""NVIDIA's management library, by the functions that jig asks; what a device or a driver does not tell is None.

A call may hang for as long as the driver does: only a process that may be killed loads this.
"""

import ctypes

from jig.runner.gpu.device import Device
from jig.runner.gpu.nvml_errors import NO_FUNCTION, NO_INSTANCE, NO_LIBRARY, NO_PERMISSION, UNTOLD, NvmlError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional

PLACES = ("libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1")  # the second is where Windows puts it, inside WSL
TEXT_BYTES = 96


def open_nvml() -> "Nvml":
    """Load the library and start it; NvmlError says why that fails."""
    for place in PLACES:
        try:
            library = ctypes.CDLL(place)
        except OSError:
            continue
        return Nvml(library)
    raise NvmlError(NO_LIBRARY)


class Nvml:
    """The library, started."""

    def __init__(self, library: "ctypes.CDLL") -> None:
        self._library = library
        self._functions: "Dict[str, Any]" = {}
        self.faults: "List[NvmlError]" = []
        self.need(self.call("nvmlInit_v2"))

    def call(self, name: str, *arguments: "Any") -> int:
        """The code that the function returns; NO_FUNCTION where the library is too old to have it."""
        if name not in self._functions:
            self._functions[name] = getattr(self._library, name, None)
        function = self._functions[name]
        return NO_FUNCTION if function is None else int(function(*arguments))

    def need(self, code: int) -> None:
        """Go on where the call succeeded."""
        if code:
            said = getattr(self._library, "nvmlErrorString", None)
            if said is not None:
                said.restype = ctypes.c_char_p
            raise NvmlError(code, (said(code) or b"").decode(errors="replace") if said is not None else "")

    def told(self, code: int) -> bool:
        """Whether a call gave its value; an error when it failed for another reason than not knowing it."""
        if code and code not in UNTOLD:
            self.need(code)
        return not code

    def text(self, name: str, *arguments: "Any") -> "Optional[str]":
        """What a function wrote into its last argument but one."""
        buffer = ctypes.create_string_buffer(TEXT_BYTES)
        said = self.told(self.call(name, *(arguments + (buffer, ctypes.c_uint(TEXT_BYTES)))))
        return buffer.value.decode(errors="replace") if said else None

    def number(self, kind: "Any", name: str, *arguments: "Any") -> "Optional[int]":
        """What a function wrote into its last argument."""
        found = kind()
        return int(found.value) if self.told(self.call(name, *(arguments + (ctypes.byref(found),)))) else None

    def driver(self) -> "Optional[str]":
        """The driver's version."""
        return self.text("nvmlSystemGetDriverVersion")

    def cuda(self) -> "Optional[str]":
        """The newest CUDA that the driver knows."""
        number = self.number(ctypes.c_int, "nvmlSystemGetCudaDriverVersion_v2")
        return None if number is None else "%d.%d" % (number // 1000, number % 1000 // 10)

    def devices(self) -> "List[Device]":
        """Every device that this process may use, a card in MIG mode replaced by its instances.

        `faults` then has the error of each that fails; the others are there.
        """
        found: "List[Device]" = []
        self.faults, index = [], 0
        for position in range(self.number(ctypes.c_uint, "nvmlDeviceGetCount_v2") or 0):
            handle = ctypes.c_void_p()
            code = self.call("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(position), ctypes.byref(handle))
            if code == NO_PERMISSION:  # kept from us by whoever started us; CUDA does not count it either
                continue
            try:
                self.need(code)
                card = Device(self, handle, index)
                found += self._instances(card) if card.mig_mode() else [card]
            except NvmlError as error:
                self.faults.append(error.about(index))
            index += 1
        return found

    def _instances(self, card: Device) -> "List[Device]":
        found = card.instances()
        if not found:
            raise NvmlError(NO_INSTANCE)
        return found
