"""Runs, and points, as comma-separated values."""

import csv
import io
import json
import math

import pytest

from jig.export import table
from tests.mounts import fill

LOGS = """
import jig, os
jig.log({"loss": 0.1, "lr": 1e-4}, step=3)
jig.log({"loss": float("nan")}, step=4)
jig.log("ok", True)
jig.log("phase", 'say "hi",\\nthere')
jig.log("roc", [1, 2.5])
jig.log("=cmd()\\x1b[31m", 7)
with open(os.path.join(os.environ["JIG_RUN_DIR"], "metrics.jsonl"), "a") as file:
    file.write('{"time": 5.5, "run": "1", "name": "fold", "status": "FINISHED", "parent": ""}\\n')
    file.write('{"time": 5.5, "run": "1", "values": {"loss": 0.5}}\\n')
    file.write('{"time": 5.5, "params": {"depth": 3}}\\n{"time": 5.5, "values": {"torn": 1')
"""


def rows_of(text: str) -> "list[dict[str, str]]":
    return list(csv.DictReader(io.StringIO(text, newline="")))


@pytest.fixture
def two_runs(project, cli):
    project.write("logs.py", LOGS)
    project.write("other.py", "import jig; jig.log('loss', 2)")
    ids = [cli("submit", "-c", "local", script).run_id for script in ("logs.py", "other.py")]
    assert cli("history", "tag", "-r", ids[0], "stage=fin\u00e4l, really").code == 0
    assert cli("history", "note", "-r", ids[0], 'two\nlines, "quoted"').code == 0
    return ids


def test_a_row_for_each_run(two_runs, cli):
    said = cli("history", "export", "--to", "csv")
    assert said.code == 0, said.err
    first, second = rows_of(said.raw.decode())
    record = cli("history", "info", "-r", two_runs[0]).json()
    assert [first["run_id"], second["run_id"]] == two_runs
    assert first["note"] == 'two\nlines, "quoted"'
    assert (first["tags.stage"], second["tags.stage"]) == ("fin\u00e4l, really", "")
    assert (first["params.depth"], second["params.depth"]) == ("3", "")
    assert (first["metrics.loss"], second["metrics.loss"]) == ("NaN", "2")
    assert first["metrics.phase"] == 'say "hi",\nthere'
    assert first["metrics.roc"] == "[1, 2.5]" and first["metrics.ok"] == "true"
    assert first["metrics.=cmd()\x1b[31m"] == "7"
    assert json.loads(first["gpu"]) == record["gpu"] and first["exit_code"] == "0"
    names = said.raw.decode().split("\n")[0].split(",")
    assert names[:3] == ["run_id", "run_number", "name"] and "loss" not in names


def test_a_row_for_each_point(two_runs, cli):
    said = cli("history", "export", *two_runs, "--to", "csv", "--points")
    found = [
        tuple(row[name] for name in ("run_id", "rank", "name", "step", "value")) for row in rows_of(said.raw.decode())
    ]
    first, second = two_runs
    assert found == [
        (first, "0", "loss", "3", "0.1"),
        (first, "0", "lr", "3", "0.0001"),
        (first, "0", "loss", "4", "NaN"),
        (first, "0", "ok", "0", "true"),
        (first, "0", "phase", "0", 'say "hi",\nthere'),
        (first, "0", "roc", "0", "[1, 2.5]"),
        (first, "0", "=cmd()\x1b[31m", "0", "7"),
        (second, "0", "loss", "0", "2"),
    ]
    assert rows_of(said.raw.decode())[0]["time_utc"].endswith("+00:00")


def test_nested_runs_and_a_query(two_runs, cli):
    first, second = two_runs
    said = cli("history", "export", "--to", "csv", "--nested", "--points")
    nested = [row for row in rows_of(said.raw.decode()) if row["run_id"] == f"{first}-1"]
    assert [(row["name"], row["value"], row["time_utc"]) for row in nested] == [
        ("loss", "0.5", "1970-01-01T00:00:05.500000+00:00")
    ]
    found = rows_of(cli("history", "export", "--to", "csv", "--where", "loss > 1").out)
    assert [row["run_id"] for row in found] == [second]
    said = cli("history", "export", "--to", "csv", "--where", "los > 1")
    assert said.code == 2 and "did you mean loss?" in said.err
    assert cli("history", "archive", second).code == 0
    assert [row["run_id"] for row in rows_of(cli("history", "export", "--to", "csv").out)] == [first]
    assert len(rows_of(cli("history", "export", "--to", "csv", "--archived").out)) == 2


def test_what_can_be_no_time_is_left_out(project, cli):
    said = '{"time": 1e300, "values": {"x": 1}}\\n{"time": 1.8e15, "values": {"x": 2}}\\n{"time": 0.5, "values": {"x": 3}}\\n'
    project.write("odd.py", f"import os; open(os.environ['JIG_RUN_DIR'] + '/metrics.jsonl', 'a').write('{said}')")
    cli("submit", "-c", "local", "odd.py")
    said = cli("history", "export", "--to", "csv", "--points")
    assert said.code == 0, said.err
    found = [(row["value"], row["time_utc"]) for row in rows_of(said.out)]
    assert found == [("1", ""), ("2", ""), ("3", "1970-01-01T00:00:00.500000+00:00")]


@pytest.mark.parametrize("points", [(), ("--points",)])
def test_what_no_encoding_has_is_written_out(project, cli, points):
    project.write("half.py", "import jig; jig.log('half \\ud800', 1)")
    cli("submit", "-c", "local", "half.py")
    said = cli("history", "export", "--to", "csv", *points)
    assert said.code == 0 and "half \\ud800" in said.out, said.err


def test_into_a_file(two_runs, cli, tmp_path):
    place = tmp_path / "runs.csv"
    assert cli("history", "export", "--to", "csv", "--save", str(place)).out == f"2 rows in {place}\n"
    assert place.read_bytes() == cli("history", "export", "--to", "csv").raw
    said = cli("history", "export", "--to", "csv", "--points", "--save", str(place), "-o", "json")
    assert said.json() == {"file": str(place), "rows": 8}
    said = cli("history", "export", "--to", "csv", "--save", str(tmp_path / "none/x.csv"))
    assert said.code == 125 and said.err.startswith(f"error: {tmp_path}/none/x.csv could not be written: No such file")
    said = cli("history", "export", "--to", "csv", "-o", "json")
    assert said.code == 2 and "the table itself goes to standard output" in said.err


def test_a_full_disk_leaves_the_file_as_it_was(two_runs, cli, small_disk):
    folder = small_disk("256k")
    (folder / "runs.csv").write_text("before")
    fill(folder)
    said = cli("history", "export", "--to", "csv", "--save", str(folder / "runs.csv"))
    assert said.code == 125 and "No space left on device" in said.err
    assert (folder / "runs.csv").read_text() == "before"
    assert sorted(path.name for path in folder.iterdir()) == ["rest", "runs.csv"]


def test_numbers_read_back_exactly():
    for value in (0.1, 1e-300, 2**53 + 1, -0.0, math.pi):
        assert repr(type(value)(table.cell(value))) == repr(value)
