"""Commands through a connection that is open: what goes along, and what happens where it has no room or no owner."""

import os
import socket
import threading

import pytest

from jig.machines import mux
from tests.conftest import spawn, until

SHOW = "import os; print('it is', os.environ.get('COLOUR'), os.environ.get('LC_TASTE'), os.environ.get('SECRET'))"


@pytest.fixture
def seen(box, project, client, monkeypatch):
    """seen() → what a script there sees of three variables of this computer."""
    box.host.configure(AcceptEnv="COLOUR LC_* SECRET")
    client.hang_up()
    for name, value in {"COLOUR": "blue", "LC_TASTE": "swéet", "SECRET": "s3cret"}.items():
        monkeypatch.setenv(name, value)
    project.write("a.py", SHOW)

    def look() -> str:
        said = box.submit("a.py")
        assert said.code == 0, said.err
        return next(line for line in said.out.splitlines() if line.startswith("it is"))[6:]

    return look


def test_variables_go_along_as_the_configuration_says(seen, client):
    client.config("SendEnv LC_* COLOUR\nHost elsewhere\n SendEnv SECRET")
    assert seen() == "blue swéet None"
    calls = len(client.calls())
    assert seen() == "blue swéet None"
    assert len(client.calls()) == calls, "no program was started for it"


def test_values_that_ssh_sets(seen, client):
    client.config("SetEnv COLOUR=rød")
    calls = len(client.calls())
    assert seen() == seen() == "rød None None"
    assert len(client.calls()) == calls + 1


def test_more_variables_than_a_message_may_have(seen, client, monkeypatch):
    client.config("SendEnv COLOUR")
    for number in range(30):
        monkeypatch.setenv(f"LONG_{number}", "x" * 10_000)
    assert seen() == seen() == "blue None None"


def test_no_room_on_the_connection(box, project, cli, client):
    """The owner of the connection refuses; ssh itself goes the long way, and a large file waits for nobody."""
    box.host.configure(MaxSessions=1)
    client.hang_up()
    project.write("wait.py", "import time; print('here', flush=True); time.sleep(60)")
    first = spawn("submit", "-c", "box", "wait.py", cwd=project.path)
    until(lambda: first.stdout.readline() == b"here\n", what="the first run's line")
    logins = box.host.sshd_log().count("Accepted publickey")
    project.write("big.bin", os.urandom(4 << 20))
    project.write("a.py", "import os; print(os.path.getsize('big.bin'))")
    assert "4194304\n" in box.submit("a.py").out
    assert box.host.sshd_log().count("Accepted publickey") > logins
    (going,) = (record for record in cli("history", "list", "-o", "json").json() if record["status"] == "Running")
    assert cli("cancel", going["run_id"]).code == 0
    first.communicate(timeout=30)


def test_an_owner_that_goes_before_it_answers(box, project, client):
    """A connection's socket that somebody else has, who says hello and no more: ssh itself finds the way."""
    project.write("a.py", "print('there')")
    assert "there\n" in box.submit("a.py").out
    (path,) = client.sockets.glob("jig-*/*")
    client.hang_up()
    with _owner(str(path), mux._packed([mux.HELLO, mux.VERSION])) as met:
        assert "there\n" in box.submit("a.py").out
    assert met


@pytest.mark.parametrize(
    "said",
    [b"", b"\0\0\0", mux._packed([7, mux.VERSION]), b"\xff\xff\xff\xff", mux._packed([])],
    ids=["nothing", "half", "no hello", "too much", "empty"],
)
def test_a_socket_without_an_owner_is_removed(tmp_path, said):
    path = str(tmp_path / "s")
    assert mux.connect(path) is None
    with _owner(path, said):
        assert mux.connect(path) is None
    assert not os.path.exists(path)


def test_an_owner_that_speaks_another_version_is_left_to_ssh(tmp_path):
    path = str(tmp_path / "s")
    with _owner(path, mux._packed([mux.HELLO, mux.VERSION + 1])):
        assert mux.connect(path) is None
    assert os.path.exists(path), "it serves others"


class _owner:
    """Somebody who has a connection's socket: takes one in, says this, and hangs up."""

    def __init__(self, path: str, says: bytes) -> None:
        self._says, self._met = says, []
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(path)
        self._listening.listen()
        self._thread = threading.Thread(target=self._meet)

    def _meet(self) -> None:
        connection = self._listening.accept()[0]
        self._met.append(True)
        connection.sendall(self._says)
        connection.close()
        self._listening.close()

    def __enter__(self) -> "list[bool]":
        self._thread.start()
        return self._met

    def __exit__(self, *_: object) -> None:
        self._thread.join(10)
        assert not self._thread.is_alive()
