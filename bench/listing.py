"""The latest 50 of 100,000 runs, as JSON into a pipe, against `jig --version`."""

from __future__ import annotations

import glob
import hashlib
import json
import os
import shutil
import subprocess
import time

import projects
from environments import jig, source_stamp
from figure import Figure
from folders import fresh, kept, read, write
from timing import best_of, to_the_end_s

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BAR = 3.0
ROUNDS = 20
RUNS = 100_000
PROJECTS = 10
MINUTE_S = 60
LISTED = 50
COPIED = ("metrics.jsonl", "output.log", "lock")  # as they are; plan.json and events.jsonl get values of their own


def measure() -> list[Figure]:
    """One line; how fast the index was built is told on the way."""
    venv, home = jig(), _many_runs()
    environ = venv.environ(JIG_HOME=home)
    argv = (venv.program("jig"), "history", "list", "--all", "-n", str(LISTED), "-o", "json")
    _build_index(home)
    _check(json.loads(subprocess.check_output(argv, env=environ, cwd=home)))
    ours_s, floor_s = best_of(
        ROUNDS,
        lambda: to_the_end_s(argv, environ, home),
        lambda: to_the_end_s((venv.program("jig"), "--version"), environ, home),
    )
    return [Figure("listing", f"jig history list -n {LISTED}", ours_s, "jig --version", floor_s, BAR)]


def _check(listed: list[dict[str, Any]]) -> None:
    numbers = [record["run_number"] for record in listed]
    if numbers != list(range(RUNS, RUNS - LISTED, -1)):
        raise SystemExit(f"the listing is not the latest {LISTED} runs of {RUNS}: {numbers}")


def _build_index(home: str) -> None:
    """Let jig build its index from the folders, once for each version of jig, and say how fast that was."""
    noted = os.path.join(home, "indexed")
    stamp, _, told = read(noted).partition("\n")
    if stamp != source_stamp():
        argv = (jig().program("jig"), "history", "rebuild")
        seconds = to_the_end_s(argv, jig().environ(JIG_HOME=home), home)
        told = f"listing: the index of {RUNS:,} runs is built in {seconds:.1f} s, {RUNS / seconds:,.0f} runs a second"
        write(noted, source_stamp() + "\n" + told)
    print(told, flush=True)


def _many_runs() -> str:
    """A jig home with copies of one real run, each with an id, a number and times of its own; kept between calls."""
    model = _real_run()
    stamp = hashlib.sha256((_shape(model) + read(__file__)).encode()).hexdigest()
    return kept("many-runs", stamp, lambda home: _fill(home, model))


def _fill(home: str, model: str) -> None:
    print(f"listing: making {RUNS:,} run folders", flush=True)
    plan = json.loads(read(os.path.join(model, "plan.json")))
    events = [json.loads(line) for line in read(os.path.join(model, "events.jsonl")).splitlines()]
    oldest_s = time.time() - RUNS * MINUTE_S - plan["created"]
    with open(os.path.join(home, "order"), "w") as order:
        for number in range(1, RUNS + 1):
            run_id, folder = _copy(model, home, plan, events, number, oldest_s + number * MINUTE_S)
            order.write(json.dumps([number, run_id, folder]) + "\n")


def _copy(
    model: str, home: str, plan: dict[str, Any], events: list[dict[str, Any]], number: int, later_s: float
) -> tuple[str, str]:
    project = f"{plan['project']}{number % PROJECTS}"
    created = plan["created"] + later_s
    run_id = f"{project}_{int(created * 1000)}"
    folder = os.path.join(home, "runs", run_id)
    os.makedirs(folder)
    for name in COPIED:
        shutil.copyfile(os.path.join(model, name), os.path.join(folder, name))
    own = {**plan, "run_id": run_id, "number": number, "created": created, "project": project}
    write(os.path.join(folder, "plan.json"), json.dumps(own, indent=1) + "\n")
    lines = [json.dumps({**event, "time": event["time"] + later_s}) + "\n" for event in events]
    write(os.path.join(folder, "events.jsonl"), "".join(lines))
    return run_id, folder


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
    lines = [read(os.path.join(folder, name)).splitlines() for name in ("events.jsonl", "metrics.jsonl")]
    return json.dumps([kinds(plan), kinds([[json.loads(line) for line in file] for file in lines])])
