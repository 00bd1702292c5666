"""Whole series: the same points however the file was written, cut, read in pieces, and kept."""

import json
import math
import os
import subprocess
import sys
import threading
import time
from array import array

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from jig.runner.folder import RunFolder
from jig.store import runs, series, series_file, series_fork, series_lines
from jig.store.series_lines import Lines, kind_of

NAN = math.nan


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("JIG_HOME", str(tmp_path / "home"))
    (tmp_path / "run").mkdir()
    return RunFolder(str(tmp_path / "run"))


@pytest.fixture
def kept(monkeypatch):
    """Everything is kept, however short."""
    monkeypatch.setattr(series, "KEPT_BYTES", 1)


def line(**parts):
    return json.dumps({"time": 1.5, **parts}) + "\n"


def slowly(path, run=""):
    """The series as the reader of single lines tells them: name → [(step, time, value)]."""
    found = {}
    for entry, _ in runs.read_metrics(str(path)):
        if entry.get("run", "") != run:
            continue
        for name, value in entry["values"].items():
            if isinstance(value, (int, float)):
                points = found.setdefault(name, [])
                step = entry.get("step")
                points.append((len(points) if step is None else step, entry["time"], value))
    return {name: [tuple(map(float, point)) for point in points] for name, points in found.items()}


def told(read):
    return {name: list(zip(one.steps, one.times, one.values, strict=True)) for name, one in read.items()}


def same(one, other):
    """Equal, with NaN equal to itself."""
    return repr(one) == repr(other)


names = st.sampled_from(["loss", "acc", "top1", "top5", 'a, "b": 1', "é", "\ud800", "values", "1e3", ""])
values = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.integers(-(10**25), 10**25),
    st.integers(0, 9),
    st.booleans(),
    st.just("text"),
    st.lists(st.integers(0, 3), max_size=2),
    st.just({"image": "outputs/a.png"}),
)
plain_values = st.one_of(st.floats(allow_nan=True), st.integers(-5, 5))
calls = st.fixed_dictionaries(
    {
        "values": st.one_of(
            st.dictionaries(names, values, max_size=3), st.dictionaries(names, plain_values, min_size=1, max_size=2)
        )
    },
    optional={
        "step": st.one_of(st.integers(-5, 10**6), st.floats(0, 1e6)),
        "run": st.sampled_from(["1", "2", 1, None]),
    },
)
strange = st.sampled_from(
    [
        b"\n",
        b'{"time": 1.5, "val\n',
        b'{"time": 1.5, "params": {"lr": 0.1}}\n',
        b'{"time": 1.5, "values": {"loss": 01}}\n',
        b'{"time": 1.5, "values": {"loss": 1.}}\n',
        b'{"time": 1.5, "values": {"loss": +1}}\n',
        b'{"time": 1.5, "values": {"loss": 1, "loss": 2}}\n',
        b'{"time": 1.5, "values": {"loss": 1}}}\n',
        b'x{"time": 1.5, "values": {"loss": 1}}\n',
        b'  {"time": 1.5, "values": {"loss": 7}} \n',
        b'{"values": {"loss": 7}, "time": 1.5}\n',
        b'{"time": 1.5, "values": {"loss": \xff}}\n',
        b"[1, 2]\n",
        b'"values"\n',
        b'{"time": 1.5, "values": [1]}\n',
        b"[" * 5000 + b"\n",
    ]
)


@st.composite
def files(draw):
    """The bytes of a metrics file: lines of a few kinds many times over, others between them, and cut ones."""
    pieces = []
    for call in draw(st.lists(st.one_of(calls, strange), max_size=8)):
        if isinstance(call, bytes):
            pieces.append(call)
            continue
        for number in range(draw(st.sampled_from([1, 1, 3]))):
            again = {
                name: (value * number if type(value) is float else value) for name, value in call["values"].items()
            }
            text = line(**{**call, "values": again}).encode()
            if draw(st.integers(0, 20)) == 0:  # a kill, or a full disk: the next one starts afresh
                text = text[: draw(st.integers(0, len(text) - 1))] + b"\n"
            pieces.append(text)
    return b"".join(pieces) + draw(st.sampled_from([b"", b'{"time": 1.5, "values": {"loss": 3']))


@pytest.fixture(params=[1, 8])
def few(request, monkeypatch):
    """How rare a shape must be to be read around."""
    monkeypatch.setattr(series_lines, "FEW", request.param)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(files(), st.integers(1, 300))
