"""The logs of several processes read as one."""

import json
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jig.interleaved import Interleaved, rank_of, ranks
from jig.runner.folder import RunFolder


@pytest.fixture
def run(tmp_path):
    return RunFolder(str(tmp_path))


def add(run, name, data):
    with open(os.path.join(run.path, name), "ab") as file:
        file.write(data)


def everything(merged):
    told = b""
    while piece := merged.read():
        told += piece
    return told


def noted(run, **sizes):
    add(
        run,
        "ranks.jsonl",
        json.dumps({"sizes": {f"output.{rank[1:]}.log": size for rank, size in sizes.items()}}).encode() + b"\n",
    )


def test_whose_log_a_file_is():
    names = [
        "output.0.log",
        "output.12.log",
        "output.log",
        "output.x.log",
        "output.01.log",
        "metrics.1.jsonl",
        "output..log",
    ]
    assert [rank_of(name) for name in names] == [0, 12, None, None, None, None, None]


def test_whole_lines_with_their_rank(run):
    add(run, "output.log", b"torchrun's own\n")
    add(run, "output.0.log", b"one\ntw")
    add(run, "output.1.log", b"eins\r\n")
    merged = Interleaved(run)
    assert merged.read() == b"[0] one\n[1] eins\ntorchrun's own\n"
    assert (merged.read(), merged.bar()) == (b"", "[0] tw")
    add(run, "output.0.log", b"o\n[rank0]: Traceback\n[rank1]: of another\nend")
    assert merged.read() == b"[0] two\n[0] Traceback\n[0] [rank1]: of another\n"
    assert merged.rest() == b"[0] end\n"
    assert ranks(run) == [0, 1]
    merged.close()


def test_a_bar_is_told_once_and_does_not_wreck_the_others(run):
    merged = Interleaved(run)
    add(run, "output.0.log", b"\r10%\r20%")
    add(run, "output.1.log", b"\r 5%\r")
    assert (merged.read(), merged.bar()) == (b"", "[0] 20%")
    add(run, "output.0.log", b"\r30%")
    add(run, "output.1.log", b"\r15%\ndone\n")
    assert merged.read() == b"[1] 15%\n[1] done\n"
    assert merged.bar() == "[0] 30%"
    add(run, "output.0.log", b"\r100%\n")
    assert merged.read() == b"[0] 100%\n"


def test_what_comes_behind_a_bar_of_any_length(run):
    add(run, "output.0.log", b"".join(b"\r%d of many" % step for step in range(100_000)) + b"\rdone\nend")
    merged = Interleaved(run)
    assert everything(merged) + merged.rest() == b"[0] done\n[0] end\n"


def test_in_the_order_that_the_launcher_saw(run):
    add(run, "output.0.log", b"a\nb\nc\nd\n")
    add(run, "output.1.log", b"1\n2\n3\n")
    noted(run, r0=4)
    noted(run, r1=5)  # in the middle of a line
    noted(run, r0=6, r1=6)
    assert everything(Interleaved(run)) == b"[0] a\n[0] b\n[1] 1\n[1] 2\n[0] c\n[1] 3\n[0] d\n"


@pytest.mark.parametrize(
    "note",
    [b'{"sizes": 1}\n', b'{"sizes": {"output.0.log": "x"}}\n', b'{"sizes"\n', b'{"sizes": {"output.0.log": 99}}\n'],
)
def test_notes_that_make_no_sense(run, note):
    add(run, "output.0.log", b"a\n")
    add(run, "ranks.jsonl", note)
    assert everything(Interleaved(run)) == b"[0] a\n"


def test_a_long_line_and_a_name_that_leads_elsewhere(run):
    add(run, "output.0.log", b"x" * 700_000 + b"\nend\n")
    os.mkfifo(os.path.join(run.path, "output.1.log"))
    told = everything(Interleaved(run))
    assert told.count(b"x") == 700_000 and told.endswith(b"\n[0] end\n")


@pytest.mark.parametrize("place", ["a link", "a folder", "a pipe"])
def test_what_is_noted_and_cannot_be_read_holds_nothing_up(run, place):
    add(run, "output.0.log", b"a\nb\n")
    path = os.path.join(run.path, "output.1.log")
    if place == "a link":
        os.symlink(os.path.join(run.path, "output.0.log"), path)
    elif place == "a folder":
        os.mkdir(path)
    else:
        os.mkfifo(path)
    noted(run, r0=2, r1=999_999)
    noted(run, r0=4, r1=999_999)
    assert everything(Interleaved(run)) == b"[0] a\n[0] b\n"


@settings(deadline=None, max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 2), st.sampled_from([b"a", b"bb\n", b"\n", b"c\nd", b"\xff\n"])), max_size=20))
def test_nothing_is_lost_however_it_comes(tmp_path_factory, pieces):
    run = RunFolder(str(tmp_path_factory.mktemp("run")))
    merged, told, whole = Interleaved(run), b"", {0: b"", 1: b"", 2: b""}
    merged._listed_at = float("-inf")
    for rank, data in pieces:
        add(run, f"output.{rank}.log", data)
        whole[rank] += data
        merged._listed_at = float("-inf")
        told += merged.read()
    told += everything(merged) + merged.rest()
    merged.close()
    for rank, data in whole.items():
        mark = b"[%d] " % rank
        mine = [line.removeprefix(mark) for line in told.split(b"\n") if line.startswith(mark)]
        assert b"\n".join(mine) == data.removesuffix(b"\n") or (data == b"\n" and mine == [b""])
