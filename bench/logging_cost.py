"""What `jig.log` of a scalar costs, and that a kill right after it loses nothing: `metrics.py`, run by jig's Python.

The same of other trackers is there to be read: theirs is not in a file when the call returns, or takes a database.
"""

from __future__ import annotations

import json
import os
import subprocess

import environments
from environments import jig
from figure import Figure
from folders import SOURCE, empty_home, fresh

TYPE_CHECKING = False
if TYPE_CHECKING:
    from environments import Venv

CODE = """
import json, metrics
metric_us, floor_us = metrics.cost()
kept = [metrics.lines_after_kill(count) for count in metrics.KILLED_AFTER]
print(json.dumps([metric_us, floor_us, metrics.BAR, kept == list(metrics.KILLED_AFTER)]))
"""
PEERS = {
    "trackio": ("trackio", environments.trackio),
    "wandb offline": ("wandb", environments.wandb),
    "mlflow on SQLite": ("mlflow", environments.mlflow),
}


def measure() -> list[Figure]:
    """One line with a bar, and one for each peer; SystemExit when a kill lost a metric, which nothing can excuse."""
    argv = (jig().program("python"), "-c", CODE)
    told = subprocess.check_output(argv, cwd=os.path.join(SOURCE, "bench"), env=jig().environ(), text=True)
    metric_us, floor_us, bar, all_kept = json.loads(told)
    if not all_kept:
        raise SystemExit("kill -9 right after jig.log lost a metric")
    ours = Figure("log", "jig.log", metric_us * 1e-6, "json line, flushed", floor_us * 1e-6, bar)
    peers = [
        Figure("log", "jig.log", metric_us * 1e-6, label, _peer_us(name, venv()) * 1e-6, faster=True)
        for label, (name, venv) in PEERS.items()
    ]
    return [ours, *peers]


def _peer_us(name: str, venv: Venv) -> float:
    argv = (venv.program("python"), os.path.join(SOURCE, "bench", "peers_log.py"), name, fresh("peers-log"))
    done = subprocess.run(argv, cwd=empty_home(), env=venv.environ(), capture_output=True, text=True, check=False)
    found = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("microseconds ")]
    if done.returncode or len(found) != 1:
        raise SystemExit(f"{name} could not be measured:\n{done.stdout}{done.stderr}")
    return float(found[0])
