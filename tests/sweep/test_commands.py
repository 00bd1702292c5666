"""`jig sweep` on the command line: its help, its mistakes, what it shows."""

import jig.cli.complete
from tests import terminal
from tests.conftest import until


def test_help_tells_of_the_usual_command(cli):
    said = cli("sweep", "--help")
    assert said.code == 0
    assert "usage: jig sweep COMMAND [options]\n" in said.out
    assert "Without a COMMAND it is `run`:\n\nusage: jig sweep [options] [FILE]\n" in said.out
    assert "--resume ID" in said.out
    assert cli("sweep", "-c", "local", "--help").out.startswith(
        "usage: jig sweep [options] [FILE]\nalso:  jig sweep run\n"
    )
    assert cli("sweep").code == 2


def test_completion_knows_it_too(project):
    names = [name for name, _ in jig.cli.complete.candidates(["sweep", ""])]
    assert names == ["run", "show", "", "--help"], "its commands, or a file"
    assert ("local", "") in jig.cli.complete.candidates(["sweep", "-c", ""])
    assert "--resume" in [name for name, _ in jig.cli.complete.candidates(["sweep", "--re"])]


def test_mistakes(sweeping, cli):
    sweeping.file()
    for words, code, said in (
        (("sweep.yml",), 2, "no run configuration was named"),
        (("-c", "local"), 2, "no file was named that describes the sweep"),
        (("-c", "local", "swep.yml"), 2, "did you mean sweep.yml?"),
        (("-c", "local", "-n", "0", "sweep.yml"), 2, "-n takes a whole number from 1 to 1,000, not '0'"),
        (("-c", "lokal", "sweep.yml"), 2, "did you mean `local`?"),
        (("--resume", "nothing"), 125, "there is no run nothing"),
        (("--resume", "a", "sweep.yml"), 2, "--resume goes on with the file that the sweep began with"),
        (("--resume", "a", "-c", "local"), 2, "it takes no --config"),
        (("show",), 125, "there are no sweeps yet"),
    ):
        answer = cli("sweep", *words)
        assert (answer.code, said in answer.err) == (code, True), answer.err


def test_a_file_with_faults_starts_nothing(sweeping, project, cli):
    project.write("sweep.yml", "script: trian.py\nparameters: {x: [1]}\n")
    said = cli("sweep", "-c", "local", "sweep.yml")
    assert (said.code, "did you mean train.py?" in said.err) == (2, True)
    project.write("sweep.yml", "script: train.py\nparametrs: {x: [1]}\n")
    said = cli("sweep", "-c", "local", "sweep.yml")
    assert said.code == 125
    assert "sweep.yml:2: `parametrs` is not a key of a sweep file\n    fix: did you mean `parameters`?" in said.err
    assert cli("sweep", "show").code == 125


def test_runs_without_a_record_cannot_be_compared(sweeping, project, cli):
    sweeping.file()
    project.runconfig("local", TrackedRun=False)
    said = cli("sweep", "-c", "local", "sweep.yml")
    assert (said.code, "TrackedRun: false" in said.err) == (2, True)


def test_settings_that_are_not_frozen(sweeping, project, cli):
    sweeping.file("[1]")
    project.write(".amlignore", "*.compute\n")
    said = cli("sweep", "-c", "local", "sweep.yml")
    assert said.code == 125
    assert "aml_config/local.compute is left out by the ignore rules" in said.err
    assert "hint: write `!aml_config/local.compute` into .amlignore" in said.err
    project.write(".amlignore", "*.compute\n!aml_config/local.compute\n")
    sweeping.let()
    assert cli("sweep", "-c", "local", "sweep.yml").code == 0


def test_a_variable_of_this_computer_that_is_not_set(sweeping, project, cli, monkeypatch):
    sweeping.file()
    project.runconfig("local", EnvironmentVariables={"TOKEN": {"fromClient": True}})
    said = cli("sweep", "-c", "local", "sweep.yml")
    assert (said.code, "takes the variable TOKEN from this computer" in said.err) == (2, True)
    monkeypatch.setenv("TOKEN", "x")
    sweep = sweeping.start()
    until(lambda: sweeping.began(1))
    assert cli("cancel", sweep).code == 0
    monkeypatch.delenv("TOKEN")
    said = cli("sweep", "--resume", sweep)
    assert (said.code, f"TOKEN=… jig sweep --resume {sweep}" in said.err) == (2, True)


def test_dry_run(sweeping, cli, jig_home):
    sweeping.file("{min: 1, max: 30}", "at_once: 4\n")
    said = cli("sweep", "-c", "local", "--dry-run", "sweep.yml")
    assert said.code == 0, said.err
    lines = said.out.splitlines()
    assert lines[:3] == ["sweep of 30 points (grid), 4 at a time, on local", "[1/30] x=1", "[2/30] x=2"]
    assert lines[20:24] == ["[20/30] x=20", "… and 10 more", "", "the first of its runs:"]
    assert "train.py" in said.out and "--x=1" in said.out
    assert not (jig_home / "runs").exists()


