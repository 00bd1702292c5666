"""Sweeps on this computer: what they run, what they tell, what they leave."""

import json
import os
import signal
import subprocess
from pathlib import Path

from tests.conftest import call, spawn, until


def test_a_whole_sweep(sweeping, cli, project):
    sweeping.file("[2, 30, 4]")
    sweeping.let()
    said = cli("sweep", "-c", "local", "sweep.yml")
    assert said.code == 0, said.out + said.err
    sweep = said.run_id
    children = sweeping.children(sweep)
    runs = [children[point][0] for point in (1, 2, 3)]
    lines = said.out.splitlines()
    assert lines[1] == "sweep of 3 points (grid), 1 at a time, on local"
    assert f"[2/3] x=30: submitted as {runs[1]}" in lines
    assert "[2/3] x=30: Running" in lines
    assert [line for line in lines if line.startswith("[2/3] x=30: Completed, score 300, ") and line.endswith(", the best so far")]  # fmt: skip
    table = [line.split()[:4] for line in lines if line.split()[-1:] and line.split()[-1] in runs and " Completed " in line]  # fmt: skip
    assert table == [["2", "30", "300", "Completed"], ["3", "4", "40", "Completed"], ["1", "2", "20", "Completed"]]
    assert f"best: score 300 at x=30 ({runs[1]})" in lines
    plan = sweeping.plan(sweep)
    assert (plan["target"], plan["script"], plan["sweep"], plan["parent_run_id"]) == ("local", "sweep.yml", "", "")
    for point, (run_id, x) in enumerate(zip(runs, (2, 30, 4), strict=True), 1):
        child = sweeping.plan(run_id)
        assert (child["sweep"], child["parent_run_id"], child["point"]) == (sweep, sweep, point)
        assert (child["params"], child["arguments"]) == ({"x": x}, [f"--x={x}"])
        assert child["snapshot"] == plan["snapshot"], "the very code of the sweep"
        assert (child["project_root"], child["project"]) == (str(project.path), "proj")
    metrics = [json.loads(line)["values"] for line in Path(sweeping.home.run(sweep).metrics).read_text().splitlines()]
    assert metrics[0] == {"done": 0, "failed": 0, "running": 1}
    assert metrics[-1] == {"done": 3, "failed": 0, "running": 0, "best": 300}


def test_so_many_at_a_time(sweeping):
    sweeping.file("[1, 2, 3, 4, 5]", "at_once: 3\n")
    sweep = sweeping.start()
    until(lambda: len(sweeping.began()) == 3)
    assert sorted(sweeping.children(sweep)) == [1, 2, 3]
    sweeping.let(2)
    until(lambda: sweeping.began(4))
    assert sorted(sweeping.children(sweep)) == [1, 2, 3, 4]
    sweeping.let()
    assert sweeping.end(sweep).state == "Completed"
    assert sweeping.states(sweep) == {point: ["Completed"] for point in range(1, 6)}


def test_the_command_line_beats_the_file(sweeping):
    sweeping.file("[1, 2, 3]", "at_once: 3\n")
    sweep = sweeping.start("-n", "2")
    until(lambda: len(sweeping.began()) == 2)
    until(lambda: "3 points (grid), 2 at a time" in sweeping.log(sweep))
    sweeping.let()
    assert sweeping.end(sweep).state == "Completed"


def test_a_failure_ends_no_sweep(sweeping, cli):
    sweeping.file("[1, 2, 3]")
    sweeping.fail(2)
    sweeping.let()
    said = cli("sweep", "-c", "local", "sweep.yml")
    assert said.code == 0
    assert sweeping.states(said.run_id) == {1: ["Completed"], 2: ["Failed"], 3: ["Completed"]}
    rows = sweeping.show(said.run_id)["points"]
    assert [(row["point"], row["status"], row["objective"]) for row in rows] == [
        (3, "Completed", 30),
        (1, "Completed", 10),
        (2, "Failed", 20),
    ]
    assert f"why one failed: jig logs {rows[-1]['run_id']}\n" in said.out


def test_a_sweep_of_failures_has_failed(sweeping, cli):
    sweeping.file("[1]")
    sweeping.fail(1)
    sweeping.let()
    assert cli("sweep", "-c", "local", "sweep.yml").code == 1


def test_points_are_tried_again_by_rule(sweeping, cli):
    sweeping.file("[1, 2, 3]", "retries: {times: 1, on: [killed], wait: 1s}\n")
    sweeping.fail(1, str(int(signal.SIGTERM)))
    sweeping.fail(2)
    sweeping.let()
    said = cli("sweep", "-c", "local", "sweep.yml")
    assert sweeping.states(said.run_id) == {1: ["Failed", "Completed"], 2: ["Failed"], 3: ["Completed"]}
    assert "score 10, " in said.out and "; trying again in 1 s (1 of 1)\n" in said.out
    first, second = sweeping.children(said.run_id)[1]
    assert sweeping.run(second).started >= sweeping.run(first).ended + 1.0
    (row,) = [row for row in sweeping.show(said.run_id)["points"] if row["point"] == 1]
    assert (row["tries"], row["status"], row["run_id"]) == (2, "Completed", second)


