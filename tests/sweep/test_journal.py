"""The journal of a sweep: one writer, lines that a kill may tear, and the time that counts."""

import os
from pathlib import Path

import pytest

from jig.errors import StoreError
from jig.runner.folder import Home
from jig.sweep import journal
from jig.sweep.journal import Journal


@pytest.fixture
def sweep(jig_home):
    home = Home(str(jig_home))
    folder = home.run("proj_1")
    os.makedirs(folder.path)
    return folder, home


def test_a_torn_line_spoils_no_other(sweep):
    folder, home = sweep
    place = Path(folder.path, "sweep.jsonl")
    place.write_text('{"time": 1, "began": "a"}\n{"time": 2, "point": 1, "ru')
    written = Journal(folder, home)
    written.write(point=2, run="b", state="Queued")
    assert [line.get("point") for line in journal.read(str(place))] == [None, 2]
    assert written.past == [{"time": 1, "began": "a"}]


def test_only_the_time_at_work_counts(sweep):
    folder, home = sweep
    lines = ['{"time": 100, "began": "a"}', '{"time": 130, "point": 1, "run": "x", "ended": true}',
             '{"time": 900, "began": "b"}', '{"time": 905, "point": 2, "run": "y"}']  # fmt: skip
    Path(folder.path, "sweep.jsonl").write_text("\n".join(lines) + "\n")
    found = Journal(folder, home)
    assert found.elapsed_s() == 35
    assert list(found.ends()) == ["x"]


def test_one_writer(sweep, monkeypatch):
    folder, home = sweep
    assert not journal.is_held(folder, home)
    first = Journal(folder, home)
    assert journal.is_held(folder, home)
    monkeypatch.setattr(journal, "BEFORE_S", 0.1)
    with pytest.raises(StoreError, match="another run goes on with the sweep proj_1 already"):
        Journal(folder, home)
    assert first.elapsed_s() == 0
