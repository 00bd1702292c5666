"""From the start of a submit to the script's line at the reader: against bare Python, mlflow and Guild AI."""

from __future__ import annotations

import os

import projects
from environments import guild, jig, mlflow
from figure import Figure
from folders import fresh
from timing import best_of, to_the_line_s

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

FLOOR_BAR, MLFLOW_BAR, GUILD_BAR = 10.0, 15.0, 3.0
ROUNDS = 20
PEER_ROUNDS = 5
LINE = "hello"
MLPROJECT = "name: hello\nentry_points:\n  main:\n    command: python hello.py\n"


def measure() -> list[Figure]:
    """Against the floor with many rounds, then against the peers with few: they take seconds."""
    ours = _ours(fresh("submit", "jig"))
    python = jig().program("python")
    folder = projects.hello(fresh("submit", "bare"))

    def floor() -> float:
        return to_the_line_s((python, "hello.py"), LINE, jig().environ(), folder)

    peers = (_mlflow(fresh("submit", "mlflow")), _guild(fresh("submit", "guild")))
    for side in (ours, floor, *peers):
        side()  # the first run of each makes its databases, caches and bytecode
    ours_s, floor_s = best_of(ROUNDS, ours, floor)
    ours_again_s, mlflow_s, guild_s = best_of(PEER_ROUNDS, ours, *peers)
    return [
        Figure("submit", "jig submit", ours_s, "python hello.py", floor_s, FLOOR_BAR),
        Figure("submit", "jig submit", ours_again_s, "mlflow run", mlflow_s, MLFLOW_BAR, faster=True),
        Figure("submit", "jig submit", ours_again_s, "guild run", guild_s, GUILD_BAR, faster=True),
    ]


def _ours(folder: str) -> Callable[[], float]:
    home = os.path.join(folder, "home")
    project = projects.hello(projects.create(os.path.join(folder, "project"), home))
    argv = (jig().program("jig"), "submit", "-c", "local", "hello.py")
    return lambda: to_the_line_s(argv, LINE, jig().environ(JIG_HOME=home), project)


def _mlflow(folder: str) -> Callable[[], float]:
    projects.hello(folder, **{"MLproject": MLPROJECT, ".gitignore": "mlflow.db\nmlruns/\n"})
    argv = (mlflow().program("mlflow"), "run", ".", "--env-manager", "local")
    # Nothing that waits for a network is held against it.
    environ = mlflow().environ(MLFLOW_DISABLE_TELEMETRY="true", DO_NOT_TRACK="true")
    return lambda: to_the_line_s(argv, LINE, environ, folder)


def _guild(folder: str) -> Callable[[], float]:
    project = projects.hello(os.path.join(folder, "project"))
    home = os.path.join(folder, "home")
    os.mkdir(home)  # it does not make one
    argv = (guild().program("guild"), "run", "hello.py", "-y")
    return lambda: to_the_line_s(argv, LINE, guild().environ(GUILD_HOME=home), project)
