"""A script that prints a lot: how long its own printing takes under `jig submit` and redirected to a file."""

from __future__ import annotations

import os
import shutil
import subprocess

from environments import fresh, jig, new_project, read
from figure import Figure
from timing import best_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

BAR = 1.05
ROUNDS = 6
BLOCKS = 1000  # of 1 MB
LINES = 2_000_000  # of 80 bytes: each is a write of its own, so 1 GB would take minutes

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
    home = os.path.join(folder, "home")
    project = new_project(os.path.join(folder, "project"), home)
    with open(os.path.join(project, "print.py"), "w") as file:
        file.write(SCRIPT)
    try:
        blocks = best_of(ROUNDS, *_sides(folder, home, "blocks", BLOCKS))
        lines = best_of(ROUNDS, *_sides(folder, home, "lines", LINES))
    finally:
        shutil.rmtree(os.path.join(home, "runs"), ignore_errors=True)
    return [
        Figure("printing", "1 GB in 1 MB blocks", blocks[0], "redirected", blocks[1], BAR),
        Figure("printing", f"{LINES * 80 // 10**6} MB in lines", lines[0], "redirected", lines[1], BAR),
    ]


def _sides(folder: str, home: str, kind: str, count: int) -> tuple[Callable[[], float], Callable[[], float]]:
    """The script under jig, followed into nothing, and the script redirected to a file on the same disk."""
    project, noted, log = (os.path.join(folder, name) for name in ("project", "seconds", "redirected.log"))
    words = ("print.py", kind, str(count), noted)
    # jig gives a script unbuffered output; so has the other side.
    environ = jig().environ(JIG_HOME=home, PYTHONUNBUFFERED="1")

    def seconds(argv: tuple[str, ...], output: str) -> float:
        os.sync()
        with open(output, "wb") as file:
            subprocess.run(argv, env=environ, cwd=project, stdin=subprocess.DEVNULL, stdout=file, check=True)
        return float(read(noted))

    def ours() -> float:
        taken_s = seconds((jig().program("jig"), "submit", "-c", "local", *words), os.devnull)
        shutil.rmtree(os.path.join(home, "runs"))
        return taken_s

    def redirected() -> float:
        taken_s = seconds((jig().program("python"), *words), log)
        os.unlink(log)
        return taken_s

    return ours, redirected
