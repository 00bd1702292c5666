"""Homes full of runs: copies of one real run, each with an id, numbers, times and points of its own."""

from __future__ import annotations

import functools
import glob
import hashlib
import json
import os
import random
import shutil
import sqlite3
import subprocess
import time
import uuid

import projects
from environments import guild, jig, mlflow
from folders import fresh, kept, read, write
from timing import to_the_end_s

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

PROJECTS = 10
TARGETS = 7
POINTS = 100  # of each of our runs
MINUTE_S = 60
COPIED = ("output.log", "lock", "system.jsonl")  # as they are; plan, events and metrics get values of their own
LOGS = """
import sys, mlflow
mlflow.set_tracking_uri("sqlite:///" + sys.argv[1])
with mlflow.start_run(experiment_id="0"):
    mlflow.log_params({"lr": 0.1})
    mlflow.log_metrics({"loss": 0.5, "accuracy": 0.9})
"""
# MLflow's tables with a row, or some, for each run.
MLFLOW_TABLES = {
    "runs": "run_uuid",
    "params": "run_uuid",
    "metrics": "run_uuid",
    "latest_metrics": "run_uuid",
    "tags": "run_uuid",
}


def ours(count: int, of: int = PROJECTS) -> str:
    """A jig home with so many runs of some projects, with a hundred points each; kept between calls."""
    model = _real_run()
    stamp = hashlib.sha256((_shape(model) + read(__file__)).encode()).hexdigest()
    name = f"many-runs-{count}" + (f"-of-{of}" if of != PROJECTS else "")
    return kept(name, stamp, lambda home: _fill(home, model, count, of))


def _fill(home: str, model: str, count: int, of: int) -> None:
    print(f"making {count:,} run folders", flush=True)
    plan = json.loads(read(os.path.join(model, "plan.json")))
    events = [json.loads(line) for line in read(os.path.join(model, "events.jsonl")).splitlines()]
    oldest_s = time.time() - count * MINUTE_S - plan["created"]
    points = _points()
    with open(os.path.join(home, "order"), "w") as order:
        for number in range(1, count + 1):
            later_s = oldest_s + number * MINUTE_S
            own = {**plan, "project": f"{plan['project']}{number % of}"}
            run_id, folder = _copy(model, home, own, events, number, later_s)
            write(os.path.join(folder, "metrics.jsonl"), next(points))
            order.write(json.dumps([number, run_id, folder]) + "\n")


def _points() -> Iterator[str]:
    """What each run has logged: a curve that many share, a parameter, a tag, and an accuracy of its own."""
    some = random.Random(1)
    curves = [
        "".join(
            json.dumps({"time": 1794828887.5 + step, "step": step, "values": {"loss": some.random()}}) + "\n"
            for step in range(POINTS - 1)
        )
        for _ in range(50)
    ]
    while True:
        said = (
            {"params": {"lr": some.choice((0.1, 0.01, 0.001)), "optimizer": "adam"}},
            {"tags": {"stage": some.choice(("draft", "final"))}},
            {"values": {"accuracy": some.random()}},
        )
        yield some.choice(curves) + "".join(json.dumps({"time": 1794828999.5, **one}) + "\n" for one in said)


def _copy(
    model: str, home: str, plan: dict[str, Any], events: list[dict[str, Any]], number: int, later_s: float
) -> tuple[str, str]:
    project = plan["project"]
    created = plan["created"] + later_s
    run_id = f"{project}_{int(created * 1000)}"
    folder = os.path.join(home, "runs", run_id)
    os.makedirs(os.path.join(folder, "work", "outputs"))
    write(os.path.join(folder, "work", "outputs", "model.txt"), "a model\n")
    for name in COPIED:
        if os.path.exists(os.path.join(model, name)):
            shutil.copyfile(os.path.join(model, name), os.path.join(folder, name))
    changed = {
        "run_id": run_id,
        "number": number,
        "created": created,
        "target": f"t{number % TARGETS}",
    }
    write(os.path.join(folder, "plan.json"), json.dumps({**plan, **changed}, indent=1) + "\n")
    lines = [json.dumps({**event, "time": event["time"] + later_s}) + "\n" for event in events]
    write(os.path.join(folder, "events.jsonl"), "".join(lines))
    return run_id, folder


