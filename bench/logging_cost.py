"""What `jig.log` of a scalar costs, and that a kill right after it loses nothing: `metrics.py`, run by jig's Python."""

from __future__ import annotations

import json
import os
import subprocess

from environments import jig
from figure import Figure
from folders import SOURCE

CODE = """
import json, metrics
metric_us, floor_us = metrics.cost()
kept = [metrics.lines_after_kill(count) for count in metrics.KILLED_AFTER]
print(json.dumps([metric_us, floor_us, metrics.BAR, kept == list(metrics.KILLED_AFTER)]))
"""


def measure() -> list[Figure]:
    """One line; SystemExit when a kill lost a metric, which no second try can excuse."""
    argv = (jig().program("python"), "-c", CODE)
    told = subprocess.check_output(argv, cwd=os.path.join(SOURCE, "bench"), env=jig().environ(), text=True)
    metric_us, floor_us, bar, all_kept = json.loads(told)
    if not all_kept:
        raise SystemExit("kill -9 right after jig.log lost a metric")
    return [Figure("log", "jig.log", metric_us * 1e-6, "json line, flushed", floor_us * 1e-6, bar)]
