"""Following a run over a network that fails: every byte, once, whatever is cut or killed in between."""

import random
import signal
import threading
import time

import pytest

from tests.conftest import spawn, until
from tests.ssh.conftest import mirror

# Lines of uneven length with bytes that are no text, for about `argv[1]` seconds.
COUNT = """
import random, sys, time
out, rest = sys.stdout.buffer, random.Random(1)
end, number = time.monotonic() + float(sys.argv[1]), 0
while time.monotonic() < end:
    out.write(b'%d ' % number + rest.randbytes(rest.randrange(300)).replace(b'\\n', b'') + b'\\n')
    out.flush()
    number += 1
    time.sleep(0.002)
out.write(b'no newline at the end')
"""
LOST, BACK = b"jig: the connection to box is lost", b"jig: connected to box again"


@pytest.fixture
def counting(box, project, client):
    """Starts a run that prints for some seconds; returns its id."""
    client.impatient()
    project.write("count.py", COUNT)
    return lambda seconds: box.start("count.py", str(seconds))


def follow(project, run_id: str):
    """Unbuffered, so that what is read first is not missing from what is read last."""
    return spawn("logs", "-f", run_id, cwd=project.path, bufsize=0)


def told(out: bytes) -> "list[bytes]":
    """What jig itself said between the lines of the script."""
    return [line for line in out.split(b"\n") if line.startswith(b"jig: ")]


def without_telling(out: bytes, log: bytes) -> bytes:
    """The script's own bytes. A line of jig's never tears one of the script's: a newline may have been put before it."""
    for line in told(out):
        before, after = out.split(line + b"\n", 1)
        if not log.startswith(before) and before.endswith(b"\n"):
            before = before[:-1]
        out = before + after
    return out


def whole_log(box, run_id: str) -> bytes:
    return (box.runs / run_id / "output.log").read_bytes()


def end_of(box, run_id: str, timeout: float = 30.0) -> None:
    until(lambda: '"completed"' in (box.runs / run_id / "events.jsonl").read_text(), timeout, what="its end")


def check_complete(box, jig_home, run_id: str, out: bytes) -> None:
    """What was shown and what is kept here is what the script wrote, to the byte."""
    log = whole_log(box, run_id)
    assert log.endswith(b"no newline at the end")
    assert (mirror(jig_home, run_id) / "output.log").read_bytes() == log
    assert without_telling(out, log).rstrip(b"\n") == log
    there = (box.runs / run_id / "events.jsonl").read_bytes()
    assert (mirror(jig_home, run_id) / "events.jsonl").read_bytes() == there


def test_a_short_cut_is_not_even_told(box, counting, project, jig_home, client):
    (client.home / "ssh-options").write_text("")
    run_id = counting(3)
    following = follow(project, run_id)
    following.stdout.read(1)
    box.host.cut()
    time.sleep(1)
    box.host.mend()
    out, err = following.communicate(timeout=60)
    assert following.returncode == 0, err
    assert told(out) == []
    log = whole_log(box, run_id)
    assert log[:1] + out.rstrip(b"\n") == log


def test_a_cut_of_seconds(box, counting, project, jig_home):
    """Half-open for longer than ssh waits: told once, found again by itself, told once, and complete."""
    run_id = counting(9)
    following = follow(project, run_id)
    first = following.stdout.read(1)
    box.host.cut()
    time.sleep(5)
    box.host.mend()
    out, err = following.communicate(timeout=60)
    assert following.returncode == 0, err
    check_complete(box, jig_home, run_id, first + out)
    assert [line.startswith(words) for line, words in zip(told(out), (LOST, BACK), strict=True)] == [True, True], told(
        out
    )


def test_the_run_ends_while_the_link_is_cut(box, counting, project, jig_home):
    run_id = counting(2)
    following = follow(project, run_id)
    first = following.stdout.read(1)
    box.host.cut()
    end_of(box, run_id)
    time.sleep(2)
    box.host.mend()
    out, err = following.communicate(timeout=60)
    assert following.returncode == 0, err
    check_complete(box, jig_home, run_id, first + out)


def test_the_server_is_killed_and_comes_back(box, counting, project, jig_home):
    run_id = counting(5)
    following = follow(project, run_id)
    first = following.stdout.read(1)
    box.host.kill_sshd()
    time.sleep(1.5)
    box.host.start_sshd()
    out, err = following.communicate(timeout=60)
    assert following.returncode == 0, err
    check_complete(box, jig_home, run_id, first + out)
    assert len(told(out)) == 2, told(out)


def test_delay_and_loss(box, counting, project, jig_home, client):
    (client.home / "ssh-options").write_text("")
    box.host.slow(delay_ms=60, loss_percent=3)
    run_id = counting(3)
    following = follow(project, run_id)
    out, err = following.communicate(timeout=60)
    assert following.returncode == 0, err
    check_complete(box, jig_home, run_id, out)
    assert told(out) == []


def test_unreachable_from_the_start(box, counting, project, jig_home):
    """`logs -f` begins in a tunnel and ends outside."""
    run_id = counting(1)
    box.host.cut()
    following = follow(project, run_id)
    until(lambda: following.stdout.readline().startswith(LOST))
    box.host.mend()
    out, err = following.communicate(timeout=60)
    assert following.returncode == 0, err
    check_complete(box, jig_home, run_id, out)


