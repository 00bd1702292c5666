"""The logs of several processes put together in files: these are few, bounded, and whole or not there."""

import os
import tempfile

import pytest

from jig.errors import StoreError
from jig.store.queries import Store
from jig.workbench import run_logs
from jig.workbench.run_logs import ALL, RunLogs
from tests.conftest import call


@pytest.fixture
def runs(project):
    """What makes a run of two processes and finds it."""
    project.write("quick.py", "pass\n")

    def make():
        found = Store().find(call("submit", "-c", "local", "quick.py").run_id, None)
        for rank in (0, 1):
            with open(f"{found.folder.path}/output.{rank}.log", "w") as file:
                file.write(f"said by {rank}\n" * 1000)
        return found

    return make


def read(logs, found, whose=ALL):
    with logs.file(found, whose) as path, open(path) as file:
        return file.read()


WHOLE = "[0] said by 0\n" * 1000 + "[1] said by 1\n" * 1000


def test_many_runs_hold_few_files(runs):
    logs = RunLogs()
    found = [runs() for _ in range(run_logs.KEPT + 3)]
    assert [read(logs, one) for one in found[: run_logs.KEPT]] == [WHOLE] * run_logs.KEPT
    held = len(os.listdir("/proc/self/fd"))
    assert [read(logs, one) for one in found] == [WHOLE] * len(found)
    assert len(os.listdir("/proc/self/fd")) == held


def test_one_that_is_read_stays_while_others_take_its_place(runs):
    logs = RunLogs()
    first, *others = [runs() for _ in range(run_logs.KEPT + 1)]
    with logs.file(first, ALL) as path:
        for other in others:
            read(logs, other)
        assert os.path.getsize(path) == len(WHOLE)
    assert not os.path.exists(path)


def test_too_much_ends_with_a_word_and_is_not_what_one_begins_with(runs, monkeypatch):
    monkeypatch.setattr(run_logs, "LARGEST", 5000)
    logs, found = RunLogs(), runs()
    assert run_logs.is_large(found)
    told = read(logs, found)
    assert told == read(logs, found)
    assert told.startswith("[0] said by 0\n") and told.splitlines()[-1].endswith("stands in the log of each rank")
    assert read(logs, found, "1") == "said by 1\n" * 1000


def test_a_full_disk_is_told_and_loses_nothing(runs, monkeypatch):
    logs, found = RunLogs(), runs()
    with monkeypatch.context() as until, open("/dev/full", "wb", buffering=0) as full:
        until.setattr(tempfile, "NamedTemporaryFile", lambda **_: full)
        with pytest.raises(StoreError, match="cannot be put together: No space left"):
            read(logs, found)
    assert read(logs, found) == WHOLE
