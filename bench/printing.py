"""A script that prints a lot: how long its own printing takes under `jig submit` and redirected to a file."""

from __future__ import annotations

import glob
import os
import shutil
import subprocess

import projects
from environments import jig
from figure import Figure
from folders import fresh, read, write
from timing import best_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

BAR = 1.05
ROUNDS = 6
BLOCKS = 1000  # of 1 MB
LINES = 1_000_000  # of 80 bytes: each is a write of its own, so 1 GB would take minutes

# The script takes its own time, and leaves it where it was told to.
SCRIPT = """\
import sys, time

kind, count, place = sys.argv[1], int(sys.argv[2]), sys.argv[3]
block, line = b"x" * 999_999 + b"\\n", "x" * 79
start = time.monotonic()
if kind == "blocks":
    for _ in range(count):
        sys.stdout.buffer.write(block)
    sys.stdout.flush()
else:
    for _ in range(count):
        print(line)
seconds = time.monotonic() - start
with open(place, "w") as file:
    file.write(repr(seconds))
"""


def measure() -> list[Figure]:
    """Two lines: blocks of 1 MB, and lines."""
    folder = fresh("printing")
    projects.create(os.path.join(folder, "project"), os.path.join(folder, "home"))
    write(os.path.join(folder, "project", "print.py"), SCRIPT)
    blocks = best_of(ROUNDS, *_sides(folder, "blocks", BLOCKS, BLOCKS * 10**6))
    lines = best_of(ROUNDS, *_sides(folder, "lines", LINES, LINES * 80))
    return [
        Figure("printing", "1 GB in 1 MB blocks", blocks[0], "redirected", blocks[1], BAR),
        Figure("printing", f"{LINES * 80 // 10**6} MB in lines", lines[0], "redirected", lines[1], BAR),
    ]


def _sides(folder: str, kind: str, count: int, size: int) -> tuple[Callable[[], float], Callable[[], float]]:
    """The script under jig, followed into nothing, and the script redirected to a file on the same disk."""
    noted, runs = os.path.join(folder, "seconds"), os.path.join(folder, "home", "runs")
    words = ("print.py", kind, str(count), noted)
    # jig gives a script unbuffered output; so has the other side.
    environ = jig().environ(JIG_HOME=os.path.join(folder, "home"), PYTHONUNBUFFERED="1")

    def seconds(argv: tuple[str, ...], output: str, log: str) -> float:
        os.sync()  # both begin with nothing left to write
        with open(output, "wb") as file:
            subprocess.run(
                argv,
                env=environ,
                cwd=os.path.join(folder, "project"),
                stdin=subprocess.DEVNULL,
                stdout=file,
                check=True,
            )
        (place,) = glob.glob(log)
        if os.path.getsize(place) != size:
            raise SystemExit(f"{place} has {os.path.getsize(place)} bytes, not {size}")
        os.unlink(place)
        return float(read(noted))

    def ours() -> float:
        argv = (jig().program("jig"), "submit", "-c", "local", *words)
        taken_s = seconds(argv, os.devnull, os.path.join(runs, "*", "output.log"))
        shutil.rmtree(runs)
        return taken_s

    def redirected() -> float:
        log = os.path.join(folder, "redirected.log")
        return seconds((jig().program("python"), *words), log, log)

    return ours, redirected
