"""A plot of one series of 1,000,000 points: the first time, and again, against reading its lines with `json.loads`."""

from __future__ import annotations

import glob
import json
import os
import random
import shutil
import subprocess
import time

import projects
from environments import jig
from figure import Figure
from folders import fresh, kept, read
from timing import best_of, to_the_end_s

POINTS = 1_000_000
A_SECOND = 1.0  # what the whole command may take, from its start to its end
COLD_BAR, WARM_BAR = 0.6, 0.1  # times as long as the floor takes, at most
SPIKE_AT = 654_321
SCRIPT = (
    "import os, shutil, sys\nshutil.copyfile(sys.argv[1], os.path.join(os.environ['JIG_RUN_DIR'], 'metrics.jsonl'))\n"
)
FLOOR = """
import json, sys
values = []
with open(sys.argv[1], "rb") as file:
    for line in file:
        values.append(json.loads(line)["values"]["loss"])
print(len(values))
"""


def measure() -> list[Figure]:
    """Three lines; SystemExit when the spike is lost, which nothing can excuse."""
    path = os.path.join(kept("long-series", read(__file__), _fill), "metrics.jsonl")
    home = fresh("plot", "home")
    project = projects.create(os.path.join(fresh("plot", "project"), "run"), home)
    with open(os.path.join(project, "copy.py"), "w") as file:
        file.write(SCRIPT)
    environ = jig().environ(JIG_HOME=home)
    to_the_end_s((jig().program("jig"), "submit", "-c", "local", "copy.py", path), environ, project)
    (folder,) = glob.glob(os.path.join(home, "runs", "*"))
    argv = (jig().program("jig"), "history", "plot", "-m", "loss")
    floor_argv = (jig().program("python"), "-c", FLOOR, os.path.join(folder, "metrics.jsonl"))
    _check(environ, project)

    def cold() -> float:
        shutil.rmtree(os.path.join(home, "cache", "series"), ignore_errors=True)
        return to_the_end_s(argv, environ, project)

    def warm() -> float:
        return to_the_end_s(argv, environ, project)

    cold_s, floor_s = best_of(3, cold, lambda: to_the_end_s(floor_argv, environ, project))
    (warm_s,) = best_of(5, warm)
    points = f"{POINTS:,} points"
    return [
        Figure("plot", f"{points}, the first time", cold_s, "the bar of", A_SECOND, 1.0),
        Figure("plot", f"{points}, the first time", cold_s, "json.loads of each line", floor_s, COLD_BAR),
        Figure("plot", f"{points}, again", warm_s, "json.loads of each line", floor_s, WARM_BAR),
    ]


def _check(environ: dict[str, str], project: str) -> None:
    """The one spike among a million points must be among the few that are drawn."""
    argv = (jig().program("jig"), "history", "plot", "-m", "loss", "-o", "json")
    (curve,) = json.loads(subprocess.check_output(argv, env=environ, cwd=project))
    if [SPIKE_AT, 9.0] not in curve["points"]:
        raise SystemExit(f"the spike at {SPIKE_AT} is not among the {len(curve['points'])} points that are drawn")


def _fill(folder: str) -> None:
    """Lines as `jig.log("loss", …)` writes them."""
    print(f"plot: writing {POINTS:,} lines", flush=True)
    chance, moment = random.Random(1), time.time() - POINTS * 0.01
    with open(os.path.join(folder, "metrics.jsonl"), "w") as file:
        for number in range(POINTS):
            value = 9.0 if number == SPIKE_AT else chance.random() * 2.3 / (1 + number / 1000)
            file.write(f'{{"time": {moment + number * 0.01:.6f}, "step": {number}, "values": {{"loss": {value!r}}}}}\n')
