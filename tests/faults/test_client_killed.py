"""kill -9 of the client before every call that changes a file or starts a process: no run, or a correct one."""

import os
import subprocess
import sys

import pytest

from jig.runner import events
from tests.conftest import ProjectFolder, call, environ, until
from tests.system_packages import need

# Python only reads while it starts, so these are the client's own doing: each is killed at its 1st, 2nd, … call.
CHANGES = ("mkdir", "flock", "write", "rename", "unlink", "rmdir", "vfork,clone,clone3,fork", "pwrite64", "fsync")


def submit_killed_at(syscalls: str, when: int, project: ProjectFolder) -> bool:
    """Submit under strace with a KILL at the n-th such call; False when the client lived to its end."""
    inject = [word for name in syscalls.split(",") for word in ("-e", f"inject={name}:signal=KILL:when={when}")]
    command = [sys.executable, "-m", "jig", "submit", "-c", "local", "a.py"]
    done = subprocess.run(
        ["strace", "-qq", "-o", os.devnull, "-e", f"trace={syscalls}", *inject, "--", *command],
        cwd=project.path,
        env=environ(),
        capture_output=True,
        timeout=60,
    )
    return done.returncode != 0


def check_the_record(project: ProjectFolder, jig_home, told: set) -> None:
    """Every run that is listed is whole: its log is the script's, its state is one that it can be in."""
    listed = call("history", "list", "-o", "json", cwd=project.path)
    assert listed.code == 0 and listed.err == "", listed.err
    for record in listed.json():
        folder = jig_home / "runs" / record["run_id"]
        until(lambda f=folder: events.read(str(f / "events.jsonl"))[-1]["event"] in events.FINAL, what="the end")
        assert (folder / "output.log").read_bytes() == b"whole\n"
        assert events.read(str(folder / "events.jsonl"))[-1]["event"] == "completed"
        told.add(record["run_id"])


@pytest.fixture
def small_project(project):
    need("strace")
    project.write("a.py", "print('whole')")
    return project


def killed_everywhere(project, jig_home, syscalls: str, step: int) -> int:
    kills, when, told = 0, 1, set()
    while submit_killed_at(syscalls, when, project):
        kills += 1
        check_the_record(project, jig_home, told)
        when += step
        assert when < 900, "the client never got through"
    check_the_record(project, jig_home, told)
    assert told, "not even the submit that was left alone made a run"
    assert call("submit", "-c", "local", "a.py", cwd=project.path).code == 0
    return kills


@pytest.mark.parametrize("syscalls", CHANGES)
def test_the_client_killed_at_its_changes(small_project, jig_home, syscalls):
    killed_everywhere(small_project, jig_home, syscalls, step=9)  # the first submit lays out the runner, file by file
    killed_everywhere(small_project, jig_home, syscalls, step=1)
    assert call("experiment", "clean", cwd=small_project.path).code == 0
    check_the_record(small_project, jig_home, set())


@pytest.mark.soak
def test_the_client_killed_at_every_system_call(small_project, jig_home):
    for syscalls in ("openat", "close", "read", "lseek", "newfstatat", "fcntl", "pipe2"):
        kills = killed_everywhere(small_project, jig_home, syscalls, step=7)
        print(f"{syscalls}: {kills} kills, every record whole")
