"""Following a run over a network that fails: every byte, once, whatever is cut or killed in between."""

import contextlib
import random
import signal
import threading
import time

import pytest

from tests.conftest import spawn, until
from tests.ssh.conftest import mirror

# Lines of uneven length with bytes that are no text, for `argv[1]` seconds or until somebody says that it is enough.
COUNT = """
import os, random, sys, time
out, rest = sys.stdout.buffer, random.Random(1)
end, number = time.monotonic() + float(sys.argv[1]), 0
while time.monotonic() < end and not os.path.exists('/tmp/enough'):
    length = rest.randrange(1, 300)
    line = rest.getrandbits(8 * length).to_bytes(length, 'big').replace(b'\\n', b'')
    out.write(b'%d ' % number + line + b'\\n')
    out.flush()
    number += 1
    time.sleep(0.002)
out.write(b'no newline at the end')
"""
LOST, BACK = b"jig: the connection to box is lost", b"jig: connected to box again"


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


class Counting:
    """A run that prints until it is enough."""

    def __init__(self, box, project, jig_home, ends: contextlib.ExitStack, seconds: float) -> None:
        self._box, self._project, self._jig_home, self._ends = box, project, jig_home, ends
        self.id = box.start("count.py", str(seconds))
        self.there = box.runs / self.id

    def follow(self, **options) -> "Following":
        """Unbuffered, so that what is read first is not missing from what is read last."""
        process = spawn("logs", "-f", self.id, cwd=self._project.path, bufsize=0, **options)
        self._ends.callback(process.communicate)
        self._ends.callback(process.kill)
        return Following(self, process)

    def enough(self) -> None:
        """Let it end, and wait for that."""
        self._box.host.run("touch /tmp/enough")
        until(lambda: '"completed"' in (self.there / "events.jsonl").read_text(), what="its end")

    @property
    def here(self):
        return mirror(self._jig_home, self.id)

    def check_complete(self, out: bytes) -> None:
        """What was shown and what is kept here is what the script wrote, to the byte."""
        log = (self.there / "output.log").read_bytes()
        assert log.endswith(b"no newline at the end")
        assert (self.here / "output.log").read_bytes() == log
        assert without_telling(out, log).rstrip(b"\n") == log
        assert (self.here / "events.jsonl").read_bytes() == (self.there / "events.jsonl").read_bytes()


class Following:
    """Somebody who follows a run."""

    def __init__(self, run: Counting, process) -> None:
        self._run, self.process, self.shown = run, process, b""

    def until_shown(self) -> "Following":
        while not self.shown:
            self._read()
        return self

    def until_told(self, words: bytes) -> None:
        while not any(line.startswith(words) for line in told(self.shown.rpartition(b"\n")[0])):
            self._read()

    def _read(self) -> None:
        data = self.process.stdout.read(1 << 16)
        assert data, f"it ended: {self.process.communicate()}"
        self.shown += data

    def end(self) -> "list[bytes]":
        """It ends with the run and has shown every byte of it; returns what jig said in between."""
        out, err = self.process.communicate(timeout=60)
        assert (self.process.returncode, err.decode()) == (0, f"{self._run.id}: Completed\n")
        self._run.check_complete(self.shown + out)
        return told(self.shown + out)


@pytest.fixture
def count(box, project, jig_home):
    """Starts a run that prints."""
    project.write("count.py", COUNT)
    with contextlib.ExitStack() as ends:
        yield lambda seconds=60.0: Counting(box, project, jig_home, ends, seconds)


def test_a_short_cut_is_not_even_told(box, count):
    counting = count()
    following = counting.follow().until_shown()
    box.host.cut()
    time.sleep(1)
    box.host.mend()
    counting.enough()
    assert following.end() == []


def test_a_cut_of_seconds(box, count, client):
    """Half-open for longer than ssh waits: told once, found again by itself, told once, and complete."""
    client.impatient()
    counting = count()
    following = counting.follow().until_shown()
    box.host.cut()
    following.until_told(LOST)
    time.sleep(1)
    box.host.mend()
    following.until_told(BACK)
    counting.enough()
    lost, back = following.end()
    assert lost.startswith(LOST) and back == BACK


def test_the_run_ends_while_the_link_is_cut(box, count, client):
    client.impatient()
    counting = count()
    following = counting.follow().until_shown()
    box.host.cut()
    counting.enough()
    following.until_told(LOST)
    box.host.mend()
    assert len(following.end()) == 2


def test_the_server_is_killed_and_comes_back(box, count):
    counting = count()
    following = counting.follow().until_shown()
    box.host.kill_sshd()
    following.until_told(LOST)
    box.host.start_sshd()
    following.until_told(BACK)
    counting.enough()
    assert len(following.end()) == 2


def test_a_frozen_machine(box, count, client):
    """It swaps, or its lid is closed: its kernel still takes what is sent, and nobody answers."""
    client.impatient()
    counting = count()
    following = counting.follow().until_shown()
    box.host.freeze()
    following.until_told(LOST)
    box.host.thaw()
    following.until_told(BACK)
    counting.enough()
    assert len(following.end()) == 2


