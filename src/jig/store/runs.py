"""A run as its files tell it: events folded into a state, metrics into their last values."""

from __future__ import annotations

import os

from jig.runner import events
from jig.runner.blobs import BlobStore
from jig.runner.folder import Home, RunFolder, default_home
from jig.runner.quick_json import loads
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

# The word in an event → the word that people and JSON see.
STATES = {
    "queued": "Queued",
    "preparing": "Preparing",
    "running": "Running",
    "completed": "Completed",
    "failed": "Failed",
    "canceled": "Canceled",
    "lost": "Lost",
}
DIFF = "uncommitted.diff"
LONG_BYTES = 16 << 20
LAST_PART_BYTES = 1 << 20
FINAL = tuple(STATES[word] for word in events.FINAL)
REASONS = {
    "exited": "the script ended with exit code {exit_code}",
    "killed": "the script was killed by {signal}",
    "out-of-memory": "the kernel killed the script for memory",
    "disk-full": "the disk was full",
    "not-started": "the script could not be started: {detail}",
    "environment-failed": "the environment could not be built: {detail}",
    "canceled": "canceled",
    "machine-shutdown": "the machine asked jig to end",
    "supervisor-gone": "the run's supervisor was killed",
    "machine-restarted": "the machine was restarted",
    "engine-stopped": "{detail}",
    "not-copied": "what the script left could not be copied out of its container: {detail}",
    "guard-killed": "the process that guards the script was killed",
    "gpu-idle": "stopped because the GPU did nothing for too long",
    "gpu-refused": "a GPU is required: {detail}",
    "internal-error": "jig itself failed: {detail}",
}
WAITING = "waiting"  # the reason of a run that is queued for devices; the events of that name have the rest


class Run(Value):
    """What happened: the fold of a run's events."""

    state: str = "Queued"
    reason: str = ""
    why: str = ""
    exit_code: int | None = None
    started: float | None = None
    ended: float | None = None
    duration_s: float | None = None
    log_size: int | None = None
    survivors: tuple[int, ...] = ()
    fix: str = ""
    proof: dict[str, Any] | None = None  # what it did with the GPU, as the last event tells it
    cause: str = ""  # why it did nothing with the GPU that it asked for
    driver: str = ""

    @property
    def final(self) -> bool:
        """Whether nothing more will happen."""
        return self.state in FINAL

    @property
    def submit_code(self) -> int:
        """The exit code of a `submit` that saw this run's end."""
        if self.exit_code is None:
            return 125 if self.state != "Canceled" else 143
        return 143 if self.state == "Canceled" and self.exit_code == 0 else self.exit_code


def fold(past: Iterable[dict[str, Any]]) -> Run:
    """The run that these events describe. Durations are by the supervisor's own clock, which is never set back."""
    run, started_mono = Run(), None
    for event in past:
        word = event["event"]
        if word == WAITING:
            run = run._replace(state="Queued", reason=WAITING, why=waiting(event))
        elif word == "leased" and run.state == "Queued":
            run = run._replace(state="Preparing", reason="", why="")
        elif word == "gpu" and isinstance(event.get("look"), dict):
            run = run._replace(driver=str(event["look"].get("driver") or ""))
        if word not in STATES:
            continue
        run = run._replace(state=STATES[word], reason="", why="")
        if word == "running":
            run = run._replace(started=event["time"])
            started_mono = event["mono"]
        elif word in events.FINAL:
            run = _ended(run, event, started_mono)
    return run


def waiting(event: dict[str, Any]) -> str:
    """Why a run is queued for devices, and where it stands in line."""
    position, of = event.get("position"), event.get("of")
    place = f", {position} of {of} in line" if position and of else ""
    return f"waiting for a GPU{place}: {event.get('reason') or 'all are taken'}"


