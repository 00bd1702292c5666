"""A machine that fails: restarted, full, with a wrong clock, out of reach; a cancel that is one; clients that are killed."""

import fcntl
import json
import os
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from jig.runner import events
from tests.conftest import call, spawn, until
from tests.ssh.conftest import carriers, mirror

# A script that does not go easily: a child in a session of its own that ignores every polite signal.
STUBBORN = """
import os, signal, subprocess, sys, time
subprocess.Popen([sys.executable, '-c', 'import signal, time\\nfor s in (1, 2, 15): signal.signal(s, signal.SIG_IGN)\\nprint("child", flush=True)\\ntime.sleep(999)'],
                 start_new_session=True)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
time.sleep(999)
"""
SLEEPS = "import time; print('begun', flush=True); time.sleep(999)"


def begun(box, run_id: str, line: str = "begun\n") -> None:
    place = box.runs / run_id / "output.log"
    until(lambda: place.exists() and place.read_text() == line, what="its first line")


def sleeping(box, project) -> str:
    """A run that has begun and does not end."""
    project.write("a.py", SLEEPS)
    run_id = box.start("a.py")
    begun(box, run_id)
    return run_id


def state(cli, run_id: str) -> "dict[str, object]":
    return cli("status", run_id, "-o", "json").json()


# Restarted


def test_a_restarted_machine(box, project, cli, client):
    client.impatient()
    run_id = sleeping(box, project)
    box.host.reboot()
    until(lambda: (found := state(cli, run_id))["state"] == "Lost" and found["reason"] == "machine-restarted")
    assert cli("logs", run_id).out == "begun\n"
    assert "begun\n" in box.submit(project.write("b.py", "print('begun')").name).out, "and it is usable"


def test_a_power_failure_while_following(box, project, cli, client):
    """No goodbye: the follower notices, comes back, and learns what happened."""
    client.impatient()
    project.write("a.py", SLEEPS)
    run_id = box.start("a.py")
    following = spawn("logs", "-f", run_id, cwd=project.path, bufsize=0)
    assert following.stdout.readline() == b"begun\n"
    box.host.cut()
    box.host.reboot()
    time.sleep(2.5)
    box.host.mend()
    out, err = following.communicate(timeout=60)
    assert following.returncode == 125
    assert err.decode().splitlines()[-1] == f"{run_id}: Lost: the machine was restarted"
    assert len([line for line in out.splitlines() if line.startswith(b"jig: ")]) == 2


def test_a_killed_supervisor(box, project, cli):
    run_id = sleeping(box, project)
    pid = next(event["pid"] for event in events.read(str(box.runs / run_id / "events.jsonl")) if "pid" in event)
    box.host.run(f"kill -KILL {pid}")
    until(lambda: state(cli, run_id)["state"] == "Lost")
    assert state(cli, run_id)["reason"] == "supervisor-gone"
    until(lambda: carriers(box.host, run_id) == [])


# Full


def test_no_room_for_the_project(box, project, cli, jig_home):
    box.host.home_disk("8m")
    project.write("a.py", "print('small')")
    project.write("big", os.urandom(20 << 20))
    said = box.submit("a.py")
    assert said.code == 125 and "No space left on device" in said.err and "free some space there" in said.err
    assert cli("history", "list", "-o", "json").json() == []
    assert list(jig_home.glob("mirror/*/*")) == []
    (project.path / "big").unlink()
    assert cli("experiment", "clean").code == 0
    assert "small\n" in box.submit("a.py").out


def test_no_room_for_the_runner(box, project, cli):
    box.host.run("rm -rf ~/.jig")
    box.host.home_disk("3m")
    box.host.run("head -c 4000000 /dev/zero > ~/full")
    project.write("a.py", "print(1)")
    said = call("submit", "-c", "box", "a.py", cwd=project.path, timeout=30)
    assert said.code == 125 and "No space left on device" in said.err
    box.host.run("rm ~/full")
    assert "1\n" in box.submit("a.py").out


def test_a_script_that_fills_the_disk(box, project, cli):
    box.host.home_disk("8m")
    project.write("a.py", "print('x' * 50, flush=True)\nopen('outputs/x', 'wb').write(bytes(20 << 20))")
    said = box.submit("a.py")
    assert said.code == 1
    assert (found := state(cli, said.run_id))["state"] == "Failed" and found["reason"] == "disk-full"