def kill_while_following(box, project, jig_home, run_id: str, seconds: "list[float]") -> None:
    """A client killed at each of the moments; then one that is left alone has every byte."""
    for after in seconds:
        following = follow(project, run_id)
        time.sleep(after)
        following.send_signal(signal.SIGKILL)
        following.communicate()
        here = mirror(jig_home, run_id) / "output.log"
        if here.exists():
            data = here.read_bytes()
            assert whole_log(box, run_id)[: len(data)] == data
    out, err = follow(project, run_id).communicate(timeout=60)
    assert err.endswith(b": Completed\n") or b"Completed" in err, err
    check_complete(box, jig_home, run_id, out)


def test_clients_that_are_killed(box, counting, project, jig_home):
    at = random.Random(7)
    kill_while_following(box, project, jig_home, counting(4), [at.uniform(0.05, 0.5) for _ in range(8)])


def test_a_client_that_sleeps(box, counting, project, jig_home):
    """The lid is closed for longer than the connection lives."""
    run_id = counting(3)
    following = follow(project, run_id)
    first = following.stdout.read(1)
    following.send_signal(signal.SIGSTOP)
    box.host.kill_sshd()
    end_of(box, run_id)
    box.host.start_sshd()
    following.send_signal(signal.SIGCONT)
    out, err = following.communicate(timeout=60)
    assert following.returncode == 0, err
    check_complete(box, jig_home, run_id, first + out)


def test_two_clients_on_one_run(box, counting, project, jig_home, tmp_path, cli, monkeypatch):
    """Two processes of one person, and a third on another computer, all see every byte."""
    from tests.conftest import environ
    from tests.ssh.conftest import attach_words

    run_id = counting(3)
    pair = [follow(project, run_id) for _ in range(2)]
    monkeypatch.setenv("JIG_HOME", str(tmp_path / "second"))
    assert cli(*attach_words(box.host)).code == 0
    assert cli("history", "sync", "-c", "box").code == 0
    third = spawn("logs", "-f", run_id, cwd=project.path, env=environ())
    for process in (*pair, third):
        out, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
        assert out.rstrip(b"\n") == whole_log(box, run_id)
    check_complete(box, jig_home, run_id, out)


def test_twenty_follows(box, counting, project, jig_home, client):
    """On a server that lets ten sessions into a connection, and ten newcomers knock; they end all at once, with outputs."""
    (client.home / "ssh-options").write_text("")
    project.write("count.py", COUNT + "\nopen('outputs/x', 'wb').write(rest.randbytes(3_000_000))\n")
    run_id = counting(12)
    many = [follow(project, run_id) for _ in range(20)]
    for process in many:
        out, err = process.communicate(timeout=100)
        assert process.returncode == 0, err
        assert err.decode() == f"{run_id}: Completed: exited with code 0\n" or "Completed" in err.decode(), err
        assert b"warning" not in err and b"Traceback" not in err, err
        check_complete(box, jig_home, run_id, out)
        assert told(out) == []
    there = (box.runs / run_id / "work/outputs/x").read_bytes()
    assert (mirror(jig_home, run_id) / "work/outputs/x").read_bytes() == there


def test_lines_come_at_once(box, project):
    project.write("a.py", "import time\nfor i in range(20): print(time.time(), flush=True); time.sleep(0.1)")
    following = spawn("submit", "-c", "box", "a.py", cwd=project.path)
    late = [time.time() - float(line) for line in following.stdout if line[:2] in (b"17", b"18", b"19")]
    following.communicate(timeout=30)
    assert len(late) == 20 and sorted(late)[10] < 1.0


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_two_hundred_cuts_and_kills(box, project, jig_home, client):
    """Random cuts, killed servers and killed clients: no byte is lost, and none comes twice."""
    client.impatient()
    project.write("count.py", COUNT)
    at, troubles, lost = random.Random(), 0, 0
    while troubles < 200:
        run_id = box.start("count.py", "25")
        stop = threading.Event()

        def trouble(stop=stop) -> None:
            nonlocal troubles
            while not stop.wait(at.uniform(0.1, 2)):
                troubles += 1
                if at.random() < 0.5:
                    box.host.cut()
                    stop.wait(at.uniform(0.1, 6))
                    box.host.mend()
                else:
                    box.host.kill_sshd()
                    stop.wait(at.uniform(0, 2))
                    box.host.start_sshd()

        troubling = threading.Thread(target=trouble)
        troubling.start()
        try:
            for _ in range(8):
                following = follow(project, run_id)
                time.sleep(at.uniform(0.05, 4))
                following.kill()
                following.communicate()
                troubles += 1
        finally:
            stop.set()
            troubling.join()
        out, err = follow(project, run_id).communicate(timeout=120)
        assert b"Completed" in err, err
        log = whole_log(box, run_id)
        lost += len(log) - len((mirror(jig_home, run_id) / "output.log").read_bytes())
        check_complete(box, jig_home, run_id, out)
    print(f"\n{troubles} cuts and kills, {lost} bytes lost")