def test_enough_is_enough(sweeping, cli):
    sweeping.file("[1, 5, 2, 3]", "stop: {objective: 50}\n")
    sweeping.let()
    said = cli("sweep", "-c", "local", "sweep.yml")
    assert said.code == 0
    assert "no more points are begun: the objective is reached: score 50 by " in said.out
    assert sorted(sweeping.children(said.run_id)) == [1, 2]
    assert [row["status"] for row in sweeping.show()["points"]] == ["Completed", "Completed", "not begun", "not begun"]


def test_those_that_are_going_may_be_ended(sweeping):
    sweeping.file("[1, 5, 2, 3]", "at_once: 3\nstop: {objective: 50, running: cancel}\n")
    sweep = sweeping.start()
    until(lambda: len(sweeping.began()) == 3)
    sweeping.let(5)
    assert sweeping.end(sweep).state == "Completed"
    assert sweeping.states(sweep) == {1: ["Canceled"], 2: ["Completed"], 3: ["Canceled"]}


def test_an_edit_changes_nothing(sweeping, project):
    sweeping.file("[1, 2, 3]")
    sweep = sweeping.start()
    until(lambda: sweeping.began(1))
    project.write("train.py", "raise SystemExit(9)")
    project.write("sweep.yml", "script: other.py\nparameters: {x: [7]}\n")
    project.runconfig("local", EnvironmentVariables={"EDITED": "1"})
    project.write("aml_config/local.compute", "type: local\npythonLocation: /nowhere/python\n")
    sweeping.let()
    assert sweeping.end(sweep).state == "Completed"
    assert sweeping.states(sweep) == {point: ["Completed"] for point in (1, 2, 3)}
    for (run_id,) in sweeping.children(sweep).values():
        assert sweeping.log(run_id) == "as submitted\n"
        assert sweeping.plan(run_id)["variables"] == {}


def test_variables(sweeping, project, cli):
    project.write("show.py", "import os, sys\nprint(os.environ['X'], os.environ['Y'], sys.argv[1:])\n")
    project.write("vars.yml", "script: show.py\npass: variables\narguments: ['-x{Z}']\n"
                              "parameters: {X: [1, a b], Y: [é], Z: [3]}\n")  # fmt: skip
    said = cli("sweep", "-c", "local", "vars.yml")
    assert said.code == 0, said.out
    logs = [sweeping.log(run_id) for (run_id,) in sweeping.children(said.run_id).values()]
    assert logs == ["1 é ['-x3']\n", "a b é ['-x3']\n"]


def test_the_script_stands_beside_the_file(sweeping, project, cli):
    project.write("jobs/here.py", "print('here')\n")
    project.write("jobs/small.yml", "script: here.py\nparameters: {x: [1]}\n")
    said = cli("sweep", "-c", "local", "jobs/small.yml")
    assert said.code == 0, said.out
    ((run_id,),) = sweeping.children(said.run_id).values()
    assert sweeping.plan(run_id)["script"] == "jobs/here.py"


def test_secrets_reach_the_runs_and_no_file(sweeping, project, cli, monkeypatch, jig_home):
    monkeypatch.setenv("TOKEN", "t0p-s3cret")
    project.runconfig("local", EnvironmentVariables={"TOKEN": {"fromClient": True}})
    project.write("secret.py", "import os; print(len(os.environ['TOKEN']))")
    project.write("secret.yml", "script: secret.py\nparameters: {x: [1, 2]}\n")
    said = cli("sweep", "-c", "local", "secret.yml")
    assert [sweeping.log(run_id) for (run_id,) in sweeping.children(said.run_id).values()] == ["10\n", "10\n"]
    for parent, _, names in os.walk(jig_home):
        assert not [name for name in names if b"t0p-s3cret" in Path(parent, name).read_bytes()]


def test_two_sweeps_at_the_same_time(sweeping):
    sweeping.file("[1, 2, 3]", "at_once: 2\n")
    sweeping.file("[11, 12, 13]", name="other.yml")
    one, other = sweeping.start(), sweeping.start(name="other.yml")
    until(lambda: len(sweeping.began()) == 3)
    sweeping.let()
    for sweep in (one, other):
        assert sweeping.end(sweep).state == "Completed"
        assert sweeping.states(sweep) == {point: ["Completed"] for point in (1, 2, 3)}
    assert len(sweeping.began()) == 6
    assert [row["objective"] for row in sweeping.show(one)["points"]] == [30, 20, 10]
    assert [row["objective"] for row in sweeping.show(other)["points"]] == [130, 120, 110]