# Wrong clock


@pytest.mark.parametrize("offset", ["-3h", "+2d"])
def test_a_wrong_clock(box, project, cli, client, offset):
    client.hang_up()
    box.host.set_clock(offset)
    project.write("a.py", "import time; print(time.time()); time.sleep(0.2)")
    said = box.submit("a.py")
    assert said.code == 0, said.err
    theirs = float(said.out.splitlines()[3])
    assert abs(theirs - time.time()) > 3600, "the clock there is not wrong"
    (record,) = cli("history", "list", "-o", "json").json()
    assert record["status"] == "Completed" and 0.1 < seconds(record["duration"]) < 10
    run_id = box.start(project.write("b.py", SLEEPS).name)
    assert cli("history", "last", "-o", "json").json()["run_id"] == run_id, "the order is by this computer's clock"
    assert cli("cancel", run_id).out == f"{run_id}: Canceled\n"


def seconds(clock: str) -> float:
    hours, minutes, rest = clock.split(":")
    return int(hours) * 3600 + int(minutes) * 60 + float(rest)


# Canceled


def test_cancel_leaves_no_process(box, project, cli):
    project.write("a.py", STUBBORN)
    run_id = box.start("a.py")
    begun(box, run_id, "child\n")
    assert len(carriers(box.host, run_id)) >= 3, "the script, its child, and who looks after them"
    said = cli("cancel", run_id, "--grace", "0.2")
    assert (said.code, said.out) == (0, f"{run_id}: Canceled\n")
    assert carriers(box.host, run_id) == []
    assert cli("cancel", run_id).out == f"{run_id} had already ended: Canceled\n"


def test_what_a_canceled_run_left_comes_home(box, project, cli, jig_home):
    project.write("a.py", "open('outputs/half', 'w').write('half')\n" + SLEEPS)
    run_id = box.start("a.py")
    begun(box, run_id)
    assert cli("cancel", run_id, "--grace", "0").code == 0
    assert (mirror(jig_home, run_id) / "work/outputs/half").read_text() == "half"


def test_cancel_out_of_reach(box, project, cli, client):
    """It says so, goes on trying, and ends the run as soon as the machine is back."""
    client.impatient()
    run_id = sleeping(box, project)
    box.host.cut()
    canceling = spawn("cancel", run_id, "--grace", "0", cwd=project.path, bufsize=0)
    line = canceling.stdout.readline().decode()
    assert "box" in line and "cannot be reached" in line and "Canceled" not in line
    assert canceling.poll() is None
    box.host.mend()
    out, err = canceling.communicate(timeout=60)
    assert canceling.returncode == 0, err
    assert out.decode() == f"{run_id}: Canceled\n"
    assert carriers(box.host, run_id) == []


def test_a_cancel_that_was_left_is_done_by_the_next_command(box, project, cli, client):
    client.impatient()
    run_id = sleeping(box, project)
    assert state(cli, run_id)["state"] == "Running"
    box.host.cut()
    canceling = spawn("cancel", run_id, cwd=project.path, bufsize=0)
    assert b"cannot be reached" in canceling.stdout.readline()
    canceling.send_signal(signal.SIGINT)
    out, err = canceling.communicate(timeout=30)
    assert canceling.returncode == 130 and b"Canceled" not in out and b"Traceback" not in err, err
    seen = call("status", run_id, cwd=project.path)
    assert seen.code == 0 and "Running" in seen.out and "ago" in seen.out
    box.host.mend()
    assert state(cli, run_id)["state"] == "Canceled"
    assert carriers(box.host, run_id) == []


def press_ctrl_c(project, times: int) -> "tuple[str, int]":
    """While a submit follows its run; returns the run's id and how the submit ended."""
    project.write("a.py", SLEEPS)
    following = spawn("submit", "-c", "box", "a.py", cwd=project.path, bufsize=0, start_new_session=True)
    run_id = following.stdout.readline().decode().removeprefix("RunId: ").strip()
    until(lambda: following.stdout.readline() == b"begun\n")
    os.killpg(following.pid, signal.SIGINT)
    for _ in range(times - 1):
        until(lambda: b"goes on" in following.stdout.readline())
        os.killpg(following.pid, signal.SIGINT)
    following.communicate(timeout=60)
    return run_id, following.returncode


