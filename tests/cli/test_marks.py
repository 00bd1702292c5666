"""Tags, notes and the archive: what a person says of a run afterwards."""

import json
import os
import subprocess
import sys

import pytest

from tests.conftest import environ, spawn
from tests.mounts import fill

HOSTILE = ("a\nb", "a\x1b[31mb", "\x07", " a", "", "a\u202eb", "a\x9bb")


@pytest.fixture
def run_id(project, cli):
    project.write("a.py", "import jig; jig.log('loss', 0.5)")
    return cli("submit", "-c", "local", "a.py").run_id


@pytest.fixture
def other_id(project, cli, run_id):
    return cli("submit", "-c", "local", "a.py").run_id


def record(cli, run_id):
    return cli("history", "info", "-r", run_id).json()


def test_tags(cli, run_id, other_id):
    said = cli("history", "tag", "-r", run_id, "-r", other_id, "stage=final", "formula=a=b", "näme=ü é", "empty=")
    tags = {"stage": "final", "formula": "a=b", "näme": "ü é", "empty": ""}
    assert said.code == 0, said.err
    assert said.out == "".join(f"{one}: empty=, formula=a=b, näme=ü é, stage=final\n" for one in (run_id, other_id))
    assert record(cli, run_id)["tags"] == record(cli, other_id)["tags"] == tags
    said = cli(
        "history", "tag", "-r", run_id, "stage=trial", "--remove", "formula", "--remove", "never-there", "-o", "json"
    )
    assert said.json() == [{"run_id": run_id, "tags": {"stage": "trial", "näme": "ü é", "empty": ""}}]
    assert cli("history", "tag", "-r", other_id, "--query", "[0].tags.stage", "-o", "tsv").out == "final\n"
    found = cli("history", "list", "--where", 'tags.stage = "trial"').json()
    assert [one["run_id"] for one in found] == [run_id]
    assert cli("history", "tag").out.startswith(f"{other_id}: "), "the latest, when none is named"


@pytest.mark.parametrize("name", HOSTILE)
def test_names_that_no_tag_has(cli, run_id, name):
    for words in ((f"{name}=1",), ("--remove", name)):
        said = cli("history", "tag", "-r", run_id, "fine=1", *words)
        assert said.code == 2 and "cannot be the name of a tag" in said.err
        assert not set(said.err) & set("\x1b\x07\x9b\u202e")
    assert record(cli, run_id)["tags"] == {}


def test_values_are_kept_as_they_are_and_shown_harmless(cli, run_id):
    value = "a\nb\x1b[31m\u202e=\t"
    said = cli("history", "tag", "-r", run_id, f"x={value}")
    assert said.out == f"{run_id}: x=a\\nb\\x1b[31m\\u202e=\\t\n"
    assert record(cli, run_id)["tags"] == {"x": value}


def test_mistakes(cli, run_id):
    assert "'stage' is no tag: it has no value" in cli("history", "tag", "-r", run_id, "stage").err
    assert "is to be set and to be removed" in cli("history", "tag", "-r", run_id, "a=1", "--remove", "a").err
    said = cli("history", "tag", "-r", run_id, "x=" + "y" * 1_000_000)
    assert said.code == 2 and "the value of a tag has 1,000,000 characters; 5,000 is the most" in said.err
    assert (
        "the name of a tag has 1,000,000 characters" in cli("history", "tag", "-r", run_id, "y" * 1_000_000 + "=").err
    )
    assert "is not UTF-8" in cli("history", "tag", "-r", run_id, "x=\udcff").err
    assert cli("history", "tag", "-r", "nobody_1", "a=1").code == 125
    assert record(cli, run_id)["tags"] == {}


def test_a_note(cli, run_id):
    assert cli("history", "note", "-r", run_id, "the spike at 400\nis the bad shard \x1b").out == f"{run_id}: noted\n"
    assert record(cli, run_id)["note"] == "the spike at 400\nis the bad shard \x1b"
    assert (
        cli("history", "note", "-r", run_id, "the spike at 400\nis the bad shard \x1b").out == f"{run_id}: unchanged\n"
    )
    said = cli("history", "note", "-r", run_id, "-- better", "-o", "json")
    assert said.code == 2, "what begins with a dash stands behind --"
    said = cli("history", "note", "-r", run_id, "-o", "json", "--", "- better")
    assert said.json() == {"run_id": run_id, "note": "- better"}
    assert cli("history", "note", "-r", run_id, "").out == f"{run_id}: removed\n"
    assert not record(cli, run_id)["note"]


