"""Scripts that are killed in the middle of logging: each point that a call has returned from is in the series, once."""

import os
import random
import signal
import subprocess

from jig.runner.folder import RunFolder
from jig.store import series

from .conftest import PYTHON, Script

ENDLESS = """
import os, sys, jig
number = int(sys.argv[1])
while True:
    jig.log({"loss": number, "note": "x" * (number % 300)} if number % 3 else {"loss": number}, step=number)
    os.write(1, b"%d\\n" % number)
    number += 1
"""


def test_kills_at_any_moment_lose_nothing_and_double_nothing(script: Script, monkeypatch):
    monkeypatch.setattr(series, "KEPT_BYTES", 1000)
    follower, chance = series.Log(RunFolder(str(script.run_dir))), random.Random(7)
    known: list[int] = []
    for _ in range(6):
        known += kill_soon(script, known[-1] + 1 if known else 0, chance.randrange(1, 40_000))
        found = [int(value) for value in follower.series()["loss"].values]
        assert found[: len(known)] == known  # a call that had written and not returned may follow
        assert len(found) <= len(known) + 1
        known = found
        anew = series.read(RunFolder(str(script.run_dir)))["loss"]
        assert [int(value) for value in anew.values] == known
        assert list(anew.steps) == known


def kill_soon(script: Script, start: int, after_bytes: int) -> "list[int]":
    """The numbers whose calls had returned when the script was killed."""
    environ = {**os.environ, "PYTHONPATH": str(script.modules), "JIG_RUN_DIR": str(script.run_dir)}
    argv = (PYTHON, "-c", ENDLESS, str(start))
    with subprocess.Popen(argv, env=environ, stdout=subprocess.PIPE) as process:
        heard = process.stdout.read(after_bytes)
        process.send_signal(signal.SIGKILL)
        heard += process.stdout.read()
    assert process.returncode == -signal.SIGKILL
    return [int(line) for line in heard[: heard.rfind(b"\n") + 1].split()]
