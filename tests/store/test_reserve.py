"""Ids that are taken, given back, and found abandoned."""

import os

import pytest

from jig.runner.folder import Home
from jig.store import reserve


def test_an_interrupted_reservation_leaves_no_folder(tmp_path, monkeypatch):
    def interrupted(value):
        raise KeyboardInterrupt

    monkeypatch.setattr(reserve, "dumps", interrupted)
    with pytest.raises(KeyboardInterrupt):
        reserve.reserve(Home(str(tmp_path)), str(tmp_path / "runs"), "p")
    assert os.listdir(tmp_path / "runs") == []


def test_a_submit_that_is_about_to_lock_is_not_taken_for_a_dead_one(tmp_path):
    (tmp_path / "on-its-way").touch()
    assert not reserve.abandoned(str(tmp_path))
    (tmp_path / "plan.json").touch()  # written when the lock is held: nobody holds it any more
    assert reserve.abandoned(str(tmp_path))


def test_a_number_is_given_back_and_an_id_never(tmp_path):
    home, runs = Home(str(tmp_path)), str(tmp_path / "runs")
    first, refused = (reserve.reserve(home, runs, "p") for _ in range(2))
    refused.release()
    refused.release()  # twice is as once
    again = reserve.reserve(home, runs, "p")
    assert [first.number, refused.number, again.number] == [1, 2, 2]
    assert first.run_id < refused.run_id < again.run_id
    later = reserve.reserve(home, runs, "p")
    again.release()  # another one has come since: then it stays used up
    assert reserve.reserve(home, runs, "p").number == later.number + 1
    assert sorted(os.listdir(runs))[:2] == [first.run_id, later.run_id]


def test_a_refused_submit_leaves_no_gap(project, cli):
    project.write("a.py", "print(1)")
    numbers = []
    for _ in range(2):
        assert cli("submit", "-c", "local", "a.py").code == 0
        numbers.append(cli("history", "last").json()["run_number"])
        project.runconfig("gpu", Target="local", Gpus=1)
        assert cli("submit", "-c", "gpu", "a.py").code == 125
    assert numbers == [1, 2]
