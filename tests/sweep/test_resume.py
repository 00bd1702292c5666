"""Sweeps that are canceled or killed, at any moment, and go on: no point is lost, none is run twice."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from jig.runner import events
from jig.runner.status import ALIVE, status
from jig.store.reserve import reserve
from jig.sweep import children, journal
from tests.conftest import alive, spawn, until

QUICK = "import sys, time, jig\njig.log(score=int(sys.argv[1][4:]))\ntime.sleep(0.05)\n"


def going(sweeping, sweep: str) -> "list[str]":
    """The runs of a sweep that live."""
    runs = [run_id for tries in sweeping.children(sweep).values() for run_id in tries]
    return [run_id for run_id in runs if status(sweeping.home, run_id) == ALIVE]


def test_cancel_ends_the_runs_too(sweeping, cli):
    sweeping.file("[1, 2, 3, 4]", "at_once: 2\n")
    sweeping.let(1)
    sweep = sweeping.start()
    until(lambda: len(sweeping.began()) == 3)
    said = cli("cancel", sweep)
    assert (said.code, said.out) == (0, f"{sweep}: Canceled\n")
    assert sweeping.states(sweep) == {1: ["Completed"], 2: ["Canceled"], 3: ["Canceled"]}
    assert going(sweeping, sweep) == []
    assert not alive("train.py --x=")
    lines = sweeping.log(sweep).splitlines()
    assert [line for line in lines if line.endswith(": Canceled")] == ["[2/4] x=2: Canceled", "[3/4] x=3: Canceled"]
    assert lines[-1] == f"canceled, with 2 runs; to go on: jig sweep --resume {sweep}"


def test_a_canceled_sweep_goes_on(sweeping, cli):
    sweeping.file("[1, 2, 3, 4]", "at_once: 2\n")
    sweeping.let(1)
    sweep = sweeping.start()
    until(lambda: len(sweeping.began()) == 3)
    assert cli("cancel", sweep).code == 0
    sweeping.let()
    again = sweeping.resume(sweep)
    assert sweeping.end(again).state == "Completed"
    assert sweeping.states(sweep) == {1: ["Completed"], 2: ["Canceled", "Completed"], 3: ["Canceled", "Completed"], 4: ["Completed"]}  # fmt: skip
    assert f"going on with {sweep}: 1 done, 0 going" in sweeping.log(again)
    plan = sweeping.plan(again)
    assert (plan["parent_run_id"], plan["sweep"], plan["snapshot"]) == (sweep, "", sweeping.plan(sweep)["snapshot"])
    shown = sweeping.show(again)
    assert (shown["run_id"], shown["latest_run_id"], shown["status"]) == (sweep, again, "Completed")
    assert [row["objective"] for row in shown["points"]] == [40, 30, 20, 10]


def test_a_point_that_a_person_ended_is_not_run_again(sweeping, cli):
    sweeping.file("[1, 2, 3]", "at_once: 2\n")
    sweep = sweeping.start()
    until(lambda: len(sweeping.began()) == 2)
    assert cli("cancel", sweeping.children(sweep)[1][0]).code == 0
    until(lambda: sweeping.began(3))
    assert cli("cancel", sweep).code == 0
    sweeping.let()
    assert sweeping.end(sweeping.resume(sweep)).state == "Completed"
    assert sweeping.states(sweep) == {1: ["Canceled"], 2: ["Canceled", "Completed"], 3: ["Canceled", "Completed"]}


def test_no_patience(sweeping, cli):
    """The program is killed before it can end its runs: the command does that."""
    sweeping.file("[1, 2]", "at_once: 2\n")
    sweep = sweeping.start()
    until(lambda: len(sweeping.began()) == 2)
    said = cli("cancel", "--grace", "0", sweep)
    assert said.code == 0, said.err
    assert sweeping.states(sweep) == {1: ["Canceled"], 2: ["Canceled"]}
    assert going(sweeping, sweep) == []


def test_cancel_after_a_kill_ends_what_is_left(sweeping, cli):
    sweeping.file("[1, 2]", "at_once: 2\n")
    sweep = sweeping.start()
    until(lambda: len(sweeping.began()) == 2)
    sweeping.kill(sweep, "supervisor")
    until(lambda: not sweeping.processes(sweep))
    runs = [tries[0] for tries in sweeping.children(sweep).values()]
    assert going(sweeping, sweep) == runs, "they are runs of their own"
    said = cli("cancel", sweep)
    assert sorted(said.out.splitlines()) == sorted([f"{sweep} had already ended: Lost", *(f"{run_id}: Canceled" for run_id in runs)])  # fmt: skip
    assert going(sweeping, sweep) == []


def test_cancel_finds_the_run_that_goes_on_with_it(sweeping, cli):
    sweeping.file("[1, 2]")
    sweep = sweeping.start()
    until(lambda: sweeping.began(1))
    sweeping.kill(sweep, "supervisor")
    until(lambda: not sweeping.processes(sweep))
    again = sweeping.resume(sweep)
    until(lambda: "going on with" in sweeping.log(again))
    said = cli("cancel", sweep)
    assert (said.code, said.out) == (0, f"{again}: Canceled\n")
    assert sweeping.states(sweep) == {1: ["Canceled"]}


@pytest.mark.parametrize("who", ["supervisor", "guard", "program"])
def test_a_killed_sweep_goes_on_where_it_was(sweeping, who):
    sweeping.file("[1, 2, 3, 4]", "at_once: 2\n")
    sweeping.let(1)
    sweep = sweeping.start()
    until(lambda: len(sweeping.began()) == 3)
    until(lambda: "[1/4] x=1: Completed" in sweeping.log(sweep))
    sweeping.kill(sweep, who)
    state = sweeping.end(sweep).state
    assert state == ("Lost" if who == "supervisor" else "Failed")
    until(lambda: not sweeping.processes(sweep))
    assert sweeping.show(sweep)["status"] == state
    again = sweeping.resume(sweep)
    until(lambda: f"going on with {sweep}: 1 done, 2 going" in sweeping.log(again))
    sweeping.let()
    assert sweeping.end(again).state == "Completed"
    assert sweeping.states(sweep) == {point: ["Completed"] for point in range(1, 5)}
    assert [len(sweeping.began(point)) for point in range(1, 5)] == [1, 1, 1, 1]


def test_what_ended_meanwhile_is_not_run_again(sweeping):
    sweeping.file("[1, 2, 3]", "at_once: 2\n")
    sweep = sweeping.start()
    until(lambda: len(sweeping.began()) == 2)
    sweeping.kill(sweep, "supervisor")
    until(lambda: not sweeping.processes(sweep))
    sweeping.let()
    runs = [tries[0] for tries in sweeping.children(sweep).values()]
    until(lambda: all(sweeping.run(run_id).final for run_id in runs))
    assert sweeping.end(sweeping.resume(sweep)).state == "Completed"
    assert sweeping.states(sweep) == {point: ["Completed"] for point in (1, 2, 3)}
    assert len(sweeping.began()) == 3


@pytest.mark.parametrize("delay_s", [0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.65, 0.8, 1.0])
def test_killed_at_any_moment(sweeping, project, delay_s):
    """Also while it submits: what is killed then is either a run, which is found, or none."""
    project.write("train.py", QUICK)
    sweeping.file("[1, 2, 3, 4, 5, 6, 7, 8]", "at_once: 3\n")
    sweep = sweeping.start()
    time.sleep(delay_s)
    found = sweeping.processes(sweep)
    if "supervisor" in found:
        os.kill(found["supervisor"], signal.SIGKILL)
    until(lambda: not sweeping.processes(sweep))
    again = sweeping.resume(sweep)
    assert sweeping.end(again).state == "Completed", sweeping.log(again)
    assert sweeping.states(sweep) == {point: ["Completed"] for point in range(1, 9)}


def test_killed_again_and_again(sweeping, project):
    project.write("train.py", QUICK)
    sweeping.file("{min: 1, max: 12}", "at_once: 3\n")
    sweep = last = sweeping.start()
    for turn in range(4):
        until(lambda last=last: "submitted as" in sweeping.log(last) or sweeping.run(last).final)
        time.sleep(0.03 * turn)
        found = sweeping.processes(last)
        for who in ("program", "supervisor"):
            if who in found:
                os.kill(found[who], signal.SIGKILL)
        until(lambda last=last: not sweeping.processes(last))
        sweeping.end(last)
        last = sweeping.resume(sweep)
    assert sweeping.end(last).state == "Completed"
    assert sweeping.states(sweep) == {point: ["Completed"] for point in range(1, 13)}
    assert len(children.find(sweep)[1]) == 4


def test_a_submit_that_was_killed_may_become_a_run_yet(sweeping, tmp_path):
    """A runner has all it needs, and is slow: the sweep waits until there is a run, and runs the point no second time."""
    sweeping.file("[1, 2]")
    sweep = sweeping.start()
    until(lambda: sweeping.began(1))
    sweeping.kill(sweep, "supervisor")
    until(lambda: not sweeping.processes(sweep))
    reserved = reserve(sweeping.home, sweeping.home.runs, "proj")
    runner = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", "runner/__main__.py", "supervise", reserved.run_id])  # fmt: skip
    try:
        again = sweeping.resume(sweep)
        until(lambda: "program" in sweeping.processes(again))
        time.sleep(0.5)
        assert sweeping.log(again) == ""
        (run_id,) = sweeping.children(sweep)[1]
        plan = {**sweeping.plan(run_id), "run_id": reserved.run_id, "point": 2}
        staged = tmp_path / "staged"
        staged.mkdir()
        (staged / "plan.json").write_text(json.dumps(plan))
        past = Path(sweeping.home.run(run_id).events).read_text().splitlines(keepends=True)[:1]
        end = {"seq": 2, "time": 1.0, "mono": 1.0, "event": "completed", "reason": "exited", "exit_code": 0}
        (staged / "events.jsonl").write_text("".join(past) + json.dumps(end) + "\n")
        os.rename(staged, reserved.folder)
    finally:
        runner.kill()
        runner.wait()
    until(lambda: f"going on with {sweep}: 1 done, 1 going" in sweeping.log(again))
    sweeping.let()
    assert sweeping.end(again).state == "Completed"
    assert sweeping.children(sweep) == {1: [run_id], 2: [reserved.run_id]}


def test_a_computer_that_is_shut_down_ends_no_run(sweeping):
    """The runs may be on another machine."""
    sweeping.file("[1, 2]")
    sweep = sweeping.start()
    until(lambda: sweeping.began(1))
    os.kill(sweeping.processes(sweep)["supervisor"], signal.SIGTERM)
    ended = sweeping.end(sweep)
    assert (ended.state, ended.reason) == ("Canceled", "machine-shutdown")
    assert len(going(sweeping, sweep)) == 1
    sweeping.let()
    assert sweeping.end(sweeping.resume(sweep)).state == "Completed"
    assert sweeping.states(sweep) == {1: ["Completed"], 2: ["Completed"]}


def test_the_time_before_counts(sweeping):
    sweeping.file("[1, 2]", "stop: {max_time: 2s}\n")
    sweep = sweeping.start()
    until(lambda: sweeping.began(1))
    time.sleep(1.2)
    sweeping.let(1)
    until(lambda: sweeping.began(2))
    sweeping.kill(sweep, "supervisor")
    until(lambda: not sweeping.processes(sweep))
    sweeping.end(sweep)
    past = journal.read(os.path.join(sweeping.home.run(sweep).path, "sweep.jsonl"))
    assert past[0]["began"] == sweep and past[0]["points"] == 2
    began = time.monotonic()
    again = sweeping.resume(sweep)
    until(lambda: "`max_time` is over: 2 s" in sweeping.log(again))
    assert time.monotonic() - began < 1.9
    sweeping.let()
    assert sweeping.end(again).state == "Completed"


def test_more_at_a_time_from_now_on(sweeping, cli):
    sweeping.file("[1, 2, 3]")
    sweep = sweeping.start()
    until(lambda: sweeping.began(1))
    assert cli("cancel", sweep).code == 0
    again = sweeping.resume(sweep, "-n", "3")
    until(lambda: sweeping.began(2) and sweeping.began(3))
    sweeping.let()
    assert sweeping.end(again).state == "Completed"


def test_a_sweep_that_is_going_is_not_resumed(sweeping, cli):
    sweeping.file("[1]")
    sweep = sweeping.start()
    until(lambda: sweeping.began(1))
    said = cli("sweep", "--resume", sweep)
    assert said.code == 125
    assert said.err == f"error: the sweep {sweep} is still going\n\nhint: follow it:  jig logs -f {sweep}\n"
    said = cli("sweep", "--resume", sweeping.children(sweep)[1][0])
    assert said.code == 125, "a run of it names it too"


def test_code_copies_may_be_gone(sweeping, cli):
    sweeping.file("[1, 2]")
    sweep = sweeping.start()
    until(lambda: sweeping.began(1))
    assert cli("cancel", sweep).code == 0
    assert cli("experiment", "clean").code == 0
    assert not os.path.exists(os.path.join(sweeping.home.run(sweep).work, "train.py"))
    sweeping.let()
    assert sweeping.end(sweeping.resume(sweep)).state == "Completed"


def test_a_run_that_was_deleted_is_lost(sweeping):
    sweeping.file("[1, 2]", "retries: {times: 1, wait: 0s}\n")
    sweep = sweeping.start()
    until(lambda: sweeping.began(1))
    (run_id,) = sweeping.children(sweep)[1]
    os.rename(sweeping.home.run(run_id).path, sweeping.home.run(run_id).path + ".gone")
    until(lambda: len(sweeping.began(1)) == 2)
    os.rename(sweeping.home.run(run_id).path + ".gone", sweeping.home.run(run_id).path)
    assert "[1/2] x=1: Lost: the run was removed; trying again in 0 s (1 of 1)" in sweeping.log(sweep)
    sweeping.let()
    assert sweeping.end(sweep).state == "Completed"


def test_events_of_a_sweep_end_once(sweeping):
    sweeping.file("[1]")
    sweeping.let()
    sweep = sweeping.start()
    sweeping.end(sweep)
    sweeping.end(sweeping.resume(sweep))
    assert [e["event"] for e in events.read(sweeping.home.run(sweep).events)].count("completed") == 1


def test_two_who_resume_at_once(sweeping):
    sweeping.file("[1, 2, 3]", "at_once: 2\n")
    sweep = sweeping.start()
    until(lambda: len(sweeping.began()) == 2)
    sweeping.kill(sweep, "supervisor")
    until(lambda: not sweeping.processes(sweep))
    sweeping.end(sweep)
    both = [spawn("sweep", "-a", "--resume", sweep) for _ in range(2)]
    runs = [process.communicate(timeout=30)[0].decode().partition("\n")[0].removeprefix("RunId: ") for process in both]
    sweeping.let()
    for run_id in filter(None, runs):
        sweeping.end(run_id)
    assert sweeping.states(sweep) == {point: ["Completed"] for point in (1, 2, 3)}
    assert len(sweeping.began()) == 3
