"""Hundreds of kills at random moments: every record stays explainable, no byte that was written is lost."""

import contextlib
import os
import random
import signal
import time
from pathlib import Path

import pytest

from jig.runner import events
from jig.store import runs
from tests.conftest import alive, spawn, until

KILLS = int(os.environ.get("JIG_SOAK_KILLS", "300"))
# The script counts on its own side how far it came, so that its log can be held against it.
COUNTER = """
import os, sys, jig
own = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)
for number in range(100000):
    os.write(1, b"%09d\\n" % number)
    jig.log(number=number)
    os.pwrite(own, b"%09d" % number, 0)
"""


def pids(run_id: str) -> "list[int]":
    """Supervisor, guard and whatever else has the run's id on its command line or in its environment."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                text = Path(f"/proc/{name}/cmdline").read_bytes() + Path(f"/proc/{name}/environ").read_bytes()
            except OSError:
                continue
            if run_id.encode() in text:
                found.append(int(name))
    return found


def ended(cli) -> bool:
    """Whether the latest run has ended and no runner is left; a run that still goes is canceled."""
    listed = cli("history", "list", "-n", "1")
    assert listed.code == 0 and listed.err == "", listed.err
    going = [record["run_id"] for record in listed.json() if record["status"] not in runs.FINAL]
    for run_id in going:
        assert cli("cancel", run_id, "--grace", "0").code == 0
    return not going and alive("runner/__main__.py supervise proj") == []


@pytest.mark.soak
def test_kills_at_random_moments(project, cli, jig_home, tmp_path):
    project.write("count.py", COUNTER)
    states, lost_lines = {}, 0
    chance = random.Random(7)
    for round_number in range(KILLS):
        own = tmp_path / f"own-{round_number}"
        client = spawn("submit", "-c", "local", "count.py", str(own))
        time.sleep(chance.uniform(0.02, 0.5))
        names = os.listdir(jig_home / "runs") if (jig_home / "runs").exists() else []
        victims = [client.pid, *(pid for name in names if not name.startswith(".") for pid in pids(name))]
        with contextlib.suppress(ProcessLookupError):
            os.kill(chance.choice(victims), signal.SIGKILL)
        time.sleep(chance.uniform(0.0, 0.1))
        client.kill()
        client.communicate()
        until(lambda: ended(cli), what="the end of the run")
        for record in cli("history", "list", "-n", "1").json():
            folder = jig_home / "runs" / record["run_id"]
            assert record["status"] in runs.FINAL, record
            states[record["status"]] = states.get(record["status"], 0) + 1
            log = (folder / "output.log").read_bytes() if (folder / "output.log").exists() else b""
            assert log == b"".join(b"%09d\n" % number for number in range(len(log) // 10))
            assert events.read(str(folder / "events.jsonl"))[-1]["log_size"] == len(log)
            if own.exists() and record["arguments"] == [str(own)]:
                reached = int(own.read_bytes() or b"-1")
                lost_lines += max(0, reached + 1 - len(log) // 10)
                entries = list(runs.read_metrics(str(folder / "metrics.jsonl")))
                lost_lines += max(0, reached + 1 - len(entries))
        until(lambda: alive("count.py") == [], what="the end of every process")
    print(f"\n{KILLS} kills: {states}; lines lost: {lost_lines}")
    assert lost_lines == 0
