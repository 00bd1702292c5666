"""`jig history compare` and `jig history diff`, with real runs and exact output."""

import os
import pty
import re
import subprocess
import sys

import pytest

from jig.runner import events
from jig.runner.folder import Home
from jig.store.queries import Store
from tests.conftest import environ

TRAIN = "import sys, jig\njig.log(accuracy={accuracy}, loss=[3, 2])\n"


@pytest.fixture
def two(project, cli):
    """Two runs: the second has another argument, another metric, another file."""
    project.write("train.py", TRAIN.format(accuracy=0.5))
    project.write("note.txt", "hello\n")
    first = cli("submit", "-c", "local", "train.py", "--lr", "0.1").run_id
    project.write("train.py", TRAIN.format(accuracy=0.75) + "print('more')\n")
    project.runconfig(EnvironmentVariables={"SEED": "7"})
    os.unlink(project.path / "note.txt")
    second = cli("submit", "-c", "local", "train.py", "--lr", "0.2").run_id
    return first, second


def test_side_by_side(two, cli):
    first, second = two
    said = cli("history", "compare", *two)
    assert (said.code, said.err) == (0, "")
    lines = said.out.splitlines()
    assert lines[:3] == [
        f"A  {first}  Completed  local  train.py --lr 0.1",
        f"B  {second}  Completed  local  train.py --lr 0.2",
        "",
    ]
    rows = [re.split(r"\s{2,}", line.strip()) for line in lines]
    assert rows[3:8] == [
        ["arguments", "A", "B", "B - A"],
        ["--lr", "0.1", "0.2"],
        [""],
        ["metrics", "A", "B", "B - A"],
        ["accuracy", "0.5", "0.75", "+0.25"],
    ]
    assert ["train.py", "-", "+2 -1"] in rows
    assert ["note.txt", "-", "deleted +0 -1"] in rows
    assert ["variable SEED", "-", "7"] in rows
    assert any(line.startswith("  before the start  ") for line in lines), "a name has the room that it needs"
    assert all(len(line) <= 80 for line in lines)
    assert lines[-2].startswith("the same: 1 of arguments, 1 of metrics,") and "(--all shows them)" in lines[-1]


def test_all_rows_and_words_for_runs(two, cli):
    said = cli("history", "compare", "last~1", "last", "--all")
    assert said.out.startswith(f"A  {two[0]} ") and "the same:" not in said.out
    assert ["loss", "list of 2", "list of 2"] in [re.split(r"\s{2,}", line.strip()) for line in said.out.splitlines()]
    three = cli("history", "compare", "last~1", "last", two[0])
    assert three.code == 0 and all(len(line) <= 80 for line in three.out.splitlines())
    assert "B - A" not in three.out


def test_for_programs(two, cli):
    told = cli("history", "compare", *two, "-o", "json").json()
    assert told["runs"] == list(two)
    assert told["arguments"]["--lr"] == {"values": ["0.1", "0.2"], "same": False}
    assert told["arguments"]["script"] == {"values": ["train.py", "train.py"], "same": True}
    assert told["metrics"]["accuracy"] == {"values": [0.5, 0.75], "same": False, "difference": 0.25}
    assert told["code"]["train.py"]["values"] == [None, {"change": "changed", "added": 2, "deleted": 1}]
    assert cli("history", "compare", *two, "--query", "metrics.accuracy.difference").json() == 0.25


def test_mistakes(two, cli):
    said = cli("history", "compare", "last")
    assert said.code == 2 and "two runs or more, not 1" in said.err
    said = cli("history", "compare", "last", "last~7")
    assert said.code == 125 and "last~7: there are only 2 runs" in said.err
    said = cli("history", "compare", "last", "nothing_1")
    assert said.code == 125 and "there is no run nothing_1" in said.err
    assert cli("history", "diff", *two, "last").code == 2
    assert cli("history", "diff", "last~x").code == 2


def test_code_that_is_gone_is_told_and_left_out(two, cli, jig_home):
    for place in (jig_home / "blobs").glob("??/*"):
        place.unlink()
    said = cli("history", "compare", *two)
    assert said.code == 0 and said.err.count("is not compared: the frozen code of") == 2
    assert "accuracy" in said.out
    said = cli("history", "diff", *two)
    assert said.code == 125 and "the list of files cannot be found" in said.err


def test_a_damaged_blob_is_not_shown_as_code(two, cli, jig_home):
    from jig.frozen import Frozen
    from jig.store.queries import Store

    (blob,) = [entry[4] for entry in Frozen(Store().find(two[0], None)).entries if entry[1] == "train.py"]
    place = jig_home / "blobs" / blob[:2] / blob[2:]
    place.write_text("something else")
    said = cli("history", "diff", *two)
    assert said.code == 125 and "train.py cannot be found" in said.err and said.out == ""


