"""All that is known of runs, gathered for a comparison: records, plans, environments, and the frozen files."""

from __future__ import annotations

import os

from jig.compare.files import blobs, changes
from jig.compare.patch import patch
from jig.compare.rows import View
from jig.errors import MachineError, StoreError
from jig.frozen import Frozen
from jig.runner import env_record, events
from jig.store.keys import clock_microseconds
from jig.store.runs import fold

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from jig.compare.patch import Patch
    from jig.frozen import Folder
    from jig.store.queries import Found, Store


def environment(found: Found) -> dict[str, Any]:
    """What the run's environment really had; empty where nobody wrote it down."""
    return env_record.read(os.path.join(found.folder.path, env_record.NAME))


def spark(found: Found) -> dict[str, Any]:
    """What the run's Spark wrote down first: which it is, and which Java; empty where there was none."""
    from jig.runner.spark import RECORD
    from jig.store.logged import parsed

    try:
        with open(os.path.join(found.folder.path, RECORD), "rb") as file:
            return next((entry for entry in map(parsed, file) if entry and "spark" in entry), {})
    except FileNotFoundError:
        return {}


def gather(store: Store, runs: Sequence[Found], warn: Callable[[str], None]) -> list[View]:
    """A view of each run; code that cannot be had is warned of and left out."""
    views: list[View] = []
    first: Frozen | None = None
    for found in runs:
        _bring(found, warn)
        frozen: Frozen | None = None
        files: dict[str, Any] = {}
        try:
            frozen = Frozen(found)
            files = _files(first, frozen) if first is not None else {}
        except (MachineError, StoreError) as error:
            warn(f"the code of {found.id} is not compared: {error.message}")
            frozen = None
        if not views:
            first = frozen
        views.append(_view(store, found, files, len(frozen.entries) if frozen else 0))
    return views


def _bring(found: Found, warn: Callable[[str], None]) -> None:
    try:
        found.run()
    except (MachineError, StoreError) as error:
        warn(f"{found.id} is compared as it was last seen: {error.message}")


def _view(store: Store, found: Found, files: dict[str, Any], size: int) -> View:
    past = list(events.read(found.folder.events))
    run = fold(past)
    plan = found.plan()
    first = {event["event"]: event for event in reversed(past)}
    record = store.record(found.id)
    within = bool(found.nested)  # of a run within a run the times are its own, and nobody waited for its start
    return View(
        record=record,
        plan=plan,
        environment=environment(found),
        spark=spark(found),
        host=str(first.get("queued", {}).get("host", "")),
        image=str(first.get("running", {}).get("image", "")),
        prepared_s=None if within else _between(first, "queued", "running"),
        duration_s=_seconds(record["duration"]) if within else run.duration_s,
        files=files,
        size=size,
    )


def _seconds(duration: str | None) -> float | None:
    took = clock_microseconds(duration) if duration else None
    return None if took is None else took / 1e6


def _between(first: dict[str, dict[str, Any]], start: str, end: str) -> float | None:
    """Seconds between two events, by the supervisor's own clock."""
    if start not in first or end not in first:
        return None
    return max(0.0, float(first[end]["mono"]) - float(first[start]["mono"]))


def patches(old: Frozen | Folder, new: Frozen | Folder) -> list[Patch]:
    """How the code became another: a patch for each file that differs."""
    differ = changes(old.entries, new.entries)
    old.bring(blobs(one.old for one in differ))
    new.bring(blobs(one.new for one in differ))
    return [patch(change, old.read, new.read) for change in differ]


def _files(first: Frozen, other: Frozen) -> dict[str, Any]:
    """How the files of a run differ from those of the first, by path."""
    differ = changes(first.entries, other.entries)
    first.bring(blobs(one.old for one in differ))
    other.bring(blobs(one.new for one in differ))
    found: dict[str, Any] = {}
    for change in differ:
        made = patch(change, first.read, other.read)
        before = found.get(change.path, {"added": 0, "deleted": 0})
        found[change.path] = {
            "change": "type" if change.path in found else change.kind,
            "added": before["added"] + made.added,
            "deleted": before["deleted"] + made.deleted,
            **({"binary": True} if made.binary else {}),
        }
    return found
