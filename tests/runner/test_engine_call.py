import os
import signal
import time

import pytest

from jig.runner import engine_call


@pytest.fixture(params=["spawn", "fork"], autouse=True)
def way(request, monkeypatch):
    """Python 3.6 and 3.7 have no posix_spawn."""
    if request.param == "fork":
        monkeypatch.delattr(os, "posix_spawnp")


def shell(script: str, stdin: bytes = b"", timeout_s: float = 20.0, **environ: str):
    return engine_call.run(["sh", "-c", script], environ, stdin, timeout_s)


def test_code_and_both_streams():
    assert shell("echo one; echo two >&2; exit 3") == (3, b"one\n", b"two\n")


def test_signal():
    assert shell("kill -9 $$") == (-9, b"", b"")


def test_more_than_a_pipe_holds_both_ways():
    data = os.urandom(1 << 20)
    assert engine_call.run(["tee", "/dev/stderr"], {}, data, 20.0) == (0, data, data)


def test_stdin_that_nobody_reads():
    assert shell("exit 5", b"x" * (1 << 20)) == (5, b"", b"")


def test_no_stdin_is_an_end():
    assert shell("cat; echo end") == (0, b"end\n", b"")


def test_variables_stand_beside_ours(monkeypatch):
    monkeypatch.setenv("OURS", "1")
    assert shell('echo "$OURS $MORE"', MORE="zwölf") == (0, "1 zwölf\n".encode(), b"")


def test_words_are_not_touched():
    said = engine_call.run(["printf", "%s|", "a b", "'\"$x\n", "é\udcff"], {}, b"", 20.0)
    assert said == (0, b"a b|'\"$x\n|\xc3\xa9\xff|", b"")


def test_signals_are_as_the_system_has_them():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        said = shell("grep -E '^Sig(Ign|Blk)' /proc/self/status")
    finally:
        signal.signal(signal.SIGHUP, before)
    assert said is not None
    # Two beyond those with a name are the C library's own business.
    assert {int(line.split()[1], 16) & 0x7FFFFFFF for line in said[1].splitlines()} == {0}


def test_too_slow_is_killed_with_all_it_started(tmp_path):
    began = time.monotonic()
    assert shell(f"sleep 60 & echo $! > {tmp_path}/pid; wait", timeout_s=0.5) is None
    assert time.monotonic() - began < 5
    pid = int((tmp_path / "pid").read_text())
    deadline = time.monotonic() + 5
    while os.path.exists(f"/proc/{pid}/fd") and _state(pid) != "Z" and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not os.path.exists(f"/proc/{pid}/fd") or _state(pid) == "Z"


def _state(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(") ")[2][0]
    except (FileNotFoundError, ProcessLookupError):
        return "Z"


def test_who_holds_the_pipe_does_not_hold_us(tmp_path):
    began = time.monotonic()
    assert shell(f"sleep 5 & echo $! > {tmp_path}/pid; echo done") == (0, b"done\n", b"")
    assert time.monotonic() - began < 4
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)


def test_a_program_that_has_said_all_may_take_its_time():
    assert shell("exec >&- 2>&-; sleep 0.3; exit 7") == (7, b"", b"")


def test_absent():
    with pytest.raises(FileNotFoundError):
        engine_call.run(["no-such-program-here"], {}, b"", 20.0)


def test_not_ours_to_execute(tmp_path):
    (tmp_path / "docker").write_text("#!/bin/sh\n")
    with pytest.raises(PermissionError):
        engine_call.run([str(tmp_path / "docker")], {}, b"", 20.0)


def test_descriptors_are_given_back():
    before = len(os.listdir("/proc/self/fd"))
    shell("echo one")
    shell("sleep 9", timeout_s=0.1)
    with pytest.raises(FileNotFoundError):
        engine_call.run(["no-such-program-here"], {}, b"", 20.0)
    assert len(os.listdir("/proc/self/fd")) == before
