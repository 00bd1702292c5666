"""The index: what it keeps of runs, look by look, and what several commands do to it at the same moment."""

import json
import marshal
import multiprocessing
import os
import shutil
import signal
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jig.errors import StoreError
from jig.runner.folder import Home
from jig.store import logged
from jig.store.index import Index
from jig.store.keys import OWN
from jig.store.queries import Store
from jig.store.where import parse
from jig.system import lock
from tests.store.records import ENDED, log, write_run

ROUNDS, AT_ONCE = 12, 4


def _open(path, barrier, told):
    barrier.wait()
    Index(Home(path), told.put)


def test_a_new_home_is_opened_by_several_at_once(tmp_path):
    spawned = multiprocessing.get_context("fork")
    for number in range(ROUNDS):
        home = tmp_path / str(number)
        home.mkdir()
        barrier, told = spawned.Barrier(AT_ONCE), spawned.SimpleQueue()
        several = [spawned.Process(target=_open, args=(str(home), barrier, told)) for _ in range(AT_ONCE)]
        for process in several:
            process.start()
        for process in several:
            process.join()
        assert [process.exitcode for process in several] == [0] * AT_ONCE
        assert told.empty(), told.get()


def records(home, **asked):
    """Every record of the home, by a new look at the index."""
    told = []
    found = [json.loads(text) for text in Index(Home(str(home)), told.append).records(None, None, **asked)]
    assert told == []
    return found


def test_a_run_is_followed_from_where_the_last_look_ended(tmp_path):
    folder = write_run(tmp_path, "p_1", events=ENDED[:2], params={"lr": 0.1, "from": "plan"})
    (folder / "lock").touch()
    log(folder, {"values": {"loss": 1.0}}, {"params": {"lr": 0.2}})
    with open(folder / "lock", "r+b") as held:
        lock(held.fileno())  # its supervisor lives
        (first,) = records(tmp_path)
        assert (first["status"], first["metrics"]) == ("Running", {"loss": 1.0})
        assert first["params"] == {"lr": 0.2, "from": "plan"}
        data = (folder / "metrics.jsonl").read_bytes()
        (folder / "metrics.jsonl").write_bytes(b" " * (len(data) - 1) + b"\n")  # what was read is not read again
        log(folder, {"values": {"accuracy": 0.5}}, {"tags": {"stage": "late"}})
        log(folder, {"values": {"of_rank_1": 1, "loss": 5}}, file="metrics.1.jsonl")
        (second,) = records(tmp_path)
    assert second["metrics"] == {"of_rank_1": 1, "loss": 1.0, "accuracy": 0.5}
    assert (second["tags"], second["params"]) == ({"stage": "late"}, {"lr": 0.2, "from": "plan"})
    assert (second["lr"], second["from"], second["accuracy"]) == (0.2, "plan", 0.5)


def test_nested_runs(tmp_path):
    folder = write_run(tmp_path, "p_1")
    log(
        folder,
        {"time": 102.0, "run": "1", "name": "fold one", "status": "RUNNING", "parent": ""},
        {"time": 103.0, "run": "1", "values": {"loss": 0.5}},
        {"time": 103.5, "run": "2", "name": "inner", "status": "RUNNING", "parent": "1"},
        {"time": 104.0, "run": "1", "params": {"lr": 1}},
        {"time": 104.5, "run": "1", "tags": {"k": "v"}},
        {"time": 105.5, "run": "1", "status": "FAILED"},
        {"time": 106.0, "values": {"loss": 9}},
    )
    (folder / "work/outputs/nested/1").mkdir(parents=True)
    (folder / "work/outputs/nested/1/a.txt").touch()
    assert [one["run_id"] for one in records(tmp_path)] == ["p_1"]
    whole, one, two = records(tmp_path, nested=True)
    assert [whole["run_id"], one["run_id"], two["run_id"]] == ["p_1", "p_1-1", "p_1-2"]
    assert (whole["metrics"], whole["params"], whole["tags"]) == ({"loss": 9}, {}, {})
    assert (one["metrics"], one["params"], one["tags"]) == ({"loss": 0.5}, {"lr": 1}, {"k": "v"})
    assert (one["run_name"], one["status"], one["duration"]) == ("fold one", "Failed", "0:00:03.500000")
    assert (one["parent_run_id"], two["parent_run_id"]) == ("p_1", "p_1-1")
    assert (one["attachments"], two["attachments"]) == ("outputs/nested/1/a.txt", "")
    # One that nobody ended has ended with the run.
    assert (two["status"], two["end_time_utc"]) == ("Completed", whole["end_time_utc"])
    asked = parse("parent_run_id = 'p_1'")
    assert [found["run_id"] for found in records(tmp_path, where=asked)] == ["p_1-1"]
    index = Index(Home(str(tmp_path)))
    assert index.matching("p_1") == [("p_1", str(folder))]
    assert index.matching("p_1-1") == [("p_1-1", str(folder))]
    assert (index.latest(None), index.rebuild()) == (("p_1", str(folder)), 1)
    index.forget("p_1")
    assert [index.db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in TABLES] == [0, 0, 0]


