"""What was logged, folded: from any beginning, over any cut, in any number of looks the same as in one."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jig.store import logged, skipping
from jig.store.logged import look, rank_of, read_on, remark, together
from tests.store.records import log

NAMES = st.sampled_from(["loss", "loss1", "loss2", "a b", ": 5, x", ": 6, x\\", 'q"', "é", "values", "run"])
NUMBERS = st.one_of(st.integers(-5, 5), st.sampled_from([0.5, 1e-7, -1e300, math.nan, math.inf, -math.inf]))
VALUES = st.one_of(
    NUMBERS, st.booleans(), st.sampled_from(["x", '": 5, "', ""]), st.just([1, 2]), st.just({"image": "a"})
)
RUNS = st.sampled_from([{}, {}, {}, {"run": "1"}, {"run": "12"}, {"run": ""}, {"run": 3}, {"run": "x"}])
STEPS = st.sampled_from([{}, {"step": 3}, {"step": 0.5}, {"step": "3"}])
TIMES = st.sampled_from([{"time": 1.5}, {"time": 1794828887.874967}, {"time": None}, {"time": math.inf}, {}])
SAID = st.one_of(
    st.dictionaries(NAMES, NUMBERS, max_size=3).map(lambda values: {"values": values}),
    st.dictionaries(NAMES, VALUES, max_size=3).map(lambda values: {"values": values}),
    st.dictionaries(NAMES, VALUES, max_size=2).map(lambda params: {"params": params}),
    st.dictionaries(NAMES, st.sampled_from(["x", "y", None]), max_size=2).map(lambda tags: {"tags": tags}),
    st.sampled_from([{"name": "child", "status": "RUNNING", "parent": ""}, {"status": "FINISHED"}, {"status": 5}]),
    st.sampled_from([{"note": "hm"}, {"note": 3}, {"archived": True}, {"archived": "yes"}, {"new": 1}]),
)
LINES = st.tuples(TIMES, STEPS, RUNS, SAID).map(
    lambda parts: json.dumps({k: v for part in parts for k, v in part.items()})
)
TORN = st.one_of(
    st.tuples(LINES, st.integers(0, 40)).map(lambda cut: cut[0][: cut[1]]),
    st.sampled_from(
        ["", "[1]", "null", '{"time": 1, "values": {"loss": 1-2}}', '{"time": 1, "values": {"loss": tiny}}']
    ),
)
FILES = st.lists(st.one_of(LINES, LINES, LINES, TORN), max_size=30).map(
    lambda lines: "".join(f"{line}\n" for line in lines).encode()
)


def plain(data: bytes):
    """The fold of whole lines, each read."""
    said = {}
    for line in data[: data.rfind(b"\n") + 1].split(b"\n"):
        entry = logged.parsed(line)
        if entry is not None:
            logged.take(entry, said)
    return said


def same(one, other):
    """Equal with NaN, and with names in the same order."""
    return json.dumps(one) == json.dumps(other)


@settings(max_examples=300, deadline=None)
@given(FILES, st.lists(st.integers(0, 3000), max_size=6), st.integers(0, 60))
def test_any_looks_at_a_growing_file_are_one_look_at_the_end(tmp_path_factory, data, cuts, missing):
    data = data[: len(data) - missing]  # a kill in the middle of a line
    path = tmp_path_factory.mktemp("growing") / "metrics.jsonl"
    offset, said = 0, {}
    for cut in [*sorted(min(cut, len(data)) for cut in cuts), len(data)]:
        path.write_bytes(data[:cut])
        offset, said = read_on(str(path), offset, json.loads(json.dumps(said)))
    assert offset == data.rfind(b"\n") + 1
    assert same(said, plain(data))


@settings(max_examples=300, deadline=None)
@given(FILES, st.integers(1, 4), st.data())
def test_what_is_skipped_changes_nothing(data, times, draw):
    lines = data.split(b"\n")[:-1] * times
    data = b"".join(line + b"\n" for line in draw.draw(st.permutations(lines)))
    skipper, said = skipping.Skipping(), {}
    for piece in (data[: (half := data.rfind(b"\n", 0, len(data) // 2) + 1)], data[half:]):
        for entry in skipper.entries(piece):
            logged.take(entry, said)
    assert same(said, plain(data))


def test_a_long_series_is_not_read_line_by_line(tmp_path, monkeypatch):
    entries = [{"step": step, "values": {"loss": 1.0 / (step + 1), "lr": 1e-4}} for step in range(5000)]
    entries[100] = {"values": {"once": 7}}
    entries[3000] = {"params": {"late": True}}
    entries[3001:3001] = [{"step": 1, "values": {"val": number}} for number in range(5)]
    log(tmp_path, *entries)
    read = []
    parsed = logged.parsed
    monkeypatch.setattr(skipping, "parsed", lambda line: read.append(line) or parsed(line))
    _, said = read_on(str(tmp_path / "metrics.jsonl"), 0, {})
    assert said == {"": {"values": {"loss": 1 / 5000, "lr": 1e-4, "once": 7, "val": 4}, "params": {"late": True}}}
    assert list(said[""]["values"]) == ["loss", "lr", "once", "val"]
    assert len(read) < 30


def test_a_line_longer_than_a_piece(tmp_path, monkeypatch):
    monkeypatch.setattr(logged, "PIECE_BYTES", 64)
    log(tmp_path, {"values": {"list": list(range(500))}}, {"values": {"a": 1}})
    offset, said = read_on(str(tmp_path / "metrics.jsonl"), 0, {})
    assert offset == (tmp_path / "metrics.jsonl").stat().st_size
    assert said == {"": {"values": {"list": list(range(500)), "a": 1}}}


def test_a_file_that_is_another_one_is_read_from_its_beginning(tmp_path):
    log(tmp_path, {"values": {"a": 1}}, {"values": {"b": 1}})
    offset, said = read_on(str(tmp_path / "metrics.jsonl"), 0, {})
    (tmp_path / "metrics.jsonl").unlink()
    log(tmp_path, {"values": {"c": 1}})
    assert read_on(str(tmp_path / "metrics.jsonl"), offset, said)[1] == {"": {"values": {"c": 1}}}


@pytest.mark.parametrize(
    ("name", "rank"),
    [
        ("metrics.jsonl", 0), ("metrics.3.jsonl", 3), ("metrics.12.jsonl", 12), ("metrics.x.jsonl", None),
        ("metrics..jsonl", None), ("metrics.-1.jsonl", None), ("metrics.²5.jsonl", None), ("system.jsonl", None),
    ],
)  # fmt: skip
def test_ranks(name, rank):
    assert rank_of(name) == rank


def test_rank_0_speaks_first_and_a_remark_last(tmp_path):
    log(tmp_path, {"values": {"loss": 2, "other": 5}}, {"tags": {"stage": "b", "old": "y"}}, file="metrics.2.jsonl")
    log(tmp_path, {"values": {"loss": 10}}, file="metrics.10.jsonl")
    log(tmp_path, {"values": {"loss": 0}}, {"params": {"lr": 1}}, {"tags": {"stage": "a"}})
    remark(str(tmp_path), {"tags": {"old": None, "mine": "1"}})
    remark(str(tmp_path), {"note": "good", "archived": True})
    names = sorted(path.name for path in tmp_path.iterdir())
    assert together(look(str(tmp_path), names, {})) == {
        "": {
            "values": {"loss": 0, "other": 5},
            "tags": {"stage": "a", "old": None, "mine": "1"},
            "params": {"lr": 1},
            "note": "good",
            "archived": True,
        }
    }


def test_a_remark_after_a_cut_one(tmp_path):
    (tmp_path / "remarks.jsonl").write_bytes(b'{"time": 1, "no')
    remark(str(tmp_path), {"note": "whole"})
    assert read_on(str(tmp_path / "remarks.jsonl"), 0, {})[1] == {"": {"note": "whole"}}
    assert (tmp_path / "remarks.jsonl").read_bytes().count(b"\n") == 2
