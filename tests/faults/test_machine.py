"""A full disk, a clock set back, a read-only project, many at once, a damaged index."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from jig.runner import events
from tests.conftest import ProjectFolder, call, environ, spawn
from tests.mounts import fill
from tests.system_packages import need


def test_the_disk_fills_during_a_run(project, cli, tmp_path, mounted, monkeypatch):
    home = mounted(tmp_path / "small", "-t", "tmpfs", "-o", "size=8m", "tmpfs")
    monkeypatch.setenv("JIG_HOME", str(home))
    project.write("quiet.py", "print('fine')")
    project.write("fill.py", "while True: print('x' * 10000)")
    assert cli("submit", "-c", "local", "quiet.py").code == 0
    said = cli("submit", "-c", "local", "fill.py")
    assert said.code != 0 and "Status: Failed: the disk was full" in said.out
    records = {record["script_name"]: record for record in cli("history", "list").json()}
    assert records["fill.py"]["reason"] == "disk-full" and records["quiet.py"]["status"] == "Completed"
    log = home / "runs" / records["fill.py"]["run_id"] / "output.log"
    assert log.stat().st_size == events.read(str(log.with_name("events.jsonl")))[-1]["log_size"]

    rest = fill(home)
    said = cli("submit", "-c", "local", "quiet.py")  # there is no room for another run now
    assert said.code == 125 and "No space left on device" in said.err
    assert len(cli("history", "list").json()) == 2
    rest.unlink()
    assert cli("history", "delete", "-r", records["fill.py"]["run_id"]).code == 0
    assert cli("submit", "-c", "local", "quiet.py").code == 0
    assert [record["status"] for record in cli("history", "list").json()] == ["Completed", "Completed"]


def test_a_disk_full_of_something_else(project, cli, tmp_path, mounted, monkeypatch):
    home = mounted(tmp_path / "small", "-t", "tmpfs", "-o", "size=8m", "tmpfs")
    monkeypatch.setenv("JIG_HOME", str(home))
    project.write(
        "fill.py",
        "import os, sys\n"
        "f = open(os.environ['JIG_HOME'] + '/ballast', 'wb', buffering=0)\n"
        "try:\n    while True: f.write(b'x' * 4096)\nexcept OSError: sys.exit(5)\n",
    )
    said = cli("submit", "-c", "local", "fill.py")
    assert said.code == 5 and "Status: Failed: the disk was full" in said.out


def test_a_clock_set_back(project, cli):
    need("libfaketime")
    (library,) = Path("/usr/lib").rglob("libfaketime.so.1")
    project.write("a.py", "print('hi')")
    assert cli("submit", "-c", "local", "a.py").code == 0
    back = environ(LD_PRELOAD=str(library), FAKETIME="-3d", FAKETIME_DONT_RESET="1")
    said = call("submit", "-c", "local", "a.py", env=back)
    assert said.code == 0, said.err
    listed = cli("history", "list").json()
    assert [record["run_number"] for record in listed] == [2, 1]
    assert listed[0]["run_id"] == said.run_id == cli("history", "last").json()["run_id"]
    assert listed[0]["created_utc"] < listed[1]["created_utc"]
    assert listed[0]["start_time_utc"] <= listed[0]["end_time_utc"]
    assert listed[0]["duration"].startswith("0:00:0")


SET_BACK = """
import os, sys, time
with open(sys.argv[1] + ".new", "w") as dial:
    dial.write("-1h")
os.replace(sys.argv[1] + ".new", sys.argv[1])
end = time.monotonic() + 0.3
while time.monotonic() < end:  # libfaketime breaks sleep() when the clock moves under it
    pass
"""


def test_the_clock_goes_back_during_a_run(project, cli, tmp_path):
    """The supervisor's wall clock jumps back an hour halfway; its durations do not."""
    need("libfaketime")
    (library,) = Path("/usr/lib").rglob("libfaketime.so.1")
    dial = tmp_path / "dial"
    dial.write_text("+0")
    project.write("a.py", SET_BACK)
    moved = environ(LD_PRELOAD=str(library), FAKETIME_TIMESTAMP_FILE=str(dial), FAKETIME_NO_CACHE="1", FAKETIME_DONT_FAKE_MONOTONIC="1")  # fmt: skip
    said = call("submit", "-a", "-c", "local", "a.py", str(dial), env=moved)
    assert cli("logs", "-f", said.run_id).code == 0
    record = cli("history", "last").json()
    assert record["duration"].startswith("0:00:0") and record["start_time_utc"] <= record["end_time_utc"]


