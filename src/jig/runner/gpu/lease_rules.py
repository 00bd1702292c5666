"""Who gets which devices, and what those who wait are told. Pure: tickets and devices in, decision and words out."""

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional

    from jig.runner.gpu.lease_ticket import Ticket

    Device = Dict[str, Any]

GIB = 1024.0**3
# Where processes are hidden only the memory in use tells. Below this are the driver's own part of it, a desktop and a
# bare CUDA context. How busy the device is does not count: that is a moment's value, and low in many moments of a run.
HIDDEN_BYTES = 2 * 1024**3
# They are on a device for others, or for the screen, and most often for as long as the machine runs.
SERVICES = (
    "nvidia-cuda-mps-server",
    "Xorg",
    "X",
    "Xwayland",
    "gnome-shell",
    "kwin_x11",
    "kwin_wayland",
    "gnome-remote-desktop-daemon",
)


def candidates(devices: "List[Device]", visible: "Optional[str]") -> "List[Device]":
    """The devices that CUDA_VISIBLE_DEVICES leaves, read as CUDA reads it: what follows a wrong word does not count."""
    if visible is None:
        return devices
    left: "List[Device]" = []
    for word in visible.split(","):
        named = [device for device in devices if _is_named(device, word.strip())]
        if not named:
            break
        left += [device for device in named if device not in left]
    return left


def _is_named(device: "Device", word: str) -> bool:
    if word.isdigit():
        return bool(device["index"] == int(word))
    uuids = (device["uuid"], device["parent"] or "")
    return word.startswith(("GPU-", "MIG-")) and any(uuid.startswith(word) for uuid in uuids)


def before(mine: "Ticket", tickets: "List[Ticket]") -> "List[Ticket]":
    """The runs that are served first: they asked earlier, and want of the same devices."""
    return [other for other in rivals(mine, tickets) if other.number < mine.number]


def rivals(mine: "Ticket", tickets: "List[Ticket]") -> "List[Ticket]":
    """All others that wait for some of the same devices. A scheduler may have given each run devices of its own."""
    among = set(mine.among)
    return [
        other
        for other in tickets
        if other.number != mine.number and other.waits and not other.asleep and among.intersection(other.among)
    ]


def choose(mine: "Ticket", tickets: "List[Ticket]", devices: "List[Device]", shared: bool) -> "List[str]":
    """The devices that this run gets now: as many as it wants, or none."""
    if before(mine, tickets):
        return []
    taken = taken_by(mine, tickets, devices, shared)
    free = [device for device in devices if device["uuid"] not in taken]
    free.sort(key=lambda device: bool(used_by(device, mine.run)))  # with `shared`, those that nobody is on come first
    return [device["uuid"] for device in free[: mine.want]] if len(free) >= mine.want else []


def taken_by(mine: "Ticket", tickets: "List[Ticket]", devices: "List[Device]", shared: bool) -> "Dict[str, str]":
    """Each device that this run cannot have now, with the words that say why."""
    held = {uuid: other for other in tickets if other.number != mine.number for uuid in other.uuids}
    taken = {}
    for device in devices:
        holder = held.get(device["uuid"]) or held.get(device["parent"])
        why = "" if shared else used_by(device, mine.run)
        if holder is not None:
            why = "held by run %s of %s since %s" % (holder.run, holder.user, clock(holder.since))
        if why:
            taken[device["uuid"]] = why
    return taken


def used_by(device: "Device", run: str) -> str:
    """Who is on the device besides this run, in words; empty when nobody is."""
    if device["processes"] is None:
        if device["memory_bytes"] is None or device["free_bytes"] is None:
            return ""
        used_bytes = device["memory_bytes"] - device["free_bytes"]
        return "in use: %s by processes that are hidden here" % _size(used_bytes) if used_bytes > HIDDEN_BYTES else ""
    others = [one for one in device["processes"] if one["run"] != run and one["command"] not in SERVICES]
    if not others:
        return ""
    runs = sorted({one["run"] for one in others if one["run"]})
    users = sorted({one["user"] or "somebody" for one in others})
    what = sorted({one["command"] for one in others if one["command"]})
    sizes = [one["memory_bytes"] for one in others if one["memory_bytes"]]
    if len(runs) == 1 and all(one["run"] for one in others):
        who = "run %s" % runs[0]
    else:
        who = "a process" if len(others) == 1 else "%d processes" % len(others)
    about = what[:3] + ([_size(sum(sizes))] if sizes else [])
    told = "in use by %s of %s" % (who, _and(users))
    return plain("%s (%s)" % (told, ", ".join(about)) if about else told)


def why_waiting(mine: "Ticket", tickets: "List[Ticket]", devices: "List[Device]", shared: bool) -> str:
    """One sentence for a run that waits: who has what it wants."""
    taken = taken_by(mine, tickets, devices, shared)
    by_why: "Dict[str, List[Device]]" = {}
    for device in devices:
        if device["uuid"] in taken:
            by_why.setdefault(taken[device["uuid"]], []).append(device)
    parts = ["%s %s" % (_called(held), why) for why, held in by_why.items()]
    free = len(devices) - len(taken)
    if free >= mine.want:
        first = before(mine, tickets)[0]
        wants = "run %s of %s asked before, at %s, and waits for %s"
        parts.insert(0, wants % (first.run, first.user, clock(first.since), count(first.want)))
    elif free:
        parts.insert(0, "%d of the %s wanted %s free" % (free, count(mine.want), "is" if free == 1 else "are"))
    return "; ".join(parts)


def count(number: int) -> str:
    """So many GPUs, in words."""
    return "1 GPU" if number == 1 else "%d GPUs" % number


def clock(since: float) -> str:
    """A time as a person says it today."""
    then = time.localtime(since)
    today = time.strftime("%Y-%m-%d", then) == time.strftime("%Y-%m-%d")
    return time.strftime("%H:%M" if today else "%Y-%m-%d %H:%M", then)


def plain(text: str) -> str:
    """What others have named, without characters that would do something to a terminal."""
    return "".join(c if c.isprintable() else "?" for c in text)


def _called(devices: "List[Device]") -> str:
    words = [str(device["index"]) if device["parent"] is None else device["uuid"] for device in devices]
    return "GPU %s is" % words[0] if len(words) == 1 else "GPUs %s are" % _and(words)


def _and(words: "List[str]") -> str:
    return words[0] if len(words) == 1 else "%s and %s" % (", ".join(words[:-1]), words[-1])


def _size(size: int) -> str:
    return "%.1f GiB" % (size / GIB)