@example(
    line(values={"a": 1}).encode() + line(step=1, values={"a": 2}).encode() + b"cut\n" + line(values={"b": 3}).encode(),
    300,
)
def test_chunks_of_any_size_tell_what_single_lines_tell(tmp_path, few, data, size):
    path = tmp_path / "metrics.jsonl"
    path.write_bytes(data)
    whole = data[: data.rfind(b"\n") + 1]
    for run in ("", "1"):
        lines = Lines(times=True)
        at = 0
        while at < len(whole):
            end = whole.find(b"\n", min(at + size, len(whole) - 1)) + 1
            lines.take(whole[at:end])
            at = end
        found = {}
        for (its_run, name), column in lines.curves.columns.items():
            column.settle(0)
            if its_run == run:
                found[name] = list(zip(column.steps, column.times, column.values, strict=True))
        assert same(dict(sorted(found.items())), dict(sorted(slowly(path, run).items())))


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    files(), st.lists(st.tuples(st.integers(0, 600), st.sampled_from(["whole", "curve", "lose", "damage"])), max_size=5)
)
def test_any_sequence_of_writes_looks_and_losses_gives_the_same_series_once(tmp_path_factory, data, looks):
    root = tmp_path_factory.mktemp("any")
    os.mkdir(root / "run")
    folder, path = RunFolder(str(root / "run")), root / "run" / "metrics.jsonl"
    before = series.KEPT_BYTES, os.environ.get("JIG_HOME")
    series.KEPT_BYTES, os.environ["JIG_HOME"] = 1, str(root / "home")
    try:
        log = series.Log(folder)  # one that follows, beside those that look anew
        for upto, deed in [*looks, (len(data), "whole")]:
            already = path.read_bytes() if path.exists() else b""
            path.write_bytes(data[: max(upto, len(already))])
            if deed in ("lose", "damage"):
                spoil(root / "home", deed)
            found = series.read(folder, times=deed != "curve")
            assert same(values_of(found), values_of_lines(slowly(path)))
            assert same(dict(sorted(told(log.series()).items())), dict(sorted(slowly(path).items())))
            shown, _ = series.Log(folder, times=False).views()
            assert sorted(shown) == sorted(slowly(path))
        assert same(dict(sorted(told(series.read(folder)).items())), dict(sorted(slowly(path).items())))
    finally:
        series.KEPT_BYTES = before[0]
        os.environ.pop("JIG_HOME") if before[1] is None else os.environ.update(JIG_HOME=before[1])