def test_two_hundred_submits_at_once(project, cli):
    project.write("a.py", "import sys; print(sys.argv[1]); open('outputs/mine', 'w').write(sys.argv[1])")
    clients = [spawn("submit", "-c", "local", "a.py", str(number)) for number in range(200)]
    ids = set()
    for number, client in enumerate(clients):
        out, err = client.communicate(timeout=280)
        assert client.returncode == 0, err
        lines = out.decode().splitlines()
        assert lines[3] == str(number)
        ids.add(lines[0])
    assert len(ids) == 200
    records = cli("history", "list", "-n", "1000").json()
    assert sorted(record["run_number"] for record in records) == list(range(1, 201))
    assert {record["status"] for record in records} == {"Completed"}
    for record in records:
        (number,) = record["arguments"]
        said = cli("history", "info", "-r", record["run_id"], "-a", "outputs/mine")
        assert said.out == number


def test_submits_beside_cleaning_and_deleting(project, cli):
    """Collecting blobs never takes one that a submit relies on."""
    for number in range(12):
        project.write("a.py", f"print({number})")
        said = call("submit", "-c", "local", "a.py")
        cleaner = spawn("experiment", "clean")
        project.write("a.py", f"print({number} + 1000)")
        other = call("submit", "-c", "local", "a.py")
        assert cleaner.wait(60) == 0
        cleaner.communicate()
        assert said.code == other.code == 0, other.err
        assert cli("history", "delete", "-r", said.run_id).code == 0
    assert {record["status"] for record in cli("history", "list").json()} == {"Completed"}


def test_a_read_only_project(tmp_path, mounted, monkeypatch, cli):
    source = ProjectFolder(tmp_path / "proj")
    source.write("a.py", "open('outputs/x', 'w').write('ok'); open('beside', 'w').write('ok')")
    place = mounted(tmp_path / "ro", "--bind", str(source.path))
    subprocess.run(["mount", "-o", "remount,ro,bind", str(place)], check=True)
    monkeypatch.chdir(place)
    before = sorted(path.name for path in place.rglob("*"))
    said = cli("submit", "-c", "local", "a.py")
    assert said.code == 0, said.err
    assert sorted(path.name for path in place.rglob("*")) == before


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.write_bytes(b"this is not a database" * 1000),
        lambda path: path.write_bytes(path.read_bytes()[:5000]),
        lambda path: path.write_bytes(b""),
        lambda path: path.unlink(),
        lambda path: path.write_bytes(path.read_bytes()[:100] + os.urandom(8000) + path.read_bytes()[8100:]),
    ],
)
def test_a_damaged_index_is_built_again(project, cli, jig_home, damage):
    project.write("a.py", "import jig; jig.log('loss', 0.5)")
    for _ in range(3):
        assert cli("submit", "-c", "local", "a.py").code == 0
    before = cli("history", "list").json()
    subprocess.run([sys.executable, "-c", "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('PRAGMA wal_checkpoint(TRUNCATE)')", str(jig_home / "index.db")], check=True)  # fmt: skip
    damage(jig_home / "index.db")
    said = cli("history", "list")
    assert said.code == 0 and json.loads(said.out) == before
    assert said.err == "" or "built again from the run folders" in said.err


def test_a_deleted_index_loses_nothing(project, cli, jig_home):
    project.write("a.py", "import jig; jig.log('loss', 0.5)")
    assert cli("submit", "-c", "local", "a.py").code == 0
    before = cli("history", "list").json()
    for path in jig_home.glob("index.db*"):
        path.unlink()
    assert cli("history", "list").json() == before
    assert cli("history", "rebuild").out == "the index holds 1 runs\n"
    assert cli("history", "list").json() == before
