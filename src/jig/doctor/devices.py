"""The driver and its devices: whether they are there, whole, free, and this user's to open."""

from __future__ import annotations

from jig.doctor import BAD, WARN, Finding
from jig.doctor.words import listed, memory

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jig.doctor import Subject

FULL_BELOW = 0.1  # of its memory: less is left for a run than it needs to begin
INSTALL = (
    "install the driver there (Ubuntu: `sudo ubuntu-drivers install`, Debian: `sudo apt-get install nvidia-driver`), "
    "then restart the machine"
)
ELSEWHERE = "run it on a machine that has one: `jig computetarget attach {} -n NAME -a HOST -u USER{}`"
HUNG = "`sudo dmesg | grep -i nvrm` on the machine says more; restarting the machine ends it"


def findings(facts: dict[str, Any], subject: Subject) -> Iterator[Finding]:
    """The driver, then each device, then who may open them."""
    late = facts.get("late", {}).get("look")
    if late is not None:
        yield _bad("NVIDIA driver", f"does not answer within {late:g} s", HUNG)
    look = facts.get("look")
    if look is None:
        return
    if not look["driver"] and not look["devices"] and not facts.get("nodes"):
        yield _none(facts.get("without_driver") or {}, subject)
        return
    yield from _driver(look)
    for device in look["devices"]:
        yield from _device(device, alone=len(look["devices"]) == 1)
    yield from _crowded(look["devices"])
    yield from _locked(facts.get("nodes") or [])


def _bad(what: str, found: str, fix: str) -> Finding:
    return Finding(what, found, BAD, fix, only_gpu=True)


def _none(without: dict[str, Any], subject: Subject) -> Finding:
    """Why there is no driver at work: it is installed and not loaded, not installed, or of no use."""
    if without.get("smi"):
        fix = "`sudo modprobe nvidia` there loads it, or says why not; after an update, restart the machine"
        return _bad("NVIDIA driver", "it is installed on this machine, and not loaded", fix)
    if without.get("card") is False:
        kind = ("remotedocker", " --gpu") if subject.in_container else ("remote", "")
        return _bad("GPU", "this machine has no NVIDIA GPU", ELSEWHERE.format(*kind))
    card = "it has an NVIDIA GPU, and no driver for it" if without.get("card") else "this machine has none"
    return _bad("NVIDIA driver", card, INSTALL)


def _driver(look: dict[str, Any]) -> Iterator[Finding]:
    if look["driver"]:
        cuda = f", which serves CUDA up to {look['cuda']}" if look["cuda"] else ""
        yield Finding("NVIDIA driver", look["driver"] + cuda, only_gpu=True)
    if look["error"]:  # of one device, where there are others
        yield Finding("NVIDIA driver", look["error"], WARN if look["devices"] else BAD, look["hint"], only_gpu=True)
    elif not look["devices"]:
        fix = "does `nvidia-smi -L` list one there? In a container or a job, ask for the GPU when it is started"
        yield _bad("GPU", "the driver is there and shows this user no GPU", fix)


def _device(device: dict[str, Any], alone: bool) -> Iterator[Finding]:
    what = f"GPU {device['index']}"
    parts = [device["name"] or "of unknown name"]
    if device["major"] is not None:
        parts.append(f"compute capability {device['major']}.{device['minor']}")
    if device["memory_bytes"] is not None and device["free_bytes"] is not None:
        parts.append(f"{memory(device['free_bytes'])} of {memory(device['memory_bytes'])} free")
    if device["parent"]:
        parts.append("an instance of a card in MIG mode: a process can use one of them, not several")
    yield Finding(what, ", ".join(parts), only_gpu=True)
    if device["ecc_errors"]:
        number = device["index"]
        yield Finding(
            f"{what} memory errors",
            f"{device['ecc_errors']} that could not be corrected since the driver was loaded: results may be wrong",
            WARN,
            f"end what runs on it, then `sudo nvidia-smi --gpu-reset -i {number}`; if they come back, have it replaced",
            only_gpu=True,
        )


def _crowded(devices: list[dict[str, Any]]) -> Iterator[Finding]:
    """Devices whose memory somebody else fills; bad when no other is left."""
    full = [device for device in devices if _is_full(device)]
    status = BAD if len(full) == len(devices) else WARN
    for device in full:
        free, total = memory(device["free_bytes"]), memory(device["memory_bytes"])
        found = f"{free} of {total} are free: {_holders(device['processes'])}"
        yield Finding(f"GPU {device['index']} memory", found, status, _freeing(device["processes"]), only_gpu=True)


def _is_full(device: dict[str, Any]) -> bool:
    free, total = device["free_bytes"], device["memory_bytes"]
    return bool(free is not None and total and free / total < FULL_BELOW)


def _by_size(processes: list[dict[str, Any]] | None) -> list[dict[str, Any]]:
    return sorted(processes or (), key=lambda process: -(process["memory_bytes"] or 0))


def _holders(processes: list[dict[str, Any]] | None) -> str:
    shown = []
    for process in _by_size(processes)[:3]:
        name = f"run {process['run']}" if process["run"] else f"`{process['command'] or '?'}`"
        held = f" has {memory(process['memory_bytes'])}" if process["memory_bytes"] is not None else ""
        shown.append(f"{name} of {process['user'] or 'somebody'} (process {process['pid']}){held}")
    return listed(shown) if shown else "the driver does not tell who has the rest"


def _freeing(processes: list[dict[str, Any]] | None) -> str:
    first = next(iter(_by_size(processes)), None)
    if first is None:
        return "`nvidia-smi` on the machine itself lists its processes: wait for them, or ask whose they are"
    if first["run"]:
        return f"wait for it, or `jig cancel {first['run']}` if it is yours"
    return f"wait for it, or ask {first['user'] or 'its owner'}; if it is yours, `kill {first['pid']}` there ends it"


def _locked(nodes: list[dict[str, Any]]) -> Iterator[Finding]:
    """Device files that this user may not open; what a device needs is its own, nvidiactl and nvidia-uvm."""
    closed = [node for node in nodes if not node["usable"]]
    if not closed:
        shown = listed([node["path"] for node in nodes]) if len(nodes) <= 5 else f"all {len(nodes)} device files"
        yield from [Finding("permissions", f"this user may open {shown}", only_gpu=True)] if nodes else []
        return
    names = listed([node["path"] for node in closed])
    first = closed[0]
    found = f"this user may not open {names} (group {first['group']}, mode {first['mode']:04o})"
    to_group = first["mode"] & 0o060 == 0o060 and first["group"] != "root"
    fix = (
        f"`sudo usermod -aG {first['group']} $USER` there, then log in again (`jig` keeps a connection: log out first)"
    )
    yield _bad(
        "permissions", found, fix if to_group else f"`sudo chmod a+rw {' '.join(n['path'] for n in closed)}` there"
    )