def test_it_goes_on_when_the_terminal_is_closed(sweeping):
    sweeping.file("[1, 2]")
    process = spawn("sweep", "-c", "local", "sweep.yml", start_new_session=True)
    sweep = process.stdout.readline().decode().strip().removeprefix("RunId: ")
    until(lambda: sweeping.began(1))
    os.killpg(process.pid, signal.SIGHUP)
    process.communicate(timeout=10)
    sweeping.let()
    assert sweeping.end(sweep).state == "Completed"
    assert sweeping.states(sweep) == {1: ["Completed"], 2: ["Completed"]}


def test_ctrl_c_leaves_it_going(sweeping):
    sweeping.file("[1]")
    process = spawn("sweep", "-c", "local", "sweep.yml")
    until(lambda: sweeping.began(1))
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    sweep = out.decode().splitlines()[0].removeprefix("RunId: ")
    assert process.returncode == 130
    assert (
        f"  follow: jig logs -f {sweep}\n  cancel: jig cancel {sweep}\n  points: jig sweep show {sweep}\n"
        in out.decode()
    )
    sweeping.let()
    assert sweeping.end(sweep).state == "Completed"


def test_a_second_ctrl_c_cancels_it(sweeping):
    sweeping.file("[1, 2]", "at_once: 2\n")
    process = spawn("sweep", "-c", "local", "sweep.yml")
    until(lambda: len(sweeping.began()) == 2)
    process.send_signal(signal.SIGINT)
    assert any(b"press Ctrl-C again" in line for line in process.stdout)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=40)
    sweep = sweeping.show()["run_id"]
    assert sweeping.run(sweep).state == "Canceled"
    assert sweeping.states(sweep) == {1: ["Canceled"], 2: ["Canceled"]}
    assert process.returncode == 143
    assert f"to go on with it: jig sweep --resume {sweep}\n" in out.decode()


def test_a_metric_that_is_never_logged(sweeping, project, cli):
    project.write("m.py", "import jig\njig.log(acuracy=1, loss=2)\n")
    project.write("m.yml", "script: m.py\nparameters: {x: [1, 2]}\nobjective: {metric: accuracy}\n")
    project.write("m.py", "import jig\njig.log(acuracy=1, loss=2)\n")
    said = cli("sweep", "-c", "local", "m.yml")
    first = sweeping.children(said.run_id)[1][0]
    assert said.out.count("warning: ") == 1
    assert f"warning: {first} logged no number accuracy, only acuracy, loss; did you mean acuracy?\n" in said.out
    assert "best:" not in said.out


def test_objectives_that_nothing_can_be_compared_with(sweeping, project, cli):
    values = "{'1': 10**400, '2': float('nan'), '3': True, '4': 0.5}"
    project.write("m.py", f"import jig, sys\njig.log(score={values}[sys.argv[1][-1]])\n")
    project.write("m.yml", "script: m.py\nparameters: {x: [1, 2, 3, 4]}\nobjective: {metric: score}\n")
    said = cli("sweep", "-c", "local", "m.yml")
    assert said.code == 0, said.out
    assert "best: score 0.5 at x=4" in said.out


def test_the_program_is_jig_whatever_the_project_holds(sweeping, project, cli):
    for name in ("jig.py", "json.py", "signal.py", "yaml.py", "threading.py"):
        project.write(name, "raise SystemExit('the wrong module')\n")
    project.write("plain.py", "print('ran')\n")
    project.write("plain.yml", "script: sub/plain.py\nparameters: {x: [1]}\n")
    project.write("sub/plain.py", "print('ran')\n")
    said = cli("sweep", "-c", "local", "plain.yml")
    assert said.code == 0, said.out


def test_a_search_path_of_the_persons_own(sweeping, tmp_path):
    """A relative entry, which leads nowhere from the run's folder."""
    sweeping.file("[1]")
    sweeping.let()
    source = os.path.relpath(Path(__file__).parents[2] / "src", sweeping.project.path)
    said = call("sweep", "-c", "local", "sweep.yml", env={**os.environ, "PYTHONPATH": source})
    assert said.code == 0, said.out + said.err


def test_git_is_asked_once(sweeping, project):
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
    sweeping.file("[1, 2]")
    sweeping.let()
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], cwd=project.path, check=True)
    project.write("train.py", (project.path / "train.py").read_text() + "# changed\n")
    sweep = sweeping.start()
    subprocess.run([*git, "commit", "-qam", "two"], cwd=project.path, check=True)
    assert sweeping.end(sweep).state == "Completed"
    plans = [sweeping.plan(run_id) for run_id in (sweep, *(runs[0] for runs in sweeping.children(sweep).values()))]
    assert len(plans) == 3 and all(plan["origin"]["dirty"] for plan in plans)
    assert len({plan["origin"]["commit"] for plan in plans}) == 1
    assert len({plan["attachments"]["uncommitted.diff"] for plan in plans}) == 1
