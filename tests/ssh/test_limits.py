"""Servers that let few in, keys that are too open, projects of very many files."""

import shlex
import subprocess
import time

import pytest

from tests.conftest import call, spawn
from tests.ssh.conftest import attach_words

MANY = 20


@pytest.mark.parametrize("sessions", [None, 1])
def test_many_commands_at_once(box, project, cli, client, sessions):
    """No connection is open yet, and the server lets three knock at a time: every command gets in and ends well."""
    box.host.configure(MaxStartups="3:100:3", MaxSessions=sessions)
    client.hang_up()
    project.write("a.py", "import sys; print('run', sys.argv[1])")
    many = [spawn("submit", "-c", "box", "a.py", str(number), cwd=project.path) for number in range(MANY)]
    said = [process.communicate(timeout=100) for process in many]
    for number, (process, (out, err)) in enumerate(zip(many, said, strict=True)):
        assert (process.returncode, err) == (0, b""), (number, out, err)
        assert f"run {number}\n".encode() in out
    records = cli("history", "list", "-o", "json").json()
    assert [record["status"] for record in records] == ["Completed"] * MANY
    assert len(list(box.runs.iterdir())) == MANY


def test_ten_thousand_files(box, project, client):
    """They go over in one go: with 100 ms for each round trip, one for each file would take a quarter of an hour."""
    project.write("a.py", "import os; print(sum(len(names) for _, _, names in os.walk('data')), 'files')")
    box.host.slow(delay_ms=100)
    client.hang_up()

    def submit(files: int) -> "tuple[int, float]":
        """How many commands were started there, and how long all of it took."""
        before, started = box.host.commands(), time.monotonic()
        said = box.submit("a.py")
        assert said.code == 0 and f"{files} files\n" in said.out
        return box.host.commands() - before, time.monotonic() - started

    submit(0)
    commands, _ = submit(0)
    for number in range(10_000):
        project.write(f"data/{number % 100}/{number}", str(number))
    commands_for_many, seconds = submit(10_000)
    assert commands_for_many == commands
    assert seconds < 10_000 * 0.1 / 10


@pytest.mark.parametrize("whose", ["the person's", "named", "jig's"])
def test_a_private_key_that_others_can_read(host, project, cli, client, jig_home, key_pair, tmp_path, whose):
    """ssh leaves such a key aside and goes on as if there were none: the reason is told, not its consequence."""
    client.give_key(key_pair)
    host.authorize(key_pair.with_suffix(".pub").read_text())
    place = client.home / ".ssh/id_ed25519"
    words = attach_words(host)
    if whose == "named":
        place = place.rename(tmp_path / "my key")
        words = attach_words(host, "--private-key-file", str(place))
    elif whose == "jig's":
        assert cli(*attach_words(host, "--private-key-file", str(place))).code == 0
        place.unlink()
        (place,) = jig_home.glob("machines/*/key")
        client.hang_up()
        words = ("computetarget", "check", "box")
    place.chmod(0o644)
    said = call(*words, cwd=project.path, stdin=subprocess.DEVNULL, timeout=30)
    assert said.code == 125
    assert f"Permissions 0644 for '{place}' are too open" in said.err
    assert f"chmod 600 {shlex.quote(str(place))}" in said.err
    place.chmod(0o600)
    assert cli(*words).code == 0