def test_a_dry_run_of_random_points(sweeping, project, cli):
    project.write("r.yml", "script: train.py\nmethod: random\nsamples: 2\nparameters: {x: {min: 1, max: 9}}\n")
    said = cli("sweep", "-c", "local", "--dry-run", "r.yml")
    assert "without `seed` other points are drawn when it is started; these are an example\n" in said.out
    project.write("r.yml", "script: train.py\nmethod: random\nsamples: 2\nseed: 1\nparameters: {x: {min: 1, max: 9}}\n")
    assert "an example" not in cli("sweep", "-c", "local", "--dry-run", "r.yml").out


def test_show(sweeping, cli):
    sweeping.file("[1, 2, 3]")
    sweeping.let(1)
    sweep = sweeping.start()
    until(lambda: sweeping.began(2))
    until(lambda: "[1/3] x=1: Completed" in sweeping.log(sweep))
    first, second = (tries[0] for tries in sweeping.children(sweep).values())
    said = cli("sweep", "show")
    lines = said.out.splitlines()
    assert lines[0] == f"sweep {sweep}: Running, 1 completed, 1 running, 1 not begun"
    assert lines[1:4] == [f"best: score 10 at x=1 ({first})", "", "point  x  score  status     duration  run_id"]
    assert lines[5].split()[:4] == ["1", "1", "10", "Completed"] and lines[5].endswith(first)
    assert lines[6].split() == ["2", "2", "Running", second]
    assert lines[7].split() == ["3", "3", "not", "begun"]
    found = sweeping.show(second)
    assert (found["run_id"], found["status"], found["method"]) == (sweep, "Running", "grid")
    assert found["objective"] == {"metric": "score", "goal": "maximize"}
    assert [(row["point"], row["params"], row["status"], row["run_id"]) for row in found["points"]] == [
        (1, {"x": 1}, "Completed", first),
        (2, {"x": 2}, "Running", second),
        (3, {"x": 3}, "not begun", None),
    ]
    assert cli("cancel", sweep).code == 0
    assert cli("sweep", "show", sweep).out.endswith(f"\nto go on with it: jig sweep --resume {sweep}\n")


def test_a_run_that_is_no_sweep(sweeping, project, cli):
    project.write("a.py", "print(1)")
    run_id = cli("submit", "-c", "local", "a.py").run_id
    said = cli("sweep", "show", run_id)
    assert (said.code, f"{run_id} is no sweep, nor a run of one" in said.err) == (2, True)


def test_names_that_are_columns_already(sweeping, project, cli):
    project.write("n.py", "import jig\njig.log(run_id=1)\n")
    project.write("n.yml", "script: n.py\nparameters: {status: [7]}\nobjective: {metric: run_id}\n")
    said = cli("sweep", "-c", "local", "n.yml")
    assert "point  status (parameter)  run_id (objective)  status     duration  run_id\n" in said.out


def test_a_terminal_tells_how_far_it_is(sweeping, cli):
    sweeping.file("[1, 2, 3]", "at_once: 2\n")
    sweeping.let(1)
    with terminal.jig("sweep", "-c", "local", "sweep.yml", columns=120) as shown:
        shown.read_until("… 1 of 3 done, 2 going, best score 10, for ")
        sweeping.let()
        shown.read_until("best: score 30 at x=3")
        assert shown.process.wait(20) == 0


def test_the_record_knows_the_sweep(sweeping, cli):
    sweeping.file("[1, 3, 2]")
    sweeping.let()
    sweep = cli("sweep", "-c", "local", "sweep.yml").run_id
    where = ("--where", f'sweep = "{sweep}"', "--sort", "-score")
    found = cli("history", "list", *where, "-o", "json").json()
    assert [(record["score"], record["params"], record["parent_run_id"]) for record in found] == [
        (30, {"x": 3}, sweep),
        (20, {"x": 2}, sweep),
        (10, {"x": 1}, sweep),
    ]
    assert cli("history", "list", *where, "--columns", "x,score", "-o", "tsv").out == "3\t30\n2\t20\n1\t10\n"


def test_a_sweep_is_not_made_again_as_if_its_file_were_a_script(sweeping, cli):
    sweeping.file("[1]")
    sweeping.let()
    sweep = cli("sweep", "-c", "local", "sweep.yml").run_id
    for words in (("-r", sweep), ("-r", sweep, "--dry-run")):
        said = cli("experiment", "reproduce", *words)
        assert said.code == 2 and f"{sweep} is a sweep, and only its runs can be made again" in said.err
        assert f"jig sweep show {sweep}" in said.err
    (point,) = cli("history", "list", "--where", f'sweep = "{sweep}"').json()
    assert cli("experiment", "reproduce", "-r", point["run_id"]).code == 0
