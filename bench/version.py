"""The start-up of the command line: `jig --version` against an interpreter that does nothing."""

from __future__ import annotations

from environments import jig
from figure import Figure
from folders import fresh
from timing import best_of, to_the_end_s

BAR = 4.0
ROUNDS = 40


def measure() -> list[Figure]:
    """One line."""
    venv, folder = jig(), fresh("version")
    environ = venv.environ(JIG_HOME=folder)
    ours_s, floor_s = best_of(
        ROUNDS,
        lambda: to_the_end_s((venv.program("jig"), "--version"), environ, folder),
        lambda: to_the_end_s((venv.program("python"), "-c", "pass"), environ, folder),
    )
    return [Figure("version", "jig --version", ours_s, "python -c pass", floor_s, BAR)]
