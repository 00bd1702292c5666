"""The copy here: streams taken apart wherever they are torn, bytes put where they belong, names that stay inside."""

import hashlib
import io
import json
import os
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jig.errors import MachineError
from jig.handover import Sender
from jig.machines import mirror
from jig.machines.mirror import Frames, write_at
from jig.machines.ssh import SshPipe
from jig.runner import outputs, tail, wire
from jig.runner.blobs import BlobStore
from jig.runner.folder import RunFolder
from jig.spawn import spawn_piped

pytestmark = pytest.mark.timeout(60)


def stream_of(frames, chatter=b"") -> bytes:
    """The bytes of a runner that sends these (name, offset, body), with chatter before."""
    out = io.BytesIO()
    out.write(chatter)
    for name, offset, body in frames:
        wire.write_frame(out, {"file": name, "offset": offset, "size": len(body)}, body)
    wire.write_answer(out, {"end": "ended"})
    return out.getvalue()


bodies = st.binary(min_size=1, max_size=50) | st.just(b"\njig:{}\n") | st.just(b"jig:") | st.just(b"\n")


@given(
    st.lists(bodies, max_size=8),
    st.lists(st.integers(1, 20)),
    st.sampled_from([b"", b"hello\n", b"jig\n\n", b"\xff\n"]),
)
def test_a_stream_is_taken_apart_wherever_it_is_torn(sent, cuts, chatter):
    offset, frames = 0, []
    for body in sent:
        frames.append(("output.log", offset, body))
        offset += len(body)
    data = stream_of(frames, chatter)
    taken, log, ended = Frames(wire.MARK), b"", False
    cuts = [*cuts, len(data)]
    for size in cuts:
        piece, data = data[:size], data[size:]
        for head, body in taken.feed(piece):
            if "end" in head:
                ended = True
            else:
                assert head["offset"] == len(log), "each piece says where it belongs"
                log += body
    assert ended and log == b"".join(sent)


@given(st.binary(min_size=1, max_size=200), st.lists(st.tuples(st.integers(0, 200), st.integers(0, 200)), max_size=20))
def test_readers_of_one_run_cannot_harm_each_other(tmp_path_factory, data, pieces):
    """Pieces in any order, overlapping and repeated: what stands there is always a beginning of the whole."""
    path = str(tmp_path_factory.mktemp("m") / "log")
    size = 0
    for start, length in pieces:
        start = min(start, len(data))
        piece = data[start : start + length]
        if start > size:
            with pytest.raises(MachineError, match="gap"):
                write_at(path, start, piece)
            continue
        write_at(path, start, piece)
        size = max(size, start + len(piece))
        with open(path, "rb") as file:
            assert file.read() == data[:size]


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("output.log", True), ("output.0.log", True), ("output.12.log", True), ("metrics.jsonl", True),
        ("metrics.3.jsonl", True), ("events.jsonl", True), ("plan.json", True), ("prepare.log", True), ("system.jsonl", True),
        ("output.x.log", False), ("output..log", False), ("output./../x.log", False), ("../events.jsonl", False),
        ("/etc/passwd", False), ("outputs.json", False), ("stop-wanted", False), ("lock", False), ("", False),
        ("output.\u0663.log", False), ("output.²..log", False),
    ],
)  # fmt: skip
def test_which_files_a_machine_may_send(name, kept):
    assert tail.is_kept(name) is kept


@given(st.text())
def test_no_kept_name_is_a_path(name):
    if tail.is_kept(name):
        assert "/" not in name and "\\" not in name and "\0" not in name and name.isascii()


HOSTILE = ["..", "../x", "/etc/x", "a/../../x", "a//b", "./x", "", "a/", "x\0y", "a/./b", "/"]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names(tmp_path, name):
    with pytest.raises(MachineError, match="leave the run's folder"):
        mirror._place(RunFolder(str(tmp_path)), name)


@given(st.text(alphabet=st.sampled_from("a./\\\0 \n-~é"), max_size=12))
def test_a_name_stays_inside_or_is_refused(tmp_path_factory, name):
    folder = RunFolder("/h/mirror/box/run_1")
    try:
        place = mirror._place(folder, name)
    except MachineError:
        return
    assert os.path.normpath(place) == place and place.startswith(folder.outputs + "/")


LIE = """
import sys
sys.stdin.readline()
sys.stdout.buffer.write(bytes.fromhex(sys.argv[1]))
sys.stdout.flush()
sys.stdin.read()
"""


class LyingMachine:
    """A machine whose runner answers with what the test wrote down, to anything."""

    name, home = "box", None

    def __init__(self, answers: bytes) -> None:
        self._answers = answers

    def open(self, verb: str, *words: str):
        argv = (sys.executable, "-c", LIE, self._answers.hex())
        pipe = SshPipe(*spawn_piped(argv, os.environ), os.open(os.devnull, os.O_RDWR), self)
        pipe.mark = wire.MARK
        return pipe

    def forget_runner(self) -> None:
        raise AssertionError("the runner is there")

    def fingerprint(self) -> str:
        return ""