def test_diff_applies(two, cli, project, tmp_path):
    said = cli("history", "diff", *two)
    assert said.out.startswith(
        "# arguments: --lr: 0.1 -> 0.2\n# configuration: variable SEED: (none) -> 7\n\ndiff --git "
    )
    then = tmp_path / "then"
    assert cli("project", "restore", two[0], "--path", str(then)).code == 0
    done = subprocess.run(["git", "apply"], input=said.raw, cwd=then, capture_output=True)
    assert done.returncode == 0, done.stderr
    now = {path.relative_to(project.path): path.read_bytes() for path in project.path.rglob("*") if path.is_file()}
    assert {path.relative_to(then): path.read_bytes() for path in then.rglob("*") if path.is_file()} == now


def test_diff_of_one_run_against_the_folder(two, cli, project):
    assert cli("history", "diff", "last").out == ""
    project.write("new.py", "x\n")
    project.write("outputs/model", "not code")
    assert cli("history", "diff", "last", "--name-only").out == "new.py\n"
    assert cli("history", "diff", "last", "--stat").out == (" new.py | 1 +\n 1 file changed, 1 insertion(+)\n")
    told = cli("history", "diff", "last", "-o", "json").json()
    assert [(row["path"], row["change"], row["new_mode"]) for row in told["files"]] == [("new.py", "new", "100644")]


def test_stat(two, cli):
    said = cli("history", "diff", *two, "--stat")
    assert said.out.endswith(
        " aml_config/local.runconfig | 1 +\n"
        " note.txt                   | 1 -\n"
        " train.py                   | 3 ++-\n"
        " 3 files changed, 3 insertions(+), 2 deletions(-)\n"
    )


def test_a_terminal_gets_colours_and_nothing_that_acts_on_it(two, cli, project):
    project.write("evil.txt", "\x1b]0;owned\x07\n")
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "jig", "history", "diff", "last"]
    process = subprocess.Popen(command, stdout=theirs, stderr=theirs, env=environ(TERM="xterm"))
    os.close(theirs)
    seen = b""
    while True:
        try:
            data = os.read(ours, 65536)
        except OSError:
            break
        if not data:
            break
        seen += data
    os.close(ours)
    assert process.wait() == 0
    assert b"\x1b[1mdiff --git a/evil.txt b/evil.txt\x1b[0m" in seen
    assert b"\x1b[32m+\\x1b]0;owned\\x07\x1b[0m" in seen


def test_a_run_within_a_run_has_its_own_times(project, cli):
    project.write("train.py", "import jig\njig.log(whole=1)\n")
    run_id = cli("submit", "-c", "local", "train.py").run_id
    folder = Home(os.environ["JIG_HOME"]).run(run_id)
    began = events.read(folder.events)[-1]["time"]
    with open(folder.metrics, "a") as file:
        file.write(f'{{"run": "1", "time": {began - 900.5}, "status": "RUNNING", "params": {{"depth": 2}}}}\n')
        file.write(f'{{"run": "2", "time": {began - 900.5}, "status": "RUNNING"}}\n')
        for number, took in ((1, 800.25), (2, 700.25)):
            file.write(f'{{"run": "{number}", "time": {began - 900.5 + took}, "status": "FINISHED"}}\n')
    Store().index.rebuild()
    told = cli("history", "compare", f"{run_id}-1", f"{run_id}-2", "-o", "json").json()
    assert [round(value, 2) for value in told["time"]["duration_s"]["values"]] == [800.25, 700.25]
    assert told["time"]["before_start_s"]["values"] == [None, None]
    assert told["parameters"]["depth"]["values"] == [2, None]


def test_spark_settings(project, cli, monkeypatch):
    """Nothing is started: there is no such Spark. The plans are there."""
    project.write("aml_config/local.compute", "type: local\nsparkSubmitLocation: /nowhere/spark-submit\n")
    project.runconfig(Framework="PySpark")
    project.write("train.py", "")
    monkeypatch.setenv("TOKEN", "psst")
    runs = []
    for memory in ("4g", "8g"):
        said = f"configuration:\n  spark.executor.memory: {memory}\n  spark.x.token: {{fromClient: TOKEN}}\n"
        project.write("aml_config/spark_dependencies.yml", said)
        runs.append(cli("submit", "-c", "local", "train.py").run_id)
    told = cli("history", "compare", *runs, "-o", "json").json()["configuration"]
    assert told["setting spark.executor.memory"] == {"values": ["4g", "8g"], "same": False}
    assert told["setting spark.x.token"] == {"values": ["(secret)", "(secret)"], "same": True}
    assert "# configuration: setting spark.executor.memory: 4g -> 8g\n" in cli("history", "diff", *runs).out

    project.write("aml_config/local.compute", "type: local\nsparkSubmitLocation: /elsewhere/spark-submit\n")
    again = cli("experiment", "reproduce", "-r", runs[0], "--dry-run", "-o", "json")
    assert again.code == 0, again.err
    found = {row["what"]: (row["then"], row["now"], row["verdict"]) for row in again.json()["rows"]}
    assert found["spark-submit"] == ("/nowhere/spark-submit", "/elsewhere/spark-submit", "different")
    assert found["setting spark.x.token"] == ("(secret)", "(secret)", "its value is never written down")
    assert "setting spark.executor.memory" not in found, "the file is the frozen one"
