"""What tests of attach, check and detach look at, and how they step in at a moment of their choice."""

from pathlib import Path

from tests.hosts.host import Host
from tests.ssh.conftest import Client

# The ssh commands of an attach with a password, by their words.
SEES_HOST_KEY = "*PreferredAuthentications=none*"
PUTS_KEY_IN = '*" exec sh"'
TRIES_KEY = '*IdentityFile=*" exit"'
BRINGS_RUNNER = '*" exec tar "*'
LOOKS_AROUND = '*" doctor"'


def two_files(project, name: str = "box") -> "set[str]":
    """Which of the two files stand in the project."""
    return {place.suffix for place in (project.path / "aml_config").glob(f"{name}.*")}


def assert_nothing_left(project, jig_home: Path, sockets: Path, name: str = "box") -> None:
    assert two_files(project, name) == set()
    assert list((jig_home / "machines").glob("*")) == []
    assert list(sockets.glob("jig-*/*")) == [], "a control connection is left"


def authorized(host: Host) -> "list[str]":
    """The lines of the user's authorized_keys."""
    place = host.home / ".ssh/authorized_keys"
    return place.read_text().splitlines() if place.exists() else []


def meddle(client: Client, moment: str, before: str = ":", after: str = ":") -> None:
    """Let the first ssh whose words match do something before it begins, and after it ends; $PPID is jig.

    No connection stays: through one that is open no ssh would be started.
    """
    (client.home / "ssh-options").write_text("-o ControlPath=none")
    place = client.home / "bin/ssh"
    head, _, ssh = place.read_text().rpartition("exec ")
    once = f'[ ! -e "$HOME/meddled" ] && touch "$HOME/meddled" || exec {ssh.strip()}'
    place.write_text(
        f'{head}case "$*" in\n{moment})\n{once}\n{before}\n{ssh}code=$?\n{after}\nexit $code ;;\nesac\nexec {ssh}'
    )
