"""What MLflow is told of a run besides its points: parameters, tags, times, and how it ended."""

from __future__ import annotations

from jig.export import points
from jig.runner import events
from jig.runner.folder import RunFolder
from jig.runner.quick_json import dumps
from jig.store import runs
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LONGEST_TEXT = 5000  # of a tag; newer servers take more
LONGEST_PARAM = 6000
STATUS = {"Completed": "FINISHED", "Failed": "FAILED", "Canceled": "KILLED", "Lost": "FAILED"}
# Keys of a record that are told otherwise, or say nothing elsewhere.
NOT_TAGS = {"gpu", "metrics", "params", "tags", "note", "properties", "attachments", "heartbeat_enabled", "hidden"}


class Facts(Value):
    """A run's head, as MLflow takes it."""

    experiment: str
    name: str
    parent: str  # a run of jig's
    start_ms: int
    end_ms: int | None
    status: str
    params: dict[str, Any]
    tags: dict[str, str]


def facts(record: dict[str, Any], folder: RunFolder, nested: str) -> Facts:
    """What to tell of the run with this record."""
    plan, past = runs.read_plan(folder), runs.fold(events.read(folder.events))
    # What a script that speaks MLflow's language said of itself counts more than what jig would say for it.
    said = {name: str(text) for name, text in (record.get("tags") or {}).items() if name != "mlflow.parentRunId"}
    tags = {**_source(plan), **said}
    tags.update(_own(record))
    tags.update(_gpu(record, folder) if not nested else {})
    if record.get("note"):
        tags["mlflow.note.content"] = str(record["note"])
    started = _seconds(record["start_time_utc"]) or past.started or float(plan["created"])
    ended = (_seconds(record["end_time_utc"]) or past.ended) if record["status"] in STATUS else None
    return Facts(
        experiment=str(plan["project"]),
        name=tags.get("mlflow.runName") or str(record.get("run_name") or record["run_id"]),
        parent=str(record.get("parent_run_id") or ""),
        start_ms=round(started * 1000),
        end_ms=None if record["status"] not in STATUS else round((ended or started) * 1000),
        status=STATUS.get(record["status"], "RUNNING"),
        params=record.get("params") or {},
        tags=tags,
    )


def _source(plan: dict[str, Any]) -> dict[str, str]:
    origin = plan.get("origin") or {}
    told = {
        "mlflow.user": str(plan["user"]),
        "mlflow.source.name": str(plan["script"]),
        "mlflow.source.type": "LOCAL",
        "mlflow.source.git.commit": str(origin.get("commit") or ""),
        "mlflow.source.git.branch": str(origin.get("branch") or ""),
    }
    return {name: text for name, text in told.items() if text}


def _own(record: dict[str, Any]) -> dict[str, str]:
    """The record's own keys as tags; those of what was logged stand before them."""
    names = list(record)
    told = {}
    for name in names[names.index("run_id") :]:
        value = record[name]
        if name not in NOT_TAGS and value is not None and value is not False and value != "" and value != []:
            told[f"jig.{name}"] = value if isinstance(value, str) else dumps(value)
    return told


def _gpu(record: dict[str, Any], folder: RunFolder) -> dict[str, str]:
    proof = record.get("gpu") or {}
    told = {f"jig.gpu.{name}": value for name, value in proof.items() if isinstance(value, (str, int, float))}
    found = [f"{one.get('name')} {one.get('uuid')}" for one in proof.get("devices") or () if isinstance(one, dict)]
    if found:
        told["jig.gpu.devices"] = ", ".join(found)
    for place, uuid in enumerate(points.devices(folder)):
        told[f"jig.gpu.{place}"] = uuid  # whose curves system/gpu_0_… are
    return {name: value if isinstance(value, str) else dumps(value) for name, value in told.items() if value != ""}


def _seconds(utc: str | None) -> float | None:
    """The moment that a record's time names, in seconds since 1970."""
    if not utc:
        return None
    from datetime import datetime

    return datetime.fromisoformat(utc).timestamp()


def param_text(value: Any) -> str:
    """A parameter as MLflow's own client would write it."""
    return str(value) if isinstance(value, (str, bool, int, float)) or value is None else dumps(value)