def test_ctrl_c_twice_cancels(box, project, cli):
    run_id, _ = press_ctrl_c(project, 2)
    assert state(cli, run_id)["state"] == "Canceled"
    assert carriers(box.host, run_id) == []


def test_ctrl_c_once_leaves_it_going(box, project, cli):
    run_id, code = press_ctrl_c(project, 1)
    assert (code, state(cli, run_id)["state"]) == (130, "Running")


# Out of reach


def test_out_of_reach(box, project, cli, client):
    """A view, not a state: what was last seen; a submit says so and leaves nothing."""
    client.impatient()
    run_id = sleeping(box, project)
    assert state(cli, run_id)["state"] == "Running"
    box.host.cut()
    started = time.monotonic()
    seen = call("status", run_id, cwd=project.path, timeout=60)
    assert seen.code == 0 and "Running" in seen.out and "ago" in seen.out and "cannot be reached" in seen.out
    assert [record["status"] for record in cli("history", "list", "-o", "json").json()] == ["Running"]
    said = call("submit", "-c", "box", "a.py", cwd=project.path, timeout=60)
    assert said.code == 125 and "cannot be reached" in said.err
    assert len(cli("history", "list", "-o", "json").json()) == 1
    assert time.monotonic() - started < 30
    box.host.mend()
    assert cli("cancel", run_id, "--grace", "0").code == 0


def connections(client) -> "list[int]":
    """The processes behind the one control connection."""
    (socket,) = client.sockets.glob("jig-*/*")
    command = ["pgrep", "-f", str(socket)]
    return [int(pid) for pid in subprocess.run(command, check=True, capture_output=True).stdout.split()]


def test_a_dead_control_connection_is_opened_anew(box, project, cli, client):
    """The laptop moved to another network: the socket is there, and nobody answers behind it."""
    project.write("a.py", "print('again')")
    assert box.submit("a.py").code == 0
    client.impatient()
    box.host.kill_sshd()
    box.host.start_sshd()
    assert "again\n" in call("submit", "-c", "box", "a.py", cwd=project.path, timeout=30).out
    for pid in connections(client):
        os.kill(pid, signal.SIGKILL)
    assert "again\n" in call("submit", "-c", "box", "a.py", cwd=project.path, timeout=30).out


def test_a_half_open_control_connection(box, project, cli, client):
    """The machine forgot the connection without a word, or the lid was closed: the next command goes through."""
    project.write("a.py", "print('again')")
    assert box.submit("a.py").code == 0
    box.host.cut()
    box.host.kill_sshd()
    time.sleep(0.3)
    box.host.mend()
    box.host.start_sshd()
    said = call("submit", "-c", "box", "a.py", cwd=project.path, timeout=60)
    assert "again\n" in said.out, said.err


def test_a_mute_control_connection(box, project, cli, client):
    """Its process stands still: it listens, and never answers."""
    project.write("a.py", "print('again')")
    assert box.submit("a.py").code == 0
    found = connections(client)
    for pid in found:
        os.kill(pid, signal.SIGSTOP)
    try:
        assert "again\n" in call("submit", "-c", "box", "a.py", cwd=project.path, timeout=30).out
    finally:
        for pid in found:
            os.kill(pid, signal.SIGKILL)


def test_cut_while_files_are_sent(box, project, cli, jig_home, client):
    """Half a project has gone over: no run, nothing kept, and the next submit goes through."""
    client.impatient()
    project.write("a.py", "print('whole')")
    project.write("big", os.urandom(4 << 20))
    box.host.slow(delay_ms=2, rate_mbit=8)
    submitting = spawn("submit", "-c", "box", "a.py", cwd=project.path)
    blobs = box.host.home / ".jig/blobs"
    until(lambda: blobs.exists() and any(place.is_file() for place in blobs.rglob("*")), what="the first bytes")
    time.sleep(0.5)
    box.host.cut()
    out, err = submitting.communicate(timeout=60)
    assert submitting.returncode == 125 and b"Traceback" not in err, err
    box.host.mend()
    box.host.fast()
    assert cli("history", "list", "-o", "json").json() == []
    assert not box.runs.exists() or os.listdir(box.runs) == []
    assert "whole\n" in box.submit("a.py").out


