"""The files and the wire that client and runner agree on."""

import io
import json
import os
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jig.runner import blobs, events, manifest, wire
from jig.runner.blobs import BlobStore, UsingBlobs, missing
from jig.runner.folder import Home, is_run_id
from jig.system import lock


@pytest.mark.parametrize(
    ("name", "valid"),
    [
        ("proj_1521077190506", True),
        ("a-b_1", True),
        ("", False),
        ("..", False),
        ("a/b", False),
        ("-rf", False),
        ("_x", False),
        ("a b", False),
        ("a\n", False),
        ("é_1", False),
        ("x" * 201, False),
    ],
)
def test_run_ids_are_never_paths_or_options(name, valid):
    assert is_run_id(name) is valid
    if not valid:
        with pytest.raises(ValueError):
            Home("/h").run(name)


def test_events_in_order_with_a_clock_of_their_own(tmp_path):
    path = str(tmp_path / "events.jsonl")
    writer = events.EventWriter(path)
    writer.write("queued", host="h")
    writer.write("completed", exit_code=0)
    writer.close()
    found = events.read(path)
    assert [(event["seq"], event["event"]) for event in found] == [(1, "queued"), (2, "completed")]
    assert 0 <= found[0]["mono"] <= found[1]["mono"] < 60


def test_a_torn_line_is_skipped_and_ended(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_bytes(b'{"seq": 1, "time": 1.5, "mono": 0, "event": "queued"}\n{"seq": 2, "ev')
    assert [event["event"] for event in events.read(str(path))] == ["queued"]
    writer = events.EventWriter(str(path), seq=2)
    writer.write("lost")
    assert [event["event"] for event in events.read(str(path))] == ["queued", "lost"]


@given(st.lists(st.binary(max_size=30)))
def test_no_bytes_make_the_event_reader_fail(lines):
    data = b"\n".join(lines)
    for event in events.parse(data):
        assert isinstance(event["event"], str)


def test_events_wait_on_a_full_disk_and_the_last_one_takes_the_reserve(tmp_path, monkeypatch):
    reserve = tmp_path / "reserve"
    reserve.write_bytes(b"x")
    path = str(tmp_path / "events.jsonl")
    writer = events.EventWriter(path, str(reserve))
    real = os.write

    def full(descriptor, data):
        if reserve.exists():
            raise OSError(28, "No space left on device")
        return real(descriptor, data)

    monkeypatch.setattr(events.os, "write", full)
    writer.write("running")
    assert events.read(path) == []
    writer.write("failed", reason="disk-full")
    assert [event["event"] for event in events.read(path)] == ["running", "failed"]


def test_blobs_go_in_and_come_out(tmp_path):
    store = BlobStore(str(tmp_path / "blobs"))
    name = store.put(b"hello")
    assert store.has(name) and store.has(name, 5) and not store.has(name, 6)
    assert store.read(name) == b"hello"
    store.copy_out(name, str(tmp_path / "out"), 0o755)
    assert (tmp_path / "out").read_bytes() == b"hello"
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o755
    assert (tmp_path / "out").stat().st_nlink == 1
    assert list(store.names()) == [name]
    assert missing(store, [(name, 5), (name, 6), ("0" * 64, 1)]) == sorted([name, "0" * 64])


def test_a_torn_blob_counts_as_missing(tmp_path):
    """What a power cut may leave: the right name, the right size even, but not the bytes."""
    store = BlobStore(str(tmp_path / "blobs"))
    for damage in (b"", b"hell", b"\0\0\0\0\0"):
        name = store.put(b"hello")
        with open(store.place(name), "wb") as file:
            file.write(damage)
        with pytest.raises(FileNotFoundError, match="damaged"):
            store.copy_out(name, str(tmp_path / f"out{len(damage)}"), 0o644) if damage else store.read(name)
        assert not store.has(name)


def test_a_blob_that_is_not_what_it_says_leaves_nothing(tmp_path):
    store = BlobStore(str(tmp_path / "blobs"))
    with pytest.raises(ValueError, match="the content is"):
        store.add(iter([b"evil"]), "0" * 64)
    assert list(store.names()) == [] and os.listdir(store.path) == []
    for name in ("../../etc/passwd", "0" * 63, "0" * 63 + "G"):
        with pytest.raises(ValueError, match="not a blob name"):
            store.place(name)


def test_collecting_waits_for_those_who_rely_on_blobs(tmp_path):
    store = BlobStore(str(tmp_path / "blobs"))
    with UsingBlobs(store), UsingBlobs(store):
        descriptor = os.open(store.lock_path(), os.O_RDWR)
        assert lock(descriptor, wait=False) is False
    assert lock(descriptor, wait=False) is True
    os.close(descriptor)


@pytest.mark.parametrize(
    "entry",
    [
        ["f", "../x", 420, 1, "a"],
        ["f", "/x", 420, 1, "a"],
        ["f", "a//b", 420, 1, "a"],
        ["f", "", 420, 1, "a"],
        ["d", "a/./b"],
        ["l", "a\0b", "x"],
        ["x", "a"],
        ["f", "a"],
        "f",
        [],
    ],
)
def test_a_manifest_that_leaves_its_folder_is_refused(entry):
    with pytest.raises(ValueError):
        manifest.decode(json.dumps(entry).encode())


def test_answers_are_found_among_other_output():
    stream = io.BytesIO(b'Welcome!\nLast login: today\njig:{"ok": 1}\n')
    assert wire.read_answer(stream) == {"ok": 1}
    with pytest.raises(EOFError):
        wire.read_answer(stream)


def test_a_request_that_is_cut_off_is_no_request():
    with pytest.raises(EOFError):
        wire.read_request(io.BytesIO(b'{"plan": 1'))
    with pytest.raises(EOFError):
        wire.read_blob(io.BytesIO(b"abc 1 plain"))
    with pytest.raises(EOFError):
        list(wire.read_bytes(io.BytesIO(b"ab"), 3))
    with pytest.raises(EOFError):
        list(wire.read_packed(io.BytesIO(b"12\nab"), 3))


@given(st.lists(st.tuples(st.lists(st.binary(min_size=1, max_size=100), max_size=3), st.booleans())))
def test_blobs_cross_the_wire(blobs):
    stream = io.BytesIO()
    for number, (pieces, packed) in enumerate(blobs):
        wire.write_blob(stream, str(number), sum(map(len, pieces)), iter(pieces), packed)
    wire.write_blobs_end(stream)
    stream.seek(0)
    came = []
    while True:
        name, pieces = wire.read_blob(stream)
        if not name:
            break
        came.append(b"".join(pieces))
    assert came == [b"".join(pieces) for pieces, _ in blobs]


def test_many_blobs_are_looked_up_by_folder(tmp_path):
    store = blobs.BlobStore(str(tmp_path / "blobs"))
    names = [store.put(b"%d" % number) for number in range(blobs.MANY + 20)]
    gone = sorted(names[5:9])
    for name in gone:
        os.unlink(store.place(name))
    wanted = [(name, -1) for name in names]
    assert blobs.missing(store, wanted) == gone
    for number in range(40):  # among far more the names are looked up one by one
        (tmp_path / "blobs" / names[0][:2] / f"{number:062x}").touch()
    assert blobs.missing(store, wanted) == gone
