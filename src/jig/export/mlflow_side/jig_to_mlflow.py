"""Writes into an MLflow store what jig sends on standard input; run by an interpreter that has mlflow.

It knows nothing of jig and imports nothing of it: requests and answers are JSON, one a line. Reads on Python 3.8.
"""

from __future__ import annotations

import json
import os
import sys
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PLACE = "jig.exported"  # how many points of each file are there already
ID = "jig.run_id"


class Store:
    """The MLflow store that is written to."""

    def __init__(self, uri: str) -> None:
        mlflow = import_module("mlflow")
        entities = import_module("mlflow.entities")
        self.faults: Any = (import_module("mlflow.exceptions").MlflowException, ImportError, OSError, ValueError)
        if "sqlalchemy" in sys.modules:
            self.faults += (sys.modules["sqlalchemy"].exc.SQLAlchemyError,)
        self.version = str(mlflow.__version__)
        self._uri = uri
        self._metric, self._param, self._tag = entities.Metric, entities.Param, entities.RunTag
        self._client: Any = None
        self._experiments: dict[str, str] = {}

    def connect(self, request: dict[str, Any]) -> dict[str, Any]:
        """Reach the store, which is asked something that costs little."""
        self._client = import_module("mlflow").MlflowClient(tracking_uri=self._uri)
        self._client.search_experiments(max_results=1)
        return {"ready": self.version}

    def _experiment(self, name: str) -> str:
        if name not in self._experiments:
            found = self._client.get_experiment_by_name(name)
            if found is not None and found.lifecycle_stage != "active":
                raise ValueError(f"the experiment {name!r} was deleted in MLflow; restore it, or name another")
            self._experiments[name] = found.experiment_id if found else self._client.create_experiment(name)
        return self._experiments[name]

    def _find(self, experiment: str, jig_id: str) -> Any:
        found = self._client.search_runs([experiment], f"tags.`{ID}` = '{jig_id}'", max_results=1)
        return found[0] if found else None

    def open(self, request: dict[str, Any]) -> dict[str, Any]:
        """The run for a run of jig's, made when it is not there yet, and what it has already."""
        experiment = self._experiment(request["experiment"])
        tags = dict(request["tags"])
        parent = self._find(experiment, request["parent"]) if request["parent"] else None
        if parent is not None:
            tags["mlflow.parentRunId"] = parent.info.run_id
        run = self._find(experiment, tags[ID])
        known = run is not None
        if not known:
            run = self._client.create_run(
                experiment, start_time=request["start_ms"], tags=tags, run_name=request["name"]
            )
        elif parent is not None:
            self._client.set_tag(run.info.run_id, "mlflow.parentRunId", parent.info.run_id)
        run_id = run.info.run_id
        done = json.loads(run.data.tags.get(PLACE) or "{}")
        return {"run": run_id, "known": known, "done": done, "params": run.data.params, "tags": run.data.tags}

    def batch(self, request: dict[str, Any]) -> dict[str, Any]:
        """Points, parameters and tags; with `check`, only those points that are not there yet."""
        run, rows = request["run"], request.get("metrics", ())
        if request.get("check") and rows:
            there = {
                (key, repr(_held(point.value)), point.timestamp, point.step)
                for key in sorted({row[0] for row in rows})
                for point in self._client.get_metric_history(run, key)
            }
            rows = [row for row in rows if (row[0], repr(_held(row[1])), row[2], row[3]) not in there]
        self._client.log_batch(
            run,
            metrics=[self._metric(key, value, time_ms, step) for key, value, time_ms, step in rows],
            params=[self._param(key, value) for key, value in request.get("params", {}).items()],
            tags=[self._tag(key, value) for key, value in request.get("tags", {}).items()],
        )
        return {"sent": len(rows)}

    def file(self, request: dict[str, Any]) -> dict[str, Any]:
        """A file among the run's artifacts."""
        self._client.log_artifact(request["run"], request["path"], request["folder"] or None)
        return {"sent": 1}

    def remove(self, request: dict[str, Any]) -> dict[str, Any]:
        """A tag less."""
        self._client.delete_tag(request["run"], request["tag"])
        return {"removed": 1}

    def end(self, request: dict[str, Any]) -> dict[str, Any]:
        """How the run is, and when it ended if it has."""
        if request["end_ms"] is None:
            self._client.update_run(request["run"], status=request["status"])
        else:
            self._client.set_terminated(request["run"], request["status"], request["end_ms"])
        return {"ended": 1}


def _held(value: float) -> float:
    """The value as databases of MLflow keep it: they have no infinities and no negative zero."""
    return max(-1.7976931348623157e308, min(1.7976931348623157e308, float(value))) + 0.0 if value == value else value


def _said(error: BaseException) -> str:
    return " ".join(str(error).split())[:2000] or type(error).__name__


def main() -> int:
    """Answer each request with one line, until there are no more."""
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # what mlflow prints is no answer

    def answer(told: dict[str, Any]) -> None:
        answers.write(json.dumps(told) + "\n")
        answers.flush()

    requests = os.fdopen(os.dup(0), encoding="utf-8")
    first = json.loads(requests.readline())
    if first["folder"]:
        os.chdir(first["folder"])
    try:
        store = Store(first["uri"])
    except ImportError as error:
        answer({"missing": _said(error)})
        return 1
    return serve(store, requests, answer)


def serve(store: Store, requests: Any, answer: Any) -> int:
    """The conversation after its first line."""
    ask = {name: getattr(store, name) for name in ("connect", "open", "batch", "file", "remove", "end")}
    for line in requests:
        request = json.loads(line)
        try:
            answer(ask[request["ask"]](request))
        except store.faults as error:
            answer({"error": _said(error)})
    return 0


if __name__ == "__main__":
    sys.exit(main())