def answers(*values) -> bytes:
    return b"".join(wire.MARK + json.dumps(value).encode() + b"\n" + body for value, body in values)


def listing(*names: str, data: bytes = b"evil"):
    return ({"outputs": [[name, len(data), hashlib.sha256(data).hexdigest()] for name in names]}, b"")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_machine_that_lies_about_names_writes_nothing(tmp_path, name):
    inside = tmp_path / "mirror/box/run_1"
    inside.mkdir(parents=True)
    lies = answers(listing(name), ({"file": name, "offset": 0, "size": 4}, b"evil"), ({"end": "sent"}, b""))
    with pytest.raises(MachineError):
        mirror.bring_outputs(LyingMachine(lies), RunFolder(str(inside)))
    assert [place for place in tmp_path.rglob("*") if place.is_file() and place.read_bytes() == b"evil"] == []


@pytest.mark.parametrize(
    "lies",
    [
        answers(listing("x"), ({"file": "y", "offset": 0, "size": 4}, b"evil"), ({"end": "sent"}, b"")),
        answers(listing("x"), ({"file": "x", "offset": -1, "size": 4}, b"evil"), ({"end": "sent"}, b"")),
        answers(listing("x"), ({"file": "x", "offset": 9, "size": 4}, b"evil"), ({"end": "sent"}, b"")),
        answers(listing("x"), ({"file": "x", "offset": 0, "size": 4}, b"live"), ({"end": "sent"}, b"")),
        answers(listing("x"), ({"file": "x", "size": 4}, b"evil"), ({"end": "sent"}, b"")),
        answers(listing("x"), ({"file": ["x"], "offset": 0, "size": 4}, b"evil"), ({"end": "sent"}, b"")),
        answers(listing("x", "x/y"), ({"end": "sent"}, b"")),
        answers(({"outputs": "x"}, b"")),
        answers(({"outputs": [["x"]]}, b"")),
        answers(({"nothing": 1}, b"")),
        wire.MARK + b"{]\n",
        wire.MARK + b"[" * 20_000 + b"\n",
    ],
    ids=[
        *("unasked", "before", "gap", "hash", "no-offset", "no-name", "file-and-folder", "no-list", "short"),
        *("no-answer", "no-json", "too-deep"),
    ],
)
def test_a_machine_that_lies_otherwise_is_an_error_not_a_crash(tmp_path, lies):
    with pytest.raises(MachineError):
        mirror.bring_outputs(LyingMachine(lies), RunFolder(str(tmp_path)))
    assert not (tmp_path / "outputs.json").exists()


@pytest.mark.parametrize("name", ["../x", "a1" * 32, ["x"], None])
def test_a_machine_gets_no_file_that_is_not_the_runs(tmp_path, name):
    store = BlobStore(str(tmp_path))
    theirs = store.put(b"of another project")
    pipe = LyingMachine(answers(({"missing": [theirs if name is None else name]}, b""))).open("supervise")
    sender = Sender(pipe, store, [], "/", True, solve=lambda *_: [], fetch=lambda *_: [], tell=print)
    request = {"environment": {"files": []}, "plan": {"snapshot": {"id": "b2" * 32}, "attachments": {}}}
    try:
        with pytest.raises(MachineError, match="a file that is not part of the run"):
            sender.deliver(request)
    finally:
        pipe.close()


@pytest.mark.parametrize("name", ["../x", "/tmp/x", "lock", "stop-wanted", "work/x"])
def test_a_machine_that_sends_other_files(tmp_path, name):
    inside = tmp_path / "run_1"
    inside.mkdir()
    lies = answers(({"file": name, "offset": 0, "size": 4}, b"evil"), ({"end": "ended"}, b""))
    with pytest.raises(MachineError, match="a file that no run has"):
        mirror.bring(LyingMachine(lies), RunFolder(str(inside)))
    assert [place for place in tmp_path.rglob("*") if place.is_file()] == []


def test_the_list_of_outputs_is_of_plain_files(tmp_path):
    folder = RunFolder(str(tmp_path))
    (tmp_path / "work/outputs/sub").mkdir(parents=True)
    (tmp_path / "work/outputs/sub/a").write_bytes(b"abc")
    (tmp_path / "work/outputs/link").symlink_to("/etc/passwd")
    (tmp_path / "work/outputs/folder").symlink_to("/etc")
    os.mkfifo(tmp_path / "work/outputs/pipe")
    assert outputs.listed(folder) == [["sub/a", 3, hashlib.sha256(b"abc").hexdigest()]]
    (tmp_path / "work").rename(tmp_path / "elsewhere")
    (tmp_path / "work").symlink_to("/")
    assert outputs.listed(folder) == []
