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
