"""Listing runs: the latest of 10,000 against Guild AI and mlflow; 100,000 with ten million points, by a query too."""

from __future__ import annotations

import json
import os
import subprocess

import many_runs
from environments import guild, jig, mlflow, source_stamp
from figure import Figure
from folders import read, write
from timing import best_of, to_the_end_s

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

FLOOR_BAR, QUERY_BAR, GUILD_BAR, MLFLOW_BAR = 3.0, 8.0, 10.0, 40.0
REBUILT_PER_S = 2_000
ROUNDS = 20
PEER_ROUNDS = 5
RUNS = 100_000
FEWER_RUNS = 10_000
LISTED = 50
QUERY = ("--where", 'accuracy > 0.5 and target = "t3" and lr = 0.01', "--sort", "-accuracy")


def measure() -> list[Figure]:
    """Against the floor with many rounds, then against the peers with few: they take seconds."""
    home = many_runs.ours(RUNS)
    rebuilt_s = _rebuilt_s(home)
    listing, query = _listed(home), _listed(home, *QUERY)
    _check(listing, query)
    floor = _timed((jig().program("jig"), "--version"), home)
    listing_s, query_s, floor_s = best_of(ROUNDS, _timed(listing, home), _timed(query, home), floor)
    return [
        Figure("listing", f"{LISTED} of {RUNS:,}", listing_s, "jig --version", floor_s, FLOOR_BAR),
        Figure("listing", f"filter and sort {RUNS:,}", query_s, "jig --version", floor_s, QUERY_BAR),
        Figure(
            "listing", f"rebuild {RUNS:,}", rebuilt_s, "2,000 runs a second", RUNS / REBUILT_PER_S, 1.0, faster=True
        ),
        *_peers(),
    ]


def _peers() -> list[Figure]:
    home = many_runs.ours(FEWER_RUNS)
    argv = _listed(home)
    to_the_end_s(argv, jig().environ(JIG_HOME=home), home)  # the first one makes the index
    store, guild_home = many_runs.of_mlflow(FEWER_RUNS), many_runs.of_guild(FEWER_RUNS)
    of_mlflow = mlflow().environ(
        MLFLOW_TRACKING_URI=f"sqlite:///{store}", MLFLOW_DISABLE_TELEMETRY="true", DO_NOT_TRACK="true"
    )
    ours_s, mlflow_s, guild_s = best_of(
        PEER_ROUNDS,
        _timed(argv, home),
        lambda: to_the_end_s((mlflow().program("mlflow"), "runs", "list", "--experiment-id", "0"), of_mlflow, home),
        lambda: to_the_end_s(
            (guild().program("guild"), "runs", "-n", str(LISTED)), guild().environ(GUILD_HOME=guild_home), home
        ),
    )
    shown = f"{LISTED} of {FEWER_RUNS:,}"
    return [
        Figure("listing", shown, ours_s, "guild runs", guild_s, GUILD_BAR, faster=True),
        Figure("listing", shown, ours_s, "mlflow runs list", mlflow_s, MLFLOW_BAR, faster=True),
    ]


def _listed(home: str, *more: str) -> tuple[str, ...]:
    return (jig().program("jig"), "history", "list", "--all", "-n", str(LISTED), "-o", "json", *more)


def _timed(argv: Sequence[str], home: str) -> Callable[[], float]:
    return lambda: to_the_end_s(argv, jig().environ(JIG_HOME=home), home)


def _check(listing: Sequence[str], query: Sequence[str]) -> None:
    """The right runs, or what follows is no figure."""
    found = _found(listing)
    if [record["run_number"] for record in found] != list(range(RUNS, RUNS - LISTED, -1)):
        raise SystemExit(f"the listing is not the latest {LISTED} runs of {RUNS}")
    found = _found(query)
    scores = [record["accuracy"] for record in found]
    wrong = [one for one in found if (one["target"], one["lr"]) != ("t3", 0.01)]
    if len(found) != LISTED or wrong or scores != sorted(scores, reverse=True) or scores[-1] < 0.9:
        raise SystemExit(f"the query found other runs than the best {LISTED}")


def _found(argv: Sequence[str]) -> list[dict[str, Any]]:
    home = many_runs.ours(RUNS)
    found: list[dict[str, Any]] = json.loads(subprocess.check_output(argv, env=jig().environ(JIG_HOME=home), cwd=home))
    return found


def _rebuilt_s(home: str) -> float:
    """Seconds in which jig builds its index from the folders; measured once for each version of jig."""
    noted = os.path.join(home, "indexed")
    stamp, _, seconds = read(noted).partition("\n")
    if stamp != source_stamp():
        argv = (jig().program("jig"), "history", "rebuild")
        environ = jig().environ(JIG_HOME=home)
        to_the_end_s(argv, environ, home)  # the folders come from the disk into memory
        seconds = str(to_the_end_s(argv, environ, home))
        write(noted, f"{source_stamp()}\n{seconds}")
    return float(seconds)