def test_delay_and_loss(box, count):
    box.host.slow(delay_ms=60, loss_percent=3)
    assert count(seconds=1.5).follow().end() == []


def test_unreachable_from_the_start(box, count, client):
    """`logs -f` begins in a tunnel and ends outside."""
    client.impatient()
    counting = count()
    box.host.cut()
    following = counting.follow()
    following.until_told(LOST)
    box.host.mend()
    counting.enough()
    assert len(following.end()) == 2


def kill_while_following(counting: Counting, moments: "list[float]") -> None:
    """Clients killed at each of the moments: each leaves a beginning of the log, and no other bytes."""
    for after in moments:
        following = counting.follow()
        time.sleep(after)
        following.process.kill()
        following.process.communicate()
        if (counting.here / "output.log").exists():
            data = (counting.here / "output.log").read_bytes()
            assert (counting.there / "output.log").read_bytes()[: len(data)] == data


def test_clients_that_are_killed(count):
    counting = count()
    at = random.Random(7)
    kill_while_following(counting, [at.uniform(0.05, 0.5) for _ in range(8)])
    counting.enough()
    assert counting.follow().end() == []


def test_a_client_that_sleeps(box, count):
    """The lid is closed for longer than the connection lives."""
    counting = count()
    following = counting.follow().until_shown()
    following.process.send_signal(signal.SIGSTOP)
    box.host.kill_sshd()
    counting.enough()
    box.host.start_sshd()
    following.process.send_signal(signal.SIGCONT)
    following.end()


def test_two_clients_on_one_run(box, count, jig_home, tmp_path, cli, monkeypatch):
    """Two processes of one person, and a third on another computer, all see every byte."""
    from tests.conftest import environ
    from tests.ssh.conftest import attach_words

    counting = count()
    pair = [counting.follow() for _ in range(2)]
    monkeypatch.setenv("JIG_HOME", str(tmp_path / "second"))
    assert cli(*attach_words(box.host)).code == 0
    assert cli("history", "sync", "-c", "box").code == 0
    third = counting.follow(env=environ())
    many = [following.until_shown() for following in (*pair, third)]
    counting.enough()
    assert [following.end() for following in many] == [[], [], []]
    kept = [mirror(home, counting.id) / "output.log" for home in (jig_home, tmp_path / "second")]
    assert kept[0].read_bytes() == kept[1].read_bytes()


def test_twenty_follows(box, project, count):
    """On a server that lets ten sessions into a connection, and ten newcomers knock; they end all at once, with outputs."""
    project.write(
        "count.py", COUNT + "\nopen('outputs/x', 'wb').write(rest.getrandbits(24_000_000).to_bytes(3_000_000, 'big'))\n"
    )
    counting = count()
    many = [counting.follow() for _ in range(20)]
    for following in many:
        following.until_shown()
    counting.enough()
    assert [following.end() for following in many] == [[]] * 20
    outputs = [folder / "work/outputs/x" for folder in (counting.here, counting.there)]
    assert outputs[0].read_bytes() == outputs[1].read_bytes()


def test_lines_come_at_once(box, project):
    project.write("a.py", "import time\nfor i in range(20): print(time.time(), flush=True); time.sleep(0.05)")
    following = spawn("submit", "-c", "box", "a.py", cwd=project.path)
    late = [time.time() - float(line) for line in following.stdout if line[:2] in (b"17", b"18", b"19")]
    following.communicate(timeout=30)
    assert len(late) == 20 and sorted(late)[10] < 1.0


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_two_hundred_cuts_and_kills(box, count, client):
    """Random cuts, killed servers and killed clients: no byte is lost, and none comes twice."""
    client.impatient()
    at, troubles, written, lost = random.Random(), 0, 0, 0
    while troubles < 200:
        counting = count(seconds=25)
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
                kill_while_following(counting, [at.uniform(0.05, 4)])
                troubles += 1
        finally:
            stop.set()
            troubling.join()
        counting.follow().end()
        there, here = ((folder / "output.log").stat().st_size for folder in (counting.there, counting.here))
        written, lost = written + there, lost + there - here
    print(f"\n{troubles} cuts and kills, {lost} of {written} bytes lost")


@pytest.mark.soak
@pytest.mark.parametrize("trouble", ["cut", "frozen", "mute"])
def test_as_patient_as_shipped(box, count, trouble):
    """A connection that nobody answers on counts as lost after about twenty seconds, and the next one is tried at once."""
    counting = count(seconds=120)
    following = counting.follow().until_shown()
    begin, end = {
        "cut": (box.host.cut, box.host.mend),
        "frozen": (box.host.freeze, box.host.thaw),
        "mute": (lambda: box.host.run("pkill -STOP -f '__main__.py tail$'"), lambda: None),
    }[trouble]
    begin()
    started = time.monotonic()
    following.until_told(LOST)
    noticed_s = time.monotonic() - started
    end()
    following.until_told(BACK)
    back_s = time.monotonic() - started - noticed_s
    counting.enough()
    assert len(following.end()) == 2
    print(f"\n{trouble}: noticed after {noticed_s:.1f} s, back after {back_s:.1f} s more, 0 bytes lost")
    assert 15 < noticed_s < 26 and back_s < 10