def _ended(run: Run, event: dict[str, Any], started_mono: float | None) -> Run:
    duration = None
    if started_mono is not None and event["event"] != "lost":
        duration = max(0.0, event["mono"] - started_mono)
    ended = event["time"] if duration is None or run.started is None else run.started + duration
    known = {
        "exit_code": event.get("exit_code"),
        "signal": event.get("signal", "?"),
        "detail": event.get("detail", "?"),
    }
    reason, proof = event.get("reason", ""), event.get("proof")
    return run._replace(
        reason=reason,
        why=REASONS.get(reason, reason).format(**known),
        exit_code=event.get("exit_code"),
        ended=ended,
        duration_s=duration,
        log_size=event.get("log_size"),
        survivors=tuple(event.get("survivors", ())),
        fix=event.get("hint", ""),
        proof=proof if isinstance(proof, dict) else None,
        cause=str(event.get("cause") or ""),
    )


def read_plan(folder: RunFolder) -> dict[str, Any]:
    """plan.json as it stands; FileNotFoundError when there is no run here."""
    with open(folder.plan, "rb") as file:
        data = loads(file.read())
    if not isinstance(data, dict):
        raise ValueError("plan.json is not an object")
    return data


def read_metrics(path: str, offset: int = 0) -> Iterator[tuple[dict[str, Any], int]]:
    """Whole metric lines from `offset` on, each with where the next one begins; torn lines are left out."""
    try:
        file = open(path, "rb")
    except FileNotFoundError:  # nothing was logged yet
        return
    with file:
        file.seek(offset)
        for line in file:
            if not line.endswith(b"\n"):
                return
            offset += len(line)
            try:
                entry = loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(entry, dict) and isinstance(entry.get("values"), dict):
                yield entry, offset


def last_metrics(folder: RunFolder) -> dict[str, Any]:
    """The last value of every metric; of a very long file, of those that stand in its last part."""
    last: dict[str, Any] = {}
    size = os.path.getsize(folder.metrics) if os.path.exists(folder.metrics) else 0
    for entry, _ in read_metrics(folder.metrics, size - LAST_PART_BYTES if size > LONG_BYTES else 0):
        last.update(entry["values"])
    return last


def attachments(folder: RunFolder) -> list[str]:
    """The artifacts of a run by name: logs, and every file that the script left in outputs/."""
    found = [name for name in ("driver_log", "control_log") if os.path.exists(artifact_path(folder, name))]
    if diff_blob(folder):
        found.append(DIFF)
    root = _real_outputs(folder)
    for parent, folders, names in os.walk(folder.outputs):
        folders.sort()
        relative = os.path.relpath(parent, folder.work)
        found += [
            os.path.join(relative, name) for name in sorted(names) if _is_inside(os.path.join(parent, name), root)
        ]
    return found


def diff_blob(folder: RunFolder) -> str:
    """The name of the stored diff of what was not committed at submit; empty when there was none."""
    try:
        return str(read_plan(folder).get("attachments", {}).get(DIFF, ""))
    except (OSError, ValueError):
        return ""


def _real_outputs(folder: RunFolder) -> str:
    """Where the outputs must really be: a script may have put a link in their place, or in that of work/."""
    return os.path.join(os.path.realpath(folder.path), "work", "outputs")


def _is_inside(path: str, root: str) -> bool:
    """Whether the path is a file below the root, also when every link on the way is followed."""
    return os.path.isfile(path) and os.path.realpath(path).startswith(root + os.sep)


def artifact_path(folder: RunFolder, name: str) -> str:
    """The file behind an artifact's name; ValueError for a name that would leave the run's outputs."""
    if name in ("driver_log", "driver_log.txt"):
        return folder.log
    if name in ("control_log", "control_log.txt"):
        return folder.prepare_log if os.path.exists(folder.prepare_log) else folder.events
    if name == DIFF and diff_blob(folder):
        return BlobStore(Home(default_home()).blobs).place(diff_blob(folder))
    place = os.path.normpath(os.path.join(folder.work, name))
    if not _is_inside(place, _real_outputs(folder)):
        raise ValueError(f"{name} is not among the run's outputs")
    return place