def spoil(home, deed):
    for place in sorted(home.rglob("*.*")):
        if deed == "lose":
            place.unlink()
        else:
            data = bytearray(place.read_bytes())
            data[len(data) // 2] ^= 1
            place.write_bytes(data)


def values_of(read):
    return {name: (list(one.steps), list(one.values)) for name, one in sorted(read.items())}


def values_of_lines(found):
    return {name: ([p[0] for p in points], [p[2] for p in points]) for name, points in sorted(found.items())}


def test_a_step_that_was_not_given_is_the_number_of_points_before(folder):
    with open(folder.metrics, "w") as file:
        file.write(line(values={"loss": 5.0}) + line(step=7, values={"loss": 6.0}) + line(values={"loss": 4.0, "b": 1}))
    found = series.read(folder)
    assert list(found["loss"].steps) == [0.0, 7.0, 2.0]
    assert list(found["b"].steps) == [0.0]


def test_a_name_in_lines_of_several_shapes_keeps_its_order(folder):
    with open(folder.metrics, "w") as file:
        for number in range(1000):
            more = {"val": 1} if number % 100 == 0 else {"loss": "text"} if number % 37 == 0 else {}
            file.write(line(step=number, values={"loss": number, **more}))
    found = series.read(folder)
    assert list(found["loss"].values) == [n for n in range(1000) if n % 37 or n % 100 == 0]
    assert list(found["val"].steps) == list(range(0, 1000, 100))


def test_rank_0_speaks_for_the_names_that_it_logged(folder):
    for rank, name in ((0, "metrics.jsonl"), (2, "metrics.2.jsonl"), (10, "metrics.10.jsonl")):
        with open(os.path.join(folder.path, name), "w") as file:
            file.write(line(values={f"only{rank}": rank, **({"loss": rank} if rank != 0 else {}), "both": rank}))
    found = series.read(folder)
    assert {name: list(one.values) for name, one in found.items()} == {
        "only0": [0.0], "both": [0.0], "only2": [2.0], "loss": [2.0], "only10": [10.0],
    }  # fmt: skip


def test_nested_runs_are_series_of_their_own(folder):
    with open(folder.metrics, "w") as file:
        file.write(line(values={"loss": 1}) + line(run="1", values={"loss": 2}) + line(run="1", values={"loss": 3}))
    assert list(series.read(folder)["loss"].values) == [1.0]
    assert list(series.read(folder, run="1")["loss"].values) == [2.0, 3.0]
    assert series.read(folder, run="2") == {}


def test_only_the_names_that_were_asked_for(folder):
    with open(folder.metrics, "w") as file:
        file.write(line(values={"loss": 1, "acc": 2}))
    assert list(series.read(folder, names=["acc"])) == ["acc"]


def test_a_run_that_logged_nothing(folder):
    assert series.read(folder) == {}
    assert series.Log(folder).views() == ({}, {})


def test_what_is_no_number_is_known_by_its_kind(folder):
    with open(folder.metrics, "w") as file:
        file.write(line(values={"t": "x", "l": [1], "i": {"image": "a"}, "b": {"table": {}}, "n": None, "m": {}}))
    kinds = {"t": "text", "l": "list", "i": "image", "b": "table", "n": "nothing", "m": "map"}
    assert series.Log(folder).views() == ({}, kinds)
    assert kind_of(None) == "nothing"


def many(count, start=0, steps=True):
    return "".join(
        f'{{"time": {1.7e9 + n:.6f}, {f""""step": {n}, """ if steps else ""}"values": {{"loss": {n / 7!r}}}}}\n'
        for n in range(start, start + count)
    )


def children() -> str:
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        return file.read()


@pytest.mark.parametrize("steps", [True, False])
def test_several_processes_tell_what_one_tells(folder, monkeypatch, steps):
    with open(folder.metrics, "w") as file:
        file.write(many(5000, steps=steps) + '{"time": 1.0, "val\n' + many(5000, 5000, steps=steps) + '{"time"')
    monkeypatch.setattr(series_file, "CHUNK", 4096)
    monkeypatch.setattr(series_file, "SHARED_BYTES", 1 << 40)
    alone = series.read(folder)
    monkeypatch.setattr(series_file, "SHARED_BYTES", 1 << 16)
    monkeypatch.setattr(series_fork, "MOST_PROCESSES", 3)
    monkeypatch.setattr(os, "cpu_count", lambda: 3)
    before, ours = set(os.listdir("/proc/self/fd")), children()
    assert series.read(folder) == alone
    assert alone["loss"].steps == array("d", range(10000))
    assert set(os.listdir("/proc/self/fd")) == before
    assert children() == ours


def test_a_process_that_is_killed_while_it_reads_is_done_without(folder, monkeypatch):
    with open(folder.metrics, "w") as file:
        file.write(many(20000))
    monkeypatch.setattr(series_file, "SHARED_BYTES", 1 << 16)
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    parent, encode = os.getpid(), series_fork.encode
    monkeypatch.setattr(series_fork, "encode", lambda curves: os._exit(9) if os.getpid() != parent else encode(curves))
    assert series.read(folder)["loss"].steps == array("d", range(20000))


def test_a_program_with_threads_does_not_fork(folder, monkeypatch):
    with open(folder.metrics, "w") as file:
        file.write(many(5000))
    monkeypatch.setattr(series_file, "SHARED_BYTES", 1 << 16)
    monkeypatch.setattr(os, "fork", lambda: pytest.fail("forked"))
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        assert len(series.read(folder)["loss"].values) == 5000
    finally:
        done.set()
        thread.join()


def test_a_line_longer_than_a_chunk(folder, monkeypatch):
    monkeypatch.setattr(series_file, "CHUNK", 16)
    with open(folder.metrics, "w") as file:
        file.write(many(3) + line(values={"text": "x" * 1000}) + many(3, 3))
    assert series.read(folder)["loss"].steps == array("d", range(6))


def test_a_second_look_reads_only_what_is_new(folder, kept, monkeypatch):
    with open(folder.metrics, "w") as file:
        file.write(many(100))
    assert series.read(folder)["loss"].steps == array("d", range(100))
    asked = []
    monkeypatch.setattr(series, "read_new", lambda file, start, times: asked.append(start) or [])
    assert series.read(folder)["loss"].steps == array("d", range(100))
    assert asked == [os.path.getsize(folder.metrics)]


READER = """
import sys
from jig.runner.folder import RunFolder
from jig.store import series
series.KEPT_BYTES = 1
for _ in range(60):
    found = series.read(RunFolder(sys.argv[1])).get("loss")
    steps = list(found.steps) if found else []
    assert steps == [float(number) for number in range(len(steps))], steps
    series.Log(RunFolder(sys.argv[1]), times=False).views()
"""


def test_readers_at_the_same_time_do_not_mislead_each_other(folder, tmp_path):
    source = os.path.dirname(os.path.dirname(series.__file__))
    environ = {**os.environ, "PYTHONPATH": os.path.dirname(source), "JIG_HOME": str(tmp_path / "home")}
    argv = (sys.executable, "-c", READER, folder.path)
    with open(folder.metrics, "a") as file:
        readers = [subprocess.Popen(argv, env=environ, stderr=subprocess.PIPE, text=True) for _ in range(3)]
        number = 0
        while any(reader.poll() is None for reader in readers):
            file.write(many(7, number))
            file.flush()
            number += 7
            time.sleep(0.002)
    assert [(reader.communicate()[1], reader.returncode) for reader in readers] == [("", 0)] * 3
    assert series.read(folder)["loss"].steps == array("d", range(number))


def test_parts_that_are_kept_are_joined_before_they_are_many(folder, kept, tmp_path):
    with open(folder.metrics, "a") as file:
        for number in range(40):
            file.write(many(1, number))
            file.flush()
            assert len(series.read(folder)["loss"].values) == number + 1
    parts = sorted(path.name for path in (tmp_path / "home").rglob("*.whole"))
    assert len(parts) <= series.MOST_SPANS
    assert any(name.startswith("0-") for name in parts)


def test_a_file_that_was_replaced_by_another_is_read_anew(folder, kept):
    with open(folder.metrics, "w") as file:
        file.write(many(100))
    series.read(folder)
    with open(folder.metrics, "w") as file:
        file.write(many(100, 1000))
    assert series.read(folder)["loss"].steps == array("d", range(1000, 1100))


def test_a_file_that_became_shorter_while_it_was_followed_is_read_anew(folder):
    log = series.Log(folder)
    with open(folder.metrics, "w") as file:
        file.write(many(100))
    assert len(log.series()["loss"].values) == 100
    with open(folder.metrics, "w") as file:
        file.write(many(5, 50))
    assert log.series()["loss"].steps == array("d", range(50, 55))


def test_what_was_kept_with_times_serves_those_who_need_none_and_not_the_other_way_round(folder, kept, tmp_path):
    with open(folder.metrics, "w") as file:
        file.write(many(10))
    assert list(series.read(folder, times=False)["loss"].times) == []
    assert [path.suffix for path in (tmp_path / "home").rglob("*.*")] == [".curve"]
    assert list(series.read(folder)["loss"].times) == [1.7e9 + number for number in range(10)]
    assert [path.suffix for path in (tmp_path / "home").rglob("*.*")] == [".whole"]
    assert len(series.read(folder, times=False)["loss"].values) == 10
    assert [path.suffix for path in (tmp_path / "home").rglob("*.*")] == [".whole"]


def test_a_cache_that_cannot_be_written_does_no_harm(folder, kept, tmp_path):
    (tmp_path / "home").write_text("not a folder")
    with open(folder.metrics, "w") as file:
        file.write(many(10))
    assert len(series.read(folder)["loss"].values) == 10
    assert len(series.Log(folder).views()[0]["loss"].values) == 10


def test_the_cache_stays_small(folder, kept, tmp_path, monkeypatch):
    from jig.store import series_cache

    monkeypatch.setattr(series_cache, "MOST_BYTES", 3000)
    for number in range(6):
        run = tmp_path / f"run{number}"
        run.mkdir()
        (run / "metrics.jsonl").write_text(many(50))
        series.read(RunFolder(str(run)))
    sizes = [path.stat().st_size for path in (tmp_path / "home").rglob("*.*")]
    assert 2 <= len(sizes) <= 4
    assert sum(sizes) <= 3000 + max(sizes)


def test_a_view_is_read_without_the_series_until_there_is_more(folder, kept, monkeypatch):
    with open(folder.metrics, "w") as file:
        file.write(many(20000) + line(values={"note": "x"}) + '{"time": 1')
    shown, kinds = series.Log(folder, times=False).views()
    assert len(shown["loss"].steps) <= 5 * series.VIEW_PIXELS
    with monkeypatch.context() as patched:
        patched.setattr(series, "read_new", lambda *_: pytest.fail("read again"))
        again, kinds_again = series.Log(folder, times=False).views()
    assert (again["loss"].steps, again["loss"].values) == (shown["loss"].steps, shown["loss"].values)
    assert kinds_again == kinds == {"note": "text"}
    with open(folder.metrics, "a") as file:
        file.write(", \n" + many(1, 20000))
    assert series.Log(folder, times=False).views()[0]["loss"].steps[-1] == 20000


def test_a_view_by_time(folder):
    with open(folder.metrics, "w") as file:
        file.write(many(3))
    assert list(series.Log(folder).views(by_time=True)[0]["loss"].steps) == [1.7e9, 1.7e9 + 1, 1.7e9 + 2]