def test_an_index_that_grew_is_the_one_that_is_built_at_once(tmp_path):
    for number in range(1, 6):
        folder = write_run(tmp_path, f"p_{number}", number, ENDED if number % 2 else ENDED[:1])
        log(folder, {"values": {"loss": number}}, {"tags": {"n": str(number)}})
        records(tmp_path)
    write_run(tmp_path, "other_9", 6)
    grown = records(tmp_path, nested=True)
    tables = content(tmp_path)
    (tmp_path / "index.db").unlink()
    assert records(tmp_path, nested=True) == grown
    assert content(tmp_path) == tables


TABLES = ("runs", "texts", "cells")


def content(home):
    """What the tables say, whatever the numbers of runs and names in them."""
    index = Index(Home(str(home)))
    db = index.db
    named = """
        SELECT runs.run_id, names.space, names.name, cells.number, cells.text
        FROM cells JOIN runs ON runs.key = cells.run JOIN names ON names.id = cells.name ORDER BY 1, 2, 3
    """
    rows = db.execute("SELECT runs.*, texts.* FROM runs JOIN texts ON texts.key = runs.key ORDER BY run_id").fetchall()
    second = len(OWN) + 4  # where the key of `texts` stands
    return db.execute(named).fetchall(), [(*row[1:second], *row[second + 1 :]) for row in rows]


def test_remarks(tmp_path, monkeypatch):
    monkeypatch.setenv("JIG_HOME", str(tmp_path))
    folder = write_run(tmp_path, "p_1")
    log(folder, {"tags": {"stage": "a", "old": "y"}}, {"run": "1", "name": "inner"})
    store = Store()
    found = store.find("p_1", None)
    store.remark(found, tags={"old": None, "mine": "ü"})
    store.remark(found, note="a good one")
    assert store.record("p_1")["tags"] == {"stage": "a", "mine": "ü"}
    assert store.record("p_1")["note"] == "a good one"
    assert store.list(None, None, where="tags.old is null and tags.mine = 'ü' and note ~ 'GOOD'") == [
        store.record("p_1")
    ]
    times = [store.record("p_1-1")[name] for name in ("created_utc", "start_time_utc", "duration")]
    store.remark(store.find("p_1-1", None), note="of the nested one")
    assert [store.record("p_1-1")[name] for name in ("created_utc", "start_time_utc", "duration")] == times
    assert [store.record(one)["note"] for one in ("p_1", "p_1-1")] == ["a good one", "of the nested one"]
    store.remark(found, archived=True)
    assert [store.record(one)["archived"] for one in ("p_1", "p_1-1")] == [True, True]
    assert store.list(None, None) == []
    assert [one["run_id"] for one in store.list(None, None, archived=True)] == ["p_1"]
    assert [one["run_id"] for one in store.list(None, None, where="hidden = true")] == ["p_1"]
    before = store.record("p_1")
    assert Store().index.rebuild() == 1
    assert Store().record("p_1") == before
    assert len((folder / "remarks.jsonl").read_text().splitlines()) == 4
    store.remark(found, archived=False)
    assert [one["run_id"] for one in Store().list(None, None)] == ["p_1"]


def _remark(home, number, barrier):
    os.environ["JIG_HOME"] = home
    store = Store()
    found = store.find("p_1", None)
    barrier.wait()
    for count in range(5):
        store.remark(found, tags={f"{number}-{count}": "x"})


def test_no_remark_is_lost_when_several_are_made_at_once(tmp_path, monkeypatch):
    write_run(tmp_path, "p_1")
    monkeypatch.setenv("JIG_HOME", str(tmp_path))
    Store().record("p_1")
    spawned = multiprocessing.get_context("fork")
    barrier = spawned.Barrier(AT_ONCE)
    several = [spawned.Process(target=_remark, args=(str(tmp_path), number, barrier)) for number in range(AT_ONCE)]
    for process in several:
        process.start()
    for process in several:
        process.join()
    assert [process.exitcode for process in several] == [0] * AT_ONCE
    expected = {f"{number}-{count}" for number in range(AT_ONCE) for count in range(5)}
    assert set(Store().record("p_1")["tags"]) == expected


def test_a_remark_whose_writer_was_killed_is_seen(tmp_path, monkeypatch):
    monkeypatch.setenv("JIG_HOME", str(tmp_path))
    write_run(tmp_path, "p_1")
    store = Store()
    with monkeypatch.context() as patch:
        patch.setattr(Index, "_look_again", lambda self, run_id: os.kill(os.getpid(), signal.SIGKILL))
        child = os.fork()
        if child == 0:
            Store().remark(store.find("p_1", None), note="last words")
        os.waitpid(child, 0)
    assert Store().record("p_1")["note"] == "last words"