@functools.cache
def _real_run() -> str:
    """The folder of a run that jig itself made just now."""
    home = fresh("listing", "home")
    project = projects.create(os.path.join(fresh("listing", "project"), "run"), home)
    argv = (jig().program("jig"), "submit", "-c", "local", "hello.py")
    to_the_end_s(argv, jig().environ(JIG_HOME=home), project)
    (folder,) = glob.glob(os.path.join(home, "runs", "*"))
    return folder


def _shape(folder: str) -> str:
    """The keys and kinds of values in a run's files: when jig writes other ones the copies are made again."""

    def kinds(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: kinds(inner) for key, inner in value.items()}
        return [kinds(inner) for inner in value] if isinstance(value, list) else type(value).__name__

    plan = json.loads(read(os.path.join(folder, "plan.json")))
    lines = read(os.path.join(folder, "events.jsonl")).splitlines()
    return json.dumps([kinds(plan), kinds([json.loads(line) for line in lines])])


def of_mlflow(count: int) -> str:
    """The SQLite file of an MLflow store with so many runs; kept between calls."""
    stamp = f"{mlflow().version()} {count} {LOGS}"
    return os.path.join(kept("many-runs-mlflow", stamp, lambda folder: _fill_mlflow(folder, count)), "mlflow.db")


def _fill_mlflow(folder: str, count: int) -> None:
    print(f"making {count:,} runs of mlflow", flush=True)
    path = os.path.join(folder, "mlflow.db")
    script = os.path.join(folder, "logs.py")
    write(script, LOGS)
    environ = mlflow().environ(MLFLOW_DISABLE_TELEMETRY="true", DO_NOT_TRACK="true")
    subprocess.run((mlflow().program("python"), script, path), env=environ, cwd=folder, check=True, capture_output=True)
    with sqlite3.connect(path) as db:
        for table, key in MLFLOW_TABLES.items():
            db.row_factory = sqlite3.Row
            rows = [dict(row) for row in db.execute(f"SELECT * FROM {table}")]
            names = ", ".join(rows[0])
            places = ", ".join(f":{name}" for name in rows[0])
            statement = f"INSERT INTO {table} ({names}) VALUES ({places})"
            ids = (uuid.uuid5(uuid.NAMESPACE_OID, str(number)).hex for number in range(1, count))
            db.executemany(statement, ({**row, key: run_id} for run_id in ids for row in rows))


def of_guild(count: int) -> str:
    """A Guild home with so many runs; kept between calls."""
    stamp = f"{guild().version()} {count}"
    return os.path.join(kept("many-runs-guild", stamp, lambda folder: _fill_guild(folder, count)), "home")


def _fill_guild(folder: str, count: int) -> None:
    print(f"making {count:,} runs of guild", flush=True)
    home = os.path.join(folder, "home")
    os.mkdir(home)
    project = projects.hello(os.path.join(folder, "project"))
    argv = (guild().program("guild"), "run", "hello.py", "-y")
    to_the_end_s(argv, guild().environ(GUILD_HOME=home), project)
    (model,) = glob.glob(os.path.join(home, "runs", "*"))
    for number in range(1, count):
        run_id = uuid.uuid5(uuid.NAMESPACE_OID, str(number)).hex
        place = os.path.join(home, "runs", run_id)
        shutil.copytree(model, place, symlinks=True)
        attributes = os.path.join(place, ".guild", "attrs")
        for name in ("started", "stopped", "initialized"):
            path = os.path.join(attributes, name)
            if os.path.exists(path):
                write(path, str(int(read(path)) - number * MINUTE_S * 1_000_000))
        write(os.path.join(attributes, "id"), run_id)