# Killed clients


def kill_submits(box, project, cli, moments: "list[float]") -> "tuple[int, int]":
    """Submits killed at random moments: each is a run that is whole, or none."""
    for after in moments:
        submitting = spawn("submit", "-c", "box", "a.py", cwd=project.path)
        time.sleep(after)
        submitting.send_signal(signal.SIGKILL)
        submitting.communicate()
    assert "whole\n" in call("submit", "-c", "box", "a.py", cwd=project.path).out
    until(lambda: box.host.processes() == [], what="the end of all runs")
    there = {name for name in os.listdir(box.runs) if not name.startswith(".")}
    for name in there:
        assert (box.runs / name / "output.log").read_bytes() == b"whole\n"
        assert call("logs", "-f", name, cwd=project.path).out == "whole\n"
    assert cli("history", "sync", "-c", "box").code == 0
    listed = {
        record["run_id"]: record["status"]
        for record in cli("history", "list", "--all", "-n", "1000", "-o", "json").json()
    }
    assert {name for name, status in listed.items() if status == "Completed"} == there
    return len(listed), len(there)


def test_submits_that_are_killed(box, project, cli):
    project.write("a.py", "print('whole')")
    at = random.Random(11)
    listed, there = kill_submits(box, project, cli, [at.uniform(0.03, 0.35) for _ in range(12)])
    assert listed == there, "a run that never was is not in the record"


def unborn(box, project, cli, jig_home) -> Path:
    """The copy of a run as a client leaves it that was killed after it wrote the plan and before it sent it."""
    project.write("a.py", "print('whole')")
    run_id = box.submit("a.py").run_id
    before = mirror(jig_home, run_id)
    copy = before.parent / "copied_1700000000000"
    copy.mkdir()
    plan = {**json.loads((before / "plan.json").read_text()), "run_id": copy.name, "number": 99}
    (copy / "plan.json").write_text(json.dumps(plan))
    (copy / "on-its-way").touch()
    with open(jig_home / "order", "a") as order:
        order.write(json.dumps([99, copy.name, str(copy)]) + "\n")
    return copy


@pytest.mark.parametrize("words", [("experiment", "status", "-r"), ("logs",), ("logs", "-f")])
def test_a_run_that_never_arrived_is_found_out(box, project, cli, jig_home, words):
    copy = unborn(box, project, cli, jig_home)
    assert [record["run_id"] for record in cli("history", "list", "-o", "json").json()][0] == copy.name
    told = cli(*words, copy.name)
    assert told.code == 125 and "never began: its submit was killed before" in told.err
    assert not copy.exists() and len(cli("history", "list", "-o", "json").json()) == 1


def test_a_run_that_is_on_its_way_is_left_alone(box, project, cli, jig_home):
    copy = unborn(box, project, cli, jig_home)
    with open(copy / "on-its-way", "r+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert cli("history", "sync", "-c", "box").code == 0
        assert sorted(os.listdir(copy)) == ["on-its-way", "plan.json"]
    assert cli("history", "sync", "-c", "box").code == 0
    assert not copy.exists()


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_two_hundred_killed_submits(box, project, cli):
    project.write("a.py", "print('whole')")
    at = random.Random()
    listed, there = kill_submits(box, project, cli, [at.uniform(0.01, 0.5) for _ in range(200)])
    print(f"\n200 submits killed, {there} runs, every one whole")


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_a_cut_of_minutes(box, project, cli):
    project.write("a.py", "import time\nfor i in range(400): print(i, flush=True); time.sleep(1)")
    run_id = box.start("a.py")
    following = spawn("logs", "-f", run_id, cwd=project.path)
    time.sleep(5)
    box.host.cut()
    time.sleep(240)
    box.host.mend()
    out, err = following.communicate(timeout=600)
    assert following.returncode == 0, err
    assert [line for line in out.split(b"\n") if line.isdigit()] == [b"%d" % i for i in range(400)]
    print("\na link that was cut for four minutes: every line")
