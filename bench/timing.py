"""Timing commands and calls: best of several, taken in turns, so that both sides see the same machine."""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

BUSY_LOAD = 0.7


def best_of(rounds: int, *sides: Callable[[], float]) -> list[float]:
    """The smallest number that each side returned."""
    return [min(times) for times in _in_turns(rounds, sides)]


def median_of(rounds: int, *sides: Callable[[], float]) -> list[float]:
    """The middle of what each side returned: for what differs by itself from one time to the next."""
    return [statistics.median(times) for times in _in_turns(rounds, sides)]


def _in_turns(rounds: int, sides: Sequence[Callable[[], float]]) -> list[list[float]]:
    """What each side returned; every other round goes backwards, so that none is always last."""
    times: list[list[float]] = [[] for _ in sides]
    for number in range(rounds):
        order = range(len(sides)) if number % 2 == 0 else reversed(range(len(sides)))
        for side in order:
            times[side].append(sides[side]())
    return times


def to_the_end_s(argv: Sequence[str], environ: Mapping[str, str], folder: str) -> float:
    """Seconds from start to end of a command whose output goes to a pipe; SystemExit when it fails."""
    start = time.perf_counter()
    done = subprocess.run(argv, env=environ, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    seconds = time.perf_counter() - start
    if done.returncode:
        told = (done.stdout + done.stderr).decode(errors="replace")
        raise SystemExit(f"{' '.join(argv)} ended with {done.returncode}:\n{told}")
    return seconds


def to_the_line_s(argv: Sequence[str], line: str, environ: Mapping[str, str], folder: str) -> float:
    """Seconds from start until this line comes out of the pipe; waits for the command's end, and that it ends well."""
    seconds, wanted = None, line.encode() + b"\n"
    with tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        with subprocess.Popen(
            argv, env=environ, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors
        ) as process:
            for heard in process.stdout or ():
                if heard == wanted and seconds is None:
                    seconds = time.perf_counter() - start
        if seconds is None or process.returncode:
            errors.seek(0)
            told = errors.read().decode(errors="replace")
            raise SystemExit(f"{' '.join(argv)} ended with {process.returncode} and did not print {line!r}:\n{told}")
    return seconds


def busy() -> str:
    """A warning when others are using the machine, else nothing."""
    load = os.getloadavg()[0]
    return f"warning: the load average is {load:.2f}; figures from a busy machine are noise" if load > BUSY_LOAD else ""
