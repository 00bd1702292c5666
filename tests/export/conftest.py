"""A real MLflow, and a way to read back everything that a store of its holds."""

import json
import os
import subprocess

import pytest

from tests.mlflow import venvs

READ = """
import hashlib, json, os, sys, tempfile
from mlflow import MlflowClient

client, found = MlflowClient(tracking_uri=sys.argv[1]), {}
names = {one.experiment_id: one.name for one in client.search_experiments()}
for run in client.search_runs(list(names), max_results=1000):
    info, files = run.info, {}
    with tempfile.TemporaryDirectory() as folder:
        there = client.download_artifacts(info.run_id, "", folder)
        for parent, _, here in os.walk(there):
            for name in here:
                with open(os.path.join(parent, name), "rb") as file:
                    files[os.path.relpath(os.path.join(parent, name), there)] = hashlib.sha256(file.read()).hexdigest()
    history = {
        key: [[point.step, point.timestamp, repr(point.value)] for point in client.get_metric_history(info.run_id, key)]
        for key in run.data.metrics
    }
    told = {"experiment": names[info.experiment_id], "status": info.status, "start": info.start_time}
    told.update(end=info.end_time, name=info.run_name, user=info.user_id, id=info.run_id)
    told.update(params=run.data.params, tags=run.data.tags, metrics=history, files=files)
    found.setdefault(run.data.tags.get("jig.run_id", info.run_id), []).append(told)
json.dump(found, sys.stdout)
"""
QUIET = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_ALLOW_FILE_STORE": "true"}


class Mlflow:
    """A store of MLflow's, and an interpreter that has it."""

    def __init__(self, python, uri) -> None:
        self.python, self.uri = str(python), uri

    def run(self, code: str, *words: str) -> str:
        environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        done = subprocess.run(
            [self.python, "-c", code, self.uri, *words],
            env={**environ, **QUIET},
            capture_output=True,
            text=True,
            timeout=100,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def read(self):
        """Every run, by jig's id: one each, or something was made twice."""
        found = json.loads(self.run(READ))
        assert all(len(runs) == 1 for runs in found.values()), found.keys()
        return {run_id: runs[0] for run_id, runs in found.items()}

    @property
    def words(self) -> "tuple[str, ...]":
        return ("--to", self.uri, "--python", self.python)


@pytest.fixture(scope="session")
def mlflow_python():
    """An interpreter that has all of MLflow 3."""
    return venvs.python_with("whole")


@pytest.fixture(params=["sqlite", "file"])
def mlflow(request, mlflow_python, tmp_path):
    """An empty store of either kind."""
    return Mlflow(
        mlflow_python, f"sqlite:///{tmp_path}/ml/a.db" if request.param == "sqlite" else f"file://{tmp_path}/ml"
    )


@pytest.fixture
def database(mlflow_python, tmp_path):
    """An empty store in SQLite."""
    return Mlflow(mlflow_python, f"sqlite:///{tmp_path}/ml/a.db")
