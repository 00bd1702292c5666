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
    from collections.abc import Collection, Iterable, Iterator
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
SMALL_BYTES = 1 << 16
LONG_BYTES = 64 << 20
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
    "rank-failed": "{detail}",
    "ranks-refused": "the processes could not be started: {detail}",
    "spark-refused": "Spark could not be started: {detail}",
    "application-killed": "{detail}",
    "cluster-gone": "{detail}",
    "python-mismatch": "{detail}",
    "packages-not-found": "{detail}",
    "heap-full": "{detail}",
    "executors-lost": "{detail}",
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
    rank: int | None = None  # the one of several processes that failed first
    said: tuple[str, ...] = ()  # its last words
    exchange: dict[str, Any] | None = None  # by rank: what compression of the gradients made of their exchange

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
    state, reason, why, driver, last = STATES["queued"], "", "", "", None
    started = started_mono = None
    for event in past:
        word = event["event"]
        if word in STATES:
            state, reason, why = STATES[word], "", ""
            if word == "running":
                started, started_mono = event["time"], event["mono"]
            elif word in events.FINAL:
                last = event
        elif word == WAITING:
            state, reason, why = STATES["queued"], WAITING, waiting(event)
        elif word == "leased" and state == STATES["queued"]:
            state, reason, why = STATES["preparing"], "", ""
        elif word == "gpu" and isinstance(event.get("look"), dict):
            driver = str(event["look"].get("driver") or "")
    if last is None or state not in FINAL:
        return Run(state=state, reason=reason, why=why, started=started, driver=driver)
    return _ended(state, last, started, started_mono, driver)


def waiting(event: dict[str, Any]) -> str:
    """Why a run is queued for devices, and where it stands in line."""
    position, of = event.get("position"), event.get("of")
    place = f", {position} of {of} in line" if position and of else ""
    return f"waiting for a GPU{place}: {event.get('reason') or 'all are taken'}"


def _ended(state: str, event: dict[str, Any], started: float | None, started_mono: float | None, driver: str) -> Run:
    duration = None
    if started_mono is not None and event["event"] != "lost":
        duration = max(0.0, event["mono"] - started_mono)
    ended = event["time"] if duration is None or started is None else started + duration
    known = {
        "exit_code": event.get("exit_code"),
        "signal": event.get("signal", "?"),
        "detail": event.get("detail", "?"),
    }
    reason, proof, rank, exchange = (
        event.get("reason", ""),
        event.get("proof"),
        event.get("rank"),
        event.get("exchange"),
    )
    why = REASONS.get(reason, reason).format(**known)
    if reason == "out-of-memory" and isinstance(rank, int):
        why = f"the kernel killed rank {rank} for memory"
    return Run(
        state,
        reason,
        why,
        event.get("exit_code"),
        started,
        ended,
        duration,
        event.get("log_size"),
        tuple(event.get("survivors", ())),
        event.get("hint", ""),
        proof if isinstance(proof, dict) else None,
        str(event.get("cause") or ""),
        driver,
        rank if isinstance(rank, int) else None,
        tuple(map(str, event.get("said") or ())),
        exchange if isinstance(exchange, dict) else None,
    )


def read_events(folder: RunFolder) -> list[dict[str, Any]]:
    """Every event so far; none when the file is not there."""
    try:
        return events.parse(_bytes(folder.events))
    except FileNotFoundError:
        return []


def _bytes(path: str) -> bytes:
    """A small file; without the layers of `open`, which cost more than the reading when there are many."""
    file = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    try:
        found = data = os.read(file, SMALL_BYTES)
        while len(data) == SMALL_BYTES:
            data = os.read(file, SMALL_BYTES)
            found += data
        return found
    finally:
        os.close(file)


def read_plan(folder: RunFolder) -> dict[str, Any]:
    """plan.json as it stands; FileNotFoundError when there is no run here."""
    data = loads(_bytes(folder.plan))
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
    try:
        size = os.path.getsize(folder.metrics)
    except FileNotFoundError:  # nothing was logged
        return {}
    from jig.store import logged  # imported here: most commands read no metrics

    _, said = logged.read_on(folder.metrics, size - LAST_PART_BYTES if size > LONG_BYTES else 0, {})
    last: dict[str, Any] = said.get("", {}).get("values", {})
    return last


def attachments(
    folder: RunFolder, plan: dict[str, Any] | None = None, names: Collection[str] | None = None
) -> list[str]:
    """The artifacts of a run by name: logs, and every file that the script left in outputs/.

    Plan, and names in the folder, are for who knows them already.
    """
    names = os.listdir(folder.path) if names is None else names
    found = ["driver_log"] if "output.log" in names else []
    found += sorted((name for name in names if is_rank_log(name)), key=lambda name: int(name.split(".")[1]))
    if "events.jsonl" in names or "prepare.log" in names:
        found.append("control_log")
    if diff_blob(folder) if plan is None else plan.get("attachments", {}).get(DIFF):
        found.append(DIFF)
    # A script may have put a link in the place of either.
    if "work" in names and not os.path.islink(folder.work) and not os.path.islink(folder.outputs):
        found += _outputs(folder, folder.outputs, "outputs")
    return found


def _outputs(folder: RunFolder, place: str, shown: str) -> list[str]:
    """The files below a folder that is no link, those of each folder before those of the next."""
    try:
        with os.scandir(place) as entries:
            inside = sorted(entries, key=lambda entry: entry.name)
    except OSError:  # there are none, or the script has closed the folder to itself
        return []
    folders, files = [], []
    for entry in inside:
        if entry.is_dir(follow_symlinks=False):
            folders.append(entry)
        elif entry.is_file(follow_symlinks=False) or (
            entry.is_symlink() and _is_inside(entry.path, _real_outputs(folder))
        ):
            files.append(os.path.join(shown, entry.name))
    return files + [name for one in folders for name in _outputs(folder, one.path, os.path.join(shown, one.name))]


def is_rank_log(name: str) -> bool:
    """Whether it is what one of several processes printed: `output.<rank>.log`."""
    start, _, rest = name.partition(".")
    rank, _, end = rest.rpartition(".")
    return (start, end) == ("output", "log") and rank.isascii() and rank.isdecimal()


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
    if is_rank_log(name):
        return os.path.join(folder.path, name)
    if name == DIFF and diff_blob(folder):
        return BlobStore(Home(default_home()).blobs).place(diff_blob(folder))
    place = os.path.normpath(os.path.join(folder.work, name))
    if not _is_inside(place, _real_outputs(folder)):
        raise ValueError(f"{name} is not among the run's outputs")
    return place
