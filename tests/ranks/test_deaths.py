"""Who is to blame, and with which words."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

import jig
from jig.runner import ranks as heard

SCRIPT = Path(jig.__file__).parent / "script"
sys.path.append(str(SCRIPT))
from jig_ranks import deaths, last_words  # noqa: E402
from jig_ranks.record import Record  # noqa: E402

sys.path.remove(str(SCRIPT))


def death(rank, at, code=1, error=""):
    one = deaths.Death(rank, 1, 0, 0)
    one.at, one.code, one.error = at, code, error
    return one


GONE = "RuntimeError: [gloo/transport/tcp/pair.cc:553] Connection closed by peer [127.0.0.1]:62152."


@pytest.mark.parametrize(
    ("ended", "blamed"),
    [
        ([death(0, 2.0), death(1, 1.0)], 1),
        ([death(0, 1.0, 0), death(1, 2.0, 3)], 1),
        ([death(0, 1.0, 1, GONE), death(1, 1.1, -9)], 1),  # who lost a peer may be heard of before that peer
        ([death(0, 1.0, -15), death(1, 1.1, 1, GONE)], 1),  # torchrun ends the others by SIGTERM
        ([death(0, 1.0, -15)], 0),
        ([death(0, 1.0, -15, "ValueError: x"), death(1, 2.0)], 0),  # its teardown was cut short
        ([death(0, None, None), death(1, None, 0)], None),
    ],
)
def test_who_is_to_blame(ended, blamed):
    found = deaths.culprit(ended)
    assert (found and found.rank) == blamed


def test_a_status_is_seen_and_left(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", "import os; os.kill(os.getpid(), 9)"])
    one = deaths.Death(0, process.pid, 0, 0)
    one.wait()
    assert one.code == -9 and process.wait() == -9
    assert abs(one.at - time.monotonic()) < 60


LOG = b"""before
Traceback (most recent call last):
  File "a.py", line 1, in <module>
KeyError: 'first'
ran on
[rank1]: Traceback (most recent call last):
[rank1]:   File "a.py", line 2, in <module>
[rank1]: ValueError: boom
\r10%\r20%
"""


def test_the_last_traceback(tmp_path):
    log = tmp_path / "output.1.log"
    log.write_bytes(LOG)
    said = last_words.last_words(str(log), 0, "[rank1]: ")
    last = ["Traceback (most recent call last):", '  File "a.py", line 2, in <module>', "ValueError: boom", "20%"]
    assert said == last
    assert last_words.last_words(str(log), len(LOG) - 8, "") == ["20%"]
    assert last_words.last_words(str(tmp_path / "none"), 0) == []
    log.write_bytes(b"Traceback (most recent call last):\n" + b"  deep\n" * 100 + b"RecursionError\n")
    deep = last_words.last_words(str(log), 0)
    assert (
        len(deep) == 24 and deep[:2] == ["Traceback (most recent call last):", "  ..."] and deep[-1] == "RecursionError"
    )
    log.write_bytes(b"x" * 5000 + b"\n")
    assert last_words.last_words(str(log), 0) == ["x" * 400]


def lines_of(tmp_path, *lines):
    told, plan = [], {"ranks": {"processes": 2}}
    one = heard.Heard(plan, str(tmp_path), lambda event, **fields: told.append((event, fields)))
    with open(tmp_path / "ranks.jsonl", "a") as file:
        file.write("".join(line + "\n" for line in lines))
    one.look()
    return one, told


def test_what_the_supervisor_hears(tmp_path):
    one, told = lines_of(
        tmp_path,
        '{"processes": 2, "backend": "gloo", "torch": "2.0"}',
        '{"note": "2 processes share 1 GPU: they exchange by gloo"}',
        '{"again": 1, "of": 3, "failed": {"rank": 1, "signal": 9, "said": ["x"]}}',
        '{"rank": 0, "exchange": {"kind": "onebit", "steps": 1, "bytes_sent": 2, "of_s": 1.25}}',
        '{"rank": 0, "exchange": {"kind": "onebit", "steps": 4, "bytes_sent": 10, "bytes_uncompressed": 300}}',
        '{"rank": 0, "restart": 2, "exchange": {"kind": "onebit", "steps": 5, "bytes_sent": 7, "of_s": 0.5}}',
        '{"failed": {"rank": 0, "exit": 3, "said": ["a", "b"], "error": "ValueError: boom\\nmore"}}',
    )
    assert told == [
        ("ranks", {"processes": 2, "backend": "gloo", "torch": "2.0"}),
        ("note", {"text": "2 processes share 1 GPU: they exchange by gloo"}),
        (
            "rank-restart",
            {"restart": 1, "of": 3, "rank": 1, "said": ["x"], "detail": "rank 1 failed first, killed by SIGKILL: x"},
        ),
    ]
    detail = "rank 0 failed first, with exit code 3: ValueError: boom"
    assert one.failure() == {"rank": 0, "said": ["a", "b"], "detail": detail}
    about = {"kind": "onebit", "steps": 9, "bytes_sent": 17, "bytes_uncompressed": 300, "of_s": 0.5}
    assert one.exchange() == {"exchange": {"0": about}}


def test_nonsense_by_the_script_is_no_failure(tmp_path):
    lines = (
        "null",
        "[",
        '{"failed": {"rank": -1}}',
        '{"failed": []}',
        '{"again": true}',
        '{"rank": "0", "exchange": {}}',
    )
    one, told = lines_of(tmp_path, *lines, '{"processes": "many"}', "[" * 100000)
    assert (told, one.failure(), one.exchange()) == ([], {}, {})
    (tmp_path / "ranks.jsonl").unlink()
    (tmp_path / "ranks.jsonl").symlink_to("/dev/zero")
    one.look()


def test_a_record_that_several_write(tmp_path):
    ours, theirs = Record(str(tmp_path)), Record(str(tmp_path))
    ours.write(a=1)
    theirs.write(b=2)
    with open(tmp_path / "ranks.jsonl", "a") as file:
        file.write('{"torn')
    assert [set(line) - {"time", "mono"} for line in ours.new()] == [{"a"}, {"b"}]
    assert ours.new() == []
