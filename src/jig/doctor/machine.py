"""The machine around the GPU: its Python, disk, shared memory and clock, and whether runs outlive a logout."""

from __future__ import annotations

from jig.doctor import BAD, WARN, Finding, containers
from jig.doctor.words import memory, size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jig.doctor import Subject

# What frameworks take on the disk, with the CUDA libraries that come with them; and what any environment takes.
TAKES_BYTES = {"torch": 7_000_000_000, "tensorflow": 5_000_000_000, "jax": 5_000_000_000, "cupy": 2_000_000_000}
PLAIN_BYTES = 500_000_000
KEEP_BYTES = 1_000_000_000  # for what a run writes
IMAGE_BYTES = 1_500_000_000  # of a base image that is not there yet
GPU_IMAGE_BYTES = 10_000_000_000
GPU_IMAGES = ("cuda", "pytorch", "tensorflow", "gpu", "nvcr.io")
SHARED_BYTES = 1 << 30
SKEW_S = 10.0
ASKED = {
    "look": "NVIDIA driver",
    "nodes": "device files",
    "packages": "python",
    "spark": "spark",
    "logout": "runs",
    "shared_memory_bytes": "shared memory",
}
LOGOUT = {
    "survive": "go on after logout",
    "scope": "go on after logout, in a scope of their own",
    "killed": "are killed at logout",
}


def about(facts: dict[str, Any], subject: Subject) -> Iterator[Finding]:
    """The machine and the Python that scripts are run with."""
    if "host" in facts:
        yield Finding("machine", f"{facts['host']} ({facts['platform']}), Python {facts['python']}")
    packages = facts.get("packages")
    if not packages or subject.in_container and not subject.managed:  # the engine's findings tell of the image's own
        return
    late = facts.get("late", {}).get("packages")
    if late is not None:
        yield Finding("python", f"what is installed was not told within {late:g} s", WARN)
    elif "error" in packages and not subject.in_container:
        yield Finding("python", packages["error"], BAD, packages["hint"] or "set pythonLocation in the .compute file")
    elif packages.get("prepared"):
        takes = f", {size(packages['bytes'])}" if packages.get("bytes") else ""
        yield Finding("python", f"{packages.get('version', '')} ({packages.get('python', '')}){takes}")
    elif "error" not in packages:
        yield Finding("python", f"the first run builds it, from {subject.conda_file}")


def room(facts: dict[str, Any], subject: Subject) -> Iterator[Finding]:
    """Disks and shared memory, the clock, what a logout does, and what could not be asked."""
    yield from _failed(facts)
    missing = _missing_bytes(facts, subject)
    yield from _disk(facts, KEEP_BYTES + (0 if subject.in_container else missing))
    if "engine" in facts:
        yield from containers.room(facts["engine"], KEEP_BYTES + missing + _base_bytes(facts["engine"]))
    yield from _shared_memory(facts, subject)
    yield from _clock(facts)
    if facts.get("logout") == "killed":
        fix = "ask an administrator of it for `sudo loginctl enable-linger USER`, with your login's name"
        yield Finding("runs", LOGOUT["killed"], WARN, fix)
    elif "logout" in facts:
        yield Finding("runs", LOGOUT[facts["logout"]])


def _failed(facts: dict[str, Any]) -> Iterator[Finding]:
    """What the machine would not let be asked; of the engine, its own findings tell."""
    for name, reason in facts.get("failed", {}).items():
        if name != "engine":
            status = BAD if name == "look" else WARN
            yield Finding(ASKED.get(name, name), f"could not be asked: {reason}", status, only_gpu=name == "look")


def _missing_bytes(facts: dict[str, Any], subject: Subject) -> int:
    """What building the environment will take."""
    packages = facts.get("packages") or {"prepared": True}
    if packages.get("prepared") or not subject.managed:
        return 0
    return PLAIN_BYTES + sum(TAKES_BYTES.get(build.name, 0) for build in subject.asked if build.cuda != "")


def _base_bytes(engine: dict[str, Any]) -> int:
    base = engine.get("base")
    if not base or base["bytes"]:
        return 0
    return GPU_IMAGE_BYTES if any(word in base["name"] for word in GPU_IMAGES) else IMAGE_BYTES


def _disk(facts: dict[str, Any], needed_bytes: int) -> Iterator[Finding]:
    late = facts.get("late", {}).get("disk")
    if late is not None:
        fix = "is it a network disk whose server is away? Set jigHome, in the .compute file, to a folder on another one"
        yield Finding("disk", f"{facts['home']} does not answer within {late:g} s", BAD, fix)
    if facts.get("free_bytes") is None:
        return
    found = f"{size(facts['free_bytes'])} free for {facts['home']}"
    if not facts.get("writable", True):
        fix = "set jigHome, in the .compute file, to a folder of yours"
        yield Finding("disk", f"{facts['home']} cannot be written", BAD, fix)
    elif facts["free_bytes"] >= needed_bytes:
        yield Finding("disk", found)
    else:
        status = BAD if facts["free_bytes"] < needed_bytes / 2 else WARN
        fix = "`jig environment prune --older-than 30d` and `jig experiment clean` give space back; or set jigHome, in "
        fix += "the .compute file, to a folder on a larger disk"
        yield Finding("disk", f"{found}; environment and run take about {size(needed_bytes)}", status, fix)


def _shared_memory(facts: dict[str, Any], subject: Subject) -> Iterator[Finding]:
    """A container gets half of the machine's memory whatever the machine itself has."""
    shared = facts.get("shared_memory_bytes")
    if shared is None or subject.in_container:
        return
    if shared >= SHARED_BYTES:
        yield Finding("shared memory", f"{memory(shared)} in /dev/shm")
        return
    found = f"{memory(shared)} in /dev/shm: PyTorch's DataLoader with workers ends in `Bus error` when it is full"
    fix = "`sudo mount -o remount,size=50% /dev/shm` there; where the machine is itself a container, start that with "
    yield Finding("shared memory", found, WARN, fix + "`--shm-size=8g`; or set `num_workers=0`")


def _clock(facts: dict[str, Any]) -> Iterator[Finding]:
    skew_s = facts.get("skew_s")
    if skew_s is None:
        return
    if abs(skew_s) <= SKEW_S:
        yield Finding("clock", "as here")
        return
    how = "ahead of" if skew_s > 0 else "behind"
    found = f"{_duration(abs(skew_s))} {how} this computer's: times of runs and files will look wrong"
    yield Finding("clock", found, WARN, "`sudo timedatectl set-ntp true` on the machine that is wrong")


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
