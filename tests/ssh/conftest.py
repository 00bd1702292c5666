"""A machine over SSH for every test, reached by this person's own `ssh` with settings and keys of the test alone."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from jig.environments.solve import rattler_archive
from tests.conftest import Said
from tests.hosts.fixtures import QUICK, host, host_folder, jump, make_host, two_hosts
from tests.hosts.host import Host

__all__ = ["host", "host_folder", "jump", "make_host", "two_hosts"]

# The real program reads the settings of the account, not of $HOME; and the test wants to know what was called.
WRAPPER = """#!/bin/sh
{{ printf '%s\\t' "$@"; echo; }} >> "$HOME/ssh-calls"
exec {ssh} -F "$HOME/.ssh/config" $(cat "$HOME/ssh-options") "$@"
"""


@pytest.fixture(scope="session")
def key_pair(tmp_path_factory):
    """A key of the person's own, made once."""
    place = tmp_path_factory.mktemp("keys") / "id_ed25519"
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "ada@laptop", "-f", str(place)]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    return place


@pytest.fixture(scope="module")
def lasting_host(host_folder):
    """One host for all tests of a module: what is brought there once need not be brought for each."""
    folder = host_folder / "lasting"
    folder.mkdir()
    host = Host("lasting", folder, **QUICK)
    yield host
    host.close()
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def _archive(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JIG_HOME", str(tmp_path_factory.mktemp("archive")))
        return Path(rattler_archive())


@pytest.fixture
def archive_at_hand(_archive, jig_home):
    """py-rattler, packed for machines once and not for every test."""
    (jig_home / "cache").mkdir(parents=True, exist_ok=True)
    os.link(_archive, jig_home / "cache" / _archive.name)


class Client:
    """This computer, as the tests of SSH see it."""

    def __init__(self, home: Path, sockets: Path) -> None:
        self.home, self.sockets = home, sockets
        self.config("")
        (home / "ssh-options").write_text("")

    def impatient(self) -> None:
        """Let ssh notice a dead network in a second or two, which it normally does in fifteen."""
        options = ("ServerAliveInterval=1", "ServerAliveCountMax=1", "ConnectTimeout=2")
        (self.home / "ssh-options").write_text(" ".join(f"-o {option}" for option in options))

    def config(self, text: str) -> None:
        """What ~/.ssh/config says; the last lines keep this machine's own keys out of it."""
        folder = self.home / ".ssh"
        folder.mkdir(mode=0o700, exist_ok=True)
        end = f"Host *\n IdentityFile {folder}/id_ed25519\n UserKnownHostsFile {folder}/known_hosts\n"
        (folder / "config").write_text(f"{text}\n{end}")

    def give_key(self, key_pair: Path) -> None:
        for name in ("id_ed25519", "id_ed25519.pub"):
            shutil.copy2(key_pair.with_name(name), self.home / ".ssh" / name)

    def calls(self) -> "list[list[str]]":
        """The words of every ssh that was started so far."""
        place = self.home / "ssh-calls"
        return [line.split("\t")[:-1] for line in place.read_text().splitlines()] if place.exists() else []

    def hang_up(self) -> None:
        """Close every control connection."""
        for socket in self.sockets.glob("jig-*/*"):
            command = ["ssh", "-O", "exit", "-o", f"ControlPath={socket}", "nobody"]
            subprocess.run(command, capture_output=True, timeout=10)


@pytest.fixture(autouse=True)
def client(jig_home, monkeypatch, tmp_path):
    """Wraps ssh so that it reads $HOME/.ssh/config; every control connection ends with the test."""
    home = jig_home.parent
    programs = home / "bin"
    programs.mkdir()
    (programs / "ssh").write_text(WRAPPER.format(ssh=shutil.which("ssh")))
    (programs / "ssh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    sockets = Path(tempfile.mkdtemp(prefix="jt-"))  # short: the path of a socket has a hundred bytes
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(sockets))
    for name in ("SSH_AUTH_SOCK", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", "DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    here = Client(home, sockets)
    yield here
    here.hang_up()
    shutil.rmtree(sockets, ignore_errors=True)  # a connection that just ends removes its own socket


def attach_words(host: Host, *more: str, name: str = "box", kind: str = "remote") -> "tuple[str, ...]":
    """The words that attach a host whose key is known to be the right one."""
    where = ("-n", name, "-a", host.address, "-u", host.user, "--fingerprint", host.host_fingerprint())
    return ("computetarget", "attach", kind, *where, *more)


class Box:
    """An attached machine."""

    def __init__(self, host: Host, cli) -> None:
        self.host, self._cli = host, cli

    def submit(self, *words: str) -> Said:
        return self._cli("submit", "-c", "box", *words)

    def start(self, *words: str) -> str:
        said = self._cli("submit", "-a", "-c", "box", *words)
        assert said.code == 0, said.out + said.err
        return said.run_id

    @property
    def runs(self) -> Path:
        return self.host.home / ".jig/runs"


@pytest.fixture
def box(host, project, cli, client, key_pair):
    """A machine that was attached as `box`, with the person's own key."""
    client.give_key(key_pair)
    host.authorize(key_pair.with_suffix(".pub").read_text())
    said = cli(*attach_words(host))
    assert said.code == 0, said.out + said.err
    return Box(host, cli)


def mirror(jig_home: Path, run_id: str) -> Path:
    """The copy here of a run that lives elsewhere."""
    (found,) = jig_home.glob(f"mirror/*/{run_id}")
    return found


def carriers(host: Host, run_id: str) -> "list[str]":
    """The processes there that belong to a run: its id is in their environment, or among their words."""
    found = []
    for place in (host.root / "proc").glob("[0-9]*"):
        try:
            words = (place / "cmdline").read_bytes()
            if run_id.encode() in words + (place / "environ").read_bytes():
                found.append(words.replace(b"\0", b" ").decode(errors="replace"))
        except OSError:  # ended while we looked
            continue
    return found


def every_file(*folders: Path) -> "dict[Path, bytes]":
    """What stands in the files below the folders."""
    found = {}
    for folder in folders:
        for parent, _, names in os.walk(folder):
            for name in names:
                place = Path(parent, name)
                if place.is_file() and not place.is_symlink():
                    found[place] = place.read_bytes()
    return found
