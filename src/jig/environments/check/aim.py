"""The machine that a conda file is aimed at, as far as it is known."""

from __future__ import annotations

from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jig.project import ComputeTarget

SYSTEMS = {"linux": "Linux", "darwin": "macOS", "win32": "Windows"}
_MACHINES = {"amd64": "x86_64", "x64": "x86_64", "arm64": "aarch64", "i386": "i686"}


class Aim(Value):
    """Where the environment is to run; what is empty is not known."""

    name: str
    system: str = ""  # as sys.platform has it
    machine: str = ""  # x86_64, aarch64, …
    has_gpu: bool = False
    in_container: bool = False
    driver: str = ""  # NVIDIA's
    glibc: str = ""

    @property
    def system_name(self) -> str:
        """The system, as people call it."""
        return SYSTEMS.get(self.system, self.system)


def aim(target: ComputeTarget, facts: dict[str, Any]) -> Aim:
    """What the target's file and the machine's own answers say together."""
    system, _, machine = str(facts.get("platform") or "").partition(" ")
    in_container = target.kind in ("localdocker", "remotedocker")
    gpus, virtual = facts.get("gpus") or [], facts.get("virtual") or {}
    drivers = [str(gpu.get("driver_version", "")) for gpu in gpus] or [str(facts.get("driver") or "")]
    return Aim(
        name=target.name,
        # Containers are Linux on every host, with a C library of their own; clusters are Linux too.
        system="linux" if in_container or target.kind == "cluster" else system,
        machine=_MACHINES.get(machine.lower(), machine.lower()),
        # A container sees the GPUs only when its target says so.
        has_gpu=target.nvidia_docker or bool(gpus and not in_container),
        in_container=in_container,
        driver=drivers[0],
        glibc="" if in_container else str(virtual.get("__glibc") or ""),
    )
