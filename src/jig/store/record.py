"""One run as `jig history` shows it: the original product's JSON keys, and what jig knows besides."""

from __future__ import annotations

from jig.store.runs import Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Keys of the original come first; a metric of the same name is found under `metrics`.
GUID_SPACE = "6f2b3b86-0d0c-4f0e-9a39-7c9b9a4b8f10"
SCALARS = (int, float, str)  # bool is an int
# MLflow's words for how a nested run ended.
NESTED_STATES = {"FINISHED": "Completed", "FAILED": "Failed", "KILLED": "Canceled"}
# What a proof has under which key of a record; for runs that had a GPU to use.
GPU_NUMBERS = {"gpu_s": "gpu_s", "gpu_peak_memory_bytes": "peak_memory_bytes", "gpu_busy_percent": "mean_percent"}


def record(
    plan: dict[str, Any], run: Run, said: dict[str, Any], attachments: list[str], nested: str = ""
) -> dict[str, Any]:
    """Each scalar metric and parameter as a key of its own, then the run's own keys; `said` is a part of logged.py."""
    metrics = said.get("values") or {}
    params = {**(plan.get("params") or {}), **(said.get("params") or {})}
    tags = {name: value for name, value in (said.get("tags") or {}).items() if value is not None}
    archived = bool(said.get("archived"))
    own = {
        "run_id": plan["run_id"] + nested,
        "run_number": plan["number"],
        "name": plan["project"],
        "run_name": said.get("name") or tags.get("mlflow.runName"),
        "script_name": plan["script"],
        "arguments": plan["arguments"],
        "target": plan["target"],
        "run_configuration": plan["run_config"],
        "status": run.state,
        "reason": run.reason,
        "description": f"{run.why}: {run.fix}" if run.fix else run.why,
        "exit_code": run.exit_code,
        "created_utc": utc(plan["created"]),
        "start_time_utc": utc(run.started),
        "end_time_utc": utc(run.ended),
        "duration": clock(run.duration_s),
        "experiment_id": experiment_id(plan["project"]),
        "parent_run_id": plan["parent_run_id"] or None,
        "sweep": plan.get("sweep") or None,
        "reproduces": (plan.get("reproduces") or {}).get("run_id"),
        "properties": {"CommitId": plan["origin"]["commit"] or plan["snapshot"]["id"]},
        "snapshot_id": plan["snapshot"]["id"],
        "user_id": plan["user"],
        "attachments": ",".join(attachments),
        "heartbeat_enabled": True,
        "hidden": archived,
        "archived": archived,
        "note": said.get("note"),
        "gpu": _gpu(run),
        **_gpu_numbers(run),
        "exchange": _exchange(run),
        "tags": tags,
        "params": params,
        "metrics": metrics,
    }
    found = {name: value for name, value in metrics.items() if name not in own and isinstance(value, SCALARS)}
    for name, value in params.items():
        if name not in own and isinstance(value, SCALARS):
            found.setdefault(name, value)
    return {**found, **own}


def nested_record(
    plan: dict[str, Any], run: Run, said: dict[str, Any], attachments: list[str], number: str
) -> dict[str, Any]:
    """A run within a run: what it logged itself, the rest as of the run that it is in."""
    since, until = said.get("since"), said.get("until")
    word = said.get("status", "RUNNING")
    state = NESTED_STATES.get(word) or (run.state if run.final else "Running")
    if until is None and word not in NESTED_STATES and run.final:
        until = run.ended
    took = max(0.0, until - since) if since is not None and until is not None else None
    parent = said.get("parent")
    inside = f"outputs/nested/{number}/"
    return record(
        {
            **plan,
            "created": since if since is not None else plan["created"],
            "parent_run_id": plan["run_id"] + (f"-{parent}" if parent else ""),
            "params": {},
        },
        Run(state=state, started=since, ended=until, duration_s=took),
        said,
        [name for name in attachments if name.startswith(inside)],
        f"-{number}",
    )


def _gpu(run: Run) -> dict[str, Any] | None:
    """The proof with what belongs to it; None where nobody looked."""
    if run.proof is None:
        return None
    told = run.proof
    if told.get("verdict") == "no gpu":  # the numbers of a GPU that was not there say nothing
        told = {name: told[name] for name in ("verdict", "cpu_s", "peak_rss_bytes") if name in told}
    return {**told, "driver": run.driver, **({"cause": run.cause} if run.cause else {})}


def _gpu_numbers(run: Run) -> dict[str, Any]:
    proof = run.proof or {}
    there = proof.get("verdict") in ("used", "idle", "not used")
    return {name: proof.get(key) if there else None for name, key in GPU_NUMBERS.items()}


def _exchange(run: Run) -> dict[str, Any] | None:
    if not run.exchange:
        return None
    from jig.store.exchange import total  # few runs have one

    return total(run.exchange)


def utc(seconds: float | None) -> str | None:
    """ISO 8601 in UTC, as the original wrote it."""
    if seconds is None:
        return None
    import time

    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds % 1 * 1e6):06d}+00:00"


def clock(seconds: float | None) -> str | None:
    """A duration as `H:MM:SS.ffffff`, as the original wrote it."""
    if seconds is None:
        return None
    whole = int(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}.{int(seconds % 1 * 1e6):06d}"


def experiment_id(project: str) -> str:
    """A GUID that is the same for every run of the project, on every computer."""
    import hashlib

    digest = hashlib.sha1((GUID_SPACE + project).encode()).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-5{digest[13:16]}-8{digest[17:20]}-{digest[20:32]}"