def test_a_note_from_standard_input(cli, run_id):
    text = "größe\n" * 1000
    process = spawn("history", "note", "-r", run_id, "-", stdin=subprocess.PIPE)
    out, err = process.communicate(text.encode(), timeout=60)
    assert (process.returncode, out.decode()) == (0, f"{run_id}: noted\n"), err
    assert record(cli, run_id)["note"] == text.rstrip()
    for data, words in ((b"x" * 1_000_000, "the note has "), (b"\xff\xfe", "is not UTF-8")):
        process = spawn("history", "note", "-r", run_id, "-", stdin=subprocess.PIPE)
        _, err = process.communicate(data, timeout=60)
        assert process.returncode == 2 and words in err.decode()
    assert record(cli, run_id)["note"] == text.rstrip()


EDITOR = """
import pty, sys
sys.exit(pty.spawn(sys.argv[1:]) >> 8)
"""


def edited(tmp_path, run_id, script: str) -> "tuple[int, str]":
    """The note is written with an editor, at a terminal."""
    program = tmp_path / "my editor"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    words = [sys.executable, "-c", EDITOR, sys.executable, "-m", "jig", "history", "note", "-r", run_id]
    done = subprocess.run(
        words, env=environ(EDITOR=f"'{program}' --wait", VISUAL="", TERM="xterm"), capture_output=True, timeout=60,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    return done.returncode, done.stdout.decode()


def test_a_note_with_an_editor(cli, run_id, tmp_path):
    assert edited(tmp_path, run_id, '[ "$1" = --wait ] && echo "one line" >> "$2"') == (0, f"{run_id}: noted\r\n")
    assert record(cli, run_id)["note"] == "one line"
    assert edited(tmp_path, run_id, 'echo "a second" >> "$2"')[0] == 0
    assert record(cli, run_id)["note"] == "one linea second", "the editor gets the note as it is"
    assert edited(tmp_path, run_id, "true") == (0, f"{run_id}: unchanged\r\n")
    code, out = edited(tmp_path, run_id, 'echo lost >> "$2"; exit 3')
    assert code == 125 and "ended with exit code 3: the note is as it was" in out
    assert record(cli, run_id)["note"] == "one linea second"
    said = cli("history", "note", "-r", run_id)
    assert said.code == 2 and "there is no editor to write it with" in said.err


def listed(cli, *words):
    return [one["run_id"] for one in cli("history", "list", *words).json()]


def test_the_archive(cli, run_id, other_id):
    assert cli("history", "archive", "-r", run_id, other_id).out == f"archived {run_id}\narchived {other_id}\n"
    assert listed(cli) == [] and listed(cli, "--archived") == [other_id, run_id]
    assert record(cli, run_id)["hidden"] is record(cli, run_id)["archived"] is True
    said = cli("history", "archive", "--undo", other_id, "-o", "json")
    assert said.json() == [{"run_id": other_id, "archived": False}]
    assert listed(cli) == [other_id]
    said = cli("history", "archive")
    assert said.code == 2 and "no run was named" in said.err
    assert cli("history", "delete", run_id).code == 0
    assert listed(cli, "--archived") == [other_id]


def test_marks_outlive_the_index(cli, run_id, jig_home):
    assert cli("history", "tag", "-r", run_id, "stage=final").code == 0
    assert cli("history", "note", "-r", run_id, "kept").code == 0
    assert cli("history", "archive", run_id).code == 0
    before = record(cli, run_id)
    assert cli("history", "rebuild").code == 0
    assert record(cli, run_id) == before
    os.unlink(jig_home / "index.db")
    assert record(cli, run_id) == before
    assert (before["tags"], before["note"], before["archived"]) == ({"stage": "final"}, "kept", True)


def test_many_at_the_same_time(cli, run_id):
    both = [spawn("history", "tag", "-r", run_id, f"t{number}={'v' * 3000}") for number in range(12)]
    said = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0] * 12, said
    assert record(cli, run_id)["tags"] == {f"t{number}": "v" * 3000 for number in range(12)}


def test_a_full_disk(project, cli, small_disk, monkeypatch):
    """It is told, nothing is lost, and the next mark counts again."""
    folder = small_disk("16m")
    monkeypatch.setenv("JIG_HOME", str(folder / "jig"))
    project.write("a.py", "print(1)")
    run_id = cli("submit", "-c", "local", "a.py").run_id
    assert cli("history", "tag", "-r", run_id, "first=1").code == 0
    rest = fill(folder)
    said = cli("history", "note", "-r", run_id, "x" * 90_000)
    assert said.code == 125 and f"what was said of {run_id} could not be kept: the disk is full" in said.err
    rest.unlink()
    assert cli("history", "tag", "-r", run_id, "second=2").code == 0
    found = record(cli, run_id)
    assert (found["tags"], found["note"]) == ({"first": "1", "second": "2"}, None)
    lines = (folder / "jig/runs" / run_id / "remarks.jsonl").read_text().splitlines()
    assert json.loads(lines[0])["tags"] == {"first": "1"} and json.loads(lines[-1])["tags"] == {"second": "2"}