def test_a_remark_on_what_is_not_there(tmp_path, monkeypatch):
    monkeypatch.setenv("JIG_HOME", str(tmp_path))
    folder = write_run(tmp_path, "p_1")
    store = Store()
    found = store.find("p_1", None)
    shutil.rmtree(folder)
    with pytest.raises(StoreError, match="p_1"):
        store.remark(found, note="too late")


@pytest.mark.parametrize(
    ("state", "row"),
    [
        ("RUNNING", {"events": ENDED[:2]}),
        ("SCHEDULED", {"events": ENDED[:2]}),
    ],
)
def test_a_nested_run_of_one_that_goes_on(tmp_path, state, row):
    folder = write_run(tmp_path, "p_1", **row)
    (folder / "lock").touch()
    log(folder, {"time": 102.0, "run": "1", "status": state})
    with open(folder / "lock", "r+b") as held:
        lock(held.fileno())
        _, inner = records(tmp_path, nested=True)
    assert (inner["status"], inner["end_time_utc"], inner["duration"]) == ("Running", None, None)


STEPS = st.one_of(
    st.tuples(st.just("log"), st.sampled_from(["metrics.jsonl", "metrics.1.jsonl"]), st.sampled_from([
        {"values": {"a": 1}}, {"values": {"a": 2, "b": "x"}}, {"params": {"a": 3}}, {"params": {"p": [1]}},
        {"tags": {"t": "1"}}, {"tags": {"t": None}}, {"run": "1", "values": {"a": 4}}, {"run": "1", "status": "FINISHED"},
        {"run": "2", "parent": "1", "params": {"q": 5}},
    ])),
    st.tuples(st.just("cut"), st.sampled_from(["metrics.jsonl", "metrics.1.jsonl"]), st.integers(1, 30)),
    st.tuples(st.just("remark"), st.sampled_from([{"tags": {"t": "2"}}, {"tags": {"t": None}}, {"note": "n"}, {"archived": True}])),
    st.tuples(st.just("look")),
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(st.lists(STEPS, max_size=12))
def test_any_lines_kills_and_looks_give_the_record_of_one_look(tmp_path_factory, steps):
    home = tmp_path_factory.mktemp("home")
    folder = write_run(home, "p_1", events=())
    for step in steps:
        if step[0] == "log":
            line = json.dumps({"time": 7.0, **step[2]}) + "\n"
            path = folder / step[1]
            torn = path.exists() and not path.read_bytes().endswith(b"\n")
            with open(path, "a") as out:
                out.write("\n" + line if torn else line)
        elif step[0] == "cut":
            path = folder / step[1]
            if path.exists():  # a write that a kill, or a full disk, cut short
                with open(path, "ab") as out:
                    out.write(b'{"time": 8.0, "values": {"a": 99}}\n'[: step[2]])
        elif step[0] == "remark":
            logged.remark(str(folder), step[1])
        else:
            records(home, nested=True, archived=True)
    (folder / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in ENDED))
    grown = records(home, nested=True, archived=True)
    (home / "index.db").unlink()
    assert records(home, nested=True, archived=True) == grown


def test_very_many_runs_are_looked_at_by_several_processes(tmp_path, monkeypatch):
    for number in range(1, 41):
        log(
            write_run(tmp_path, f"p_{number}", number),
            {"values": {"n": number}},
            {"run": "1", "params": {"é": "\udc80"}},
        )
    (tmp_path / "runs/p_7/plan.json").write_text("[]")
    told = []
    alone = sorted(Index(Home(str(tmp_path)), told.append).records(None, None, nested=True))
    assert len(alone) == 2 * 39 and len(told) == 1 and "p_7 cannot be read as a run" in told[0]
    monkeypatch.setattr("jig.store.looking.ALONE", 3)
    monkeypatch.setattr("jig.store.crew.TURN", 4)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    assert _built_again(tmp_path) == (alone, told)
    whole, turns = marshal.dumps, []

    def killed_at_the_second_turn(found):
        turns.append(found)
        return whole(found) if len(turns) == 1 else os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(marshal, "dumps", killed_at_the_second_turn)
    assert _built_again(tmp_path) == (alone, told)


def _built_again(home):
    (home / "index.db").unlink()
    told = []
    index = Index(Home(str(home)), told.append)
    return sorted(index.records(None, None, nested=True)), told


def test_a_home_that_nobody_can_write_to_and_that_has_no_index(tmp_path, mounted):
    home = mounted(tmp_path / "small", "-t", "tmpfs", "tmpfs")
    write_run(home, "p_1")
    subprocess.run(["mount", "-o", "remount,ro", str(home)], check=True)
    told = []
    assert len(list(Index(Home(str(home)), told.append).records(None, None))) == 1
    assert len(told) == 1 and "cannot be written" in told[0]
