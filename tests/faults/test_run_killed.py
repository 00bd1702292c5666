"""kill -9 of the supervisor, the guard, the script, alone and together, and of the runner while it takes a run in."""

import os
import signal
import stat
import sys
from pathlib import Path

import pytest

from jig.runner import events
from jig.runner.folder import RunFolder
from tests.conftest import alive, call, until
from tests.runner.test_supervise import start_tree, wait_ready
from tests.system_packages import need


def processes(run_id: str) -> "tuple[int, int]":
    """Supervisor and guard of the run, by their command line and parentage."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                words = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0")
                parent = int(Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if b"supervise" in words and run_id.encode() in words:
                found[int(name)] = parent
    supervisor = next(pid for pid, parent in found.items() if parent not in found)
    return supervisor, next(pid for pid, parent in found.items() if parent == supervisor)


@pytest.fixture
def going(project, jig_home):
    """A run with a tree of processes, going; returns its id, folder and mark."""

    def start(mark):
        said = start_tree(project, mark)
        folder = RunFolder(str(jig_home / "runs" / said.run_id))
        wait_ready(folder)
        return said.run_id, folder

    return start


def state_of(cli, run_id):
    answer = cli("status", "-r", run_id, "-o", "json").json()
    return answer["state"], answer["reason"]


def test_the_supervisor_killed(going, cli):
    run_id, _ = going("mark-sup")
    supervisor, _ = processes(run_id)
    os.kill(supervisor, signal.SIGKILL)
    until(lambda: state_of(cli, run_id) == ("Lost", "supervisor-gone"), timeout=1.0)
    until(lambda: alive("mark-sup") == [] and alive(run_id) == [], what="the tree's end")


def test_the_guard_killed(going, cli):
    run_id, folder = going("mark-guard")
    _, guard = processes(run_id)
    os.kill(guard, signal.SIGKILL)
    until(lambda: events.read(folder.events)[-1]["event"] == "failed")
    assert state_of(cli, run_id) == ("Failed", "guard-killed")
    assert alive("mark-guard") == []


def test_supervisor_and_guard_killed_at_once(going, cli):
    run_id, _ = going("mark-both")
    for pid in processes(run_id):
        os.kill(pid, signal.SIGKILL)
    until(lambda: state_of(cli, run_id) == ("Lost", "supervisor-gone"), timeout=1.0)
    left = alive("mark-both")
    # One of the tree's daemons wiped its environment; nothing links it to the run any more once both watchers are gone.
    assert len(left) <= 1
    for name in os.listdir("/proc"):
        if name.isdigit() and left and left[0].strip() in _words(name):
            os.kill(int(name), signal.SIGKILL)


def _words(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
    except OSError:
        return ""


def test_a_follower_sees_the_loss(going, cli):
    run_id, _ = going("mark-follow")
    supervisor, _ = processes(run_id)
    os.kill(supervisor, signal.SIGKILL)
    said = call("logs", "-f", run_id, timeout=30)
    assert said.code == 125 and said.err == f"{run_id}: Lost: the run's supervisor was killed\n"


# (system call, which one): the runner's own steps while it takes a run in, and the supervisor's first ones.
STEPS = [
    ("mkdir", 1),
    ("mkdir", 2),
    ("mkdir", 3),
    ("rename", 1),
    ("flock", 1),
    ("flock", 2),
    ("write", 1),
    ("write", 2),
]
STEPS += [("write", 3), ("write", 4), ("write", 6), ("clone,fork,vfork", 1), ("clone,fork,vfork", 2), ("setsid", 1)]


def killed_runner(tmp_path, syscalls, when):
    """A Python that runs the runner under strace, with a KILL at the n-th such call of any of its processes."""
    inject = " ".join(f"-e inject={name}:signal=KILL:when={when}" for name in syscalls.split(","))
    wrapper = tmp_path / "python"
    command = f"strace -f -qq -o /dev/null -e trace={syscalls} {inject}"
    wrapper.write_text(f'#!/bin/sh\nexec {command} "{sys.executable}" "$@"\n')
    wrapper.chmod(wrapper.stat().st_mode | stat.S_IXUSR)
    return str(wrapper)


@pytest.mark.parametrize(("syscalls", "when"), STEPS)
def test_the_runner_killed_while_it_takes_a_run_in(project, cli, jig_home, tmp_path, monkeypatch, syscalls, when):
    need("strace")
    project.write("a.py", "print('whole')")
    # Only the runner goes through the wrapper; the script's own interpreter is the plain one.
    monkeypatch.setattr("jig.machines.local.sys.executable", killed_runner(tmp_path, syscalls, when))
    said = cli("submit", "-c", "local", "a.py")
    monkeypatch.undo()
    monkeypatch.setenv("JIG_HOME", str(jig_home))
    monkeypatch.chdir(project.path)
    listed = cli("history", "list", "-o", "json")
    assert listed.code == 0 and listed.err == ""
    if said.out.startswith("RunId"):
        assert said.code in (0, 125, 137)
        (record,) = listed.json()
        assert record["status"] in ("Completed", "Lost", "Failed")
        assert (record["status"] == "Completed") == (said.code == 0)
    else:
        assert said.code == 125 and said.err.startswith("error: ")
        assert all(record["status"] in ("Completed", "Lost", "Failed") for record in listed.json())
    assert cli("submit", "-c", "local", "a.py").code == 0
