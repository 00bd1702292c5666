"""What conda must know of a machine before it can choose packages for it: the platform and the virtual packages."""

import os
import sys

from jig.runner.environment import libc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Optional

# conda's word for a processor, by the kernel's.
_MACHINES = {"x86_64": "64", "amd64": "64", "i686": "32", "i586": "32", "armv7l": "armv7l", "arm64": "arm64"}
_LIBCUDA = ("libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1")  # the second is where Windows puts it, inside WSL
# The levels of the x86-64 processor, each with what the kernel calls its new instructions.
_LEVELS = (
    ("x86_64_v2", "cx16 lahf_lm popcnt sse4_1 sse4_2 ssse3"),
    ("x86_64_v3", "abm avx avx2 bmi1 bmi2 f16c fma movbe xsave"),
    ("x86_64_v4", "avx512f avx512bw avx512cd avx512dq avx512vl"),
)


def machine_platform(c_library: "Optional[str]" = None, driver: bool = True) -> "Dict[str, Any]":
    """The platform and the virtual packages of this machine, by name, as `version` or `version=build`.

    In a container the C library is another one, and without `driver` no GPU is to be seen.
    """
    found = {"__unix": "0", "__archspec": "1=" + _level()}
    if sys.platform == "darwin":
        import platform

        found["__osx"] = platform.mac_ver()[0]
    elif sys.platform != "win32":
        name, _, version = (libc() if c_library is None else c_library).partition(" ")
        found["__linux"] = _version(os.uname().release)
        found["__glibc"] = version if name == "glibc" else ""
        found["__cuda"] = _cuda() if driver else ""
    return {"platform": conda_platform(), "virtual": _overridden(found)}


def conda_platform() -> str:
    """This machine's platform as conda calls it, such as `linux-64`."""
    machine = _machine()
    return {"darwin": "osx-", "win32": "win-"}.get(sys.platform, "linux-") + _MACHINES.get(machine, machine)


def _machine() -> str:
    if sys.platform == "win32":
        return "x86_64"
    machine = os.uname().machine
    # A system of 32 bits may run on a kernel of 64.
    return "i686" if machine == "x86_64" and sys.maxsize < 2**32 else machine


def _overridden(found: "Dict[str, str]") -> "Dict[str, str]":
    """Heed what conda heeds: CONDA_OVERRIDE_CUDA and the like say what to take instead, or with no value nothing."""
    for name in ("cuda", "glibc", "linux", "osx", "archspec"):
        given = os.environ.get("CONDA_OVERRIDE_" + name.upper())
        if given is not None:
            found["__" + name] = "1=" + given if given and name == "archspec" else given
    return {name: found[name] for name in sorted(found) if found[name]}


def _version(release: str) -> str:
    """The numbers that a kernel's release begins with: `6.1.0` of `6.1.0-18-amd64`."""
    end = 0
    while end < len(release) and (release[end].isdigit() or release[end] == "."):
        end += 1
    return release[:end].strip(".") or "0"


def _level() -> str:
    machine = _machine()
    if machine != "x86_64":
        return machine
    try:
        with open("/proc/cpuinfo") as file:
            flags = next((line.partition(":")[2].split() for line in file if line.startswith("flags")), [])
    except OSError:
        return machine
    for level, new in _LEVELS:
        if not set(new.split()) <= set(flags):
            break
        machine = level
    return machine


def _cuda() -> str:
    """The newest CUDA that the driver serves, such as `12.2`; empty when there is no driver."""
    import ctypes

    for name in _LIBCUDA:
        try:
            driver = ctypes.CDLL(name)
        except OSError:
            continue
        number = ctypes.c_int(0)
        if driver.cuDriverGetVersion(ctypes.byref(number)) == 0 and number.value:  # needs no device, and no cuInit
            return "%d.%d" % (number.value // 1000, number.value % 1000 // 10)
    return ""
