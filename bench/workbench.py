"""The Workbench, seen by a browser: starting, 10,000 runs, a log that grows fast, many open pages, doing nothing."""

from __future__ import annotations

import json
import os
import subprocess

import many_runs
from environments import app
from figure import Figure
from folders import SOURCE, fresh, write

RUNS = 10_000
BAR = 2.0
FLOOR = """\
import sys, uvicorn
from fastapi import FastAPI
from nicegui import ui
@ui.page("/")
def page(): ui.label("hello")
outer = FastAPI()
ui.run_with(outer, show_welcome_message=False)
uvicorn.run(outer, port=int(sys.argv[1]), log_level="critical")
"""
# What a person waits for, or minds: seconds.
PAINT_S, FRAME_S, ANSWER_S, NEWS_S, IDLE_S = 1.0, 0.25, 0.5, 1.0, 0.1


def measure() -> list[Figure]:
    """A browser does it, in a process of its own."""
    found = _looked()
    return [
        Figure("workbench", "start to first answer", found["start_s"], "bare NiceGUI page", found["floor_s"], BAR),
        Figure("workbench", f"{RUNS:,} runs, first row painted", found["paint_s"], "limit", PAINT_S, 1.0),
        Figure("workbench", "10,000 lines/s, longest gap of frames", found["frame_s"], "limit", FRAME_S, 1.0),
        Figure("workbench", "10,000 lines/s, slowest answer", found["log_answer_s"], "limit", ANSWER_S, 1.0),
        Figure("workbench", "20 pages open, slowest answer", found["pages_answer_s"], "limit", ANSWER_S, 1.0),
        Figure("workbench", "submit until it is in the page", found["news_s"], "limit", NEWS_S, 1.0),
        Figure("workbench", "idle with a page, CPU in 10 s", found["idle_s"], "1 % of 10 s", IDLE_S, 1.0),
    ]


def _looked() -> dict[str, float]:
    home, folder = many_runs.ours(RUNS, of=1), fresh("workbench")
    write(os.path.join(folder, "floor.py"), FLOOR)
    argv = (app().program("python"), os.path.join(SOURCE, "bench", "workbench_page.py"), folder)
    done = subprocess.run(argv, env=app().environ(JIG_HOME=home), capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"the browser's part ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found
