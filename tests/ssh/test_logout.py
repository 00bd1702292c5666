"""A machine whose logind ends a user's processes at logout: found out at attach, got around where it can be, else told."""

import json
from collections import Counter

import pytest

from tests.conftest import until
from tests.ssh.conftest import attach_words, carriers

WAITS = """
import os, time
print('begun', flush=True)
while not os.path.exists(os.path.expanduser('~/go')):
    time.sleep(0.01)
print('ended')
"""
SURVIVE = "ok   runs: go on after logout"
SCOPE = "ok   runs: go on after logout, in a scope of their own"
KILLED = "warn runs: are killed at logout"
KILLS = {"KillUserProcesses": "yes"}


def as_root(host, command: str) -> str:
    done = host.run(command, user="root")
    assert done.returncode == 0, done.stderr
    return done.stdout


def lingers(host) -> bool:
    return (host.root / "var/lib/systemd/linger" / host.user).exists()


def forbid_lingering(host) -> None:
    """Nobody is there who could allow it: logind asks polkit."""
    as_root(host, "systemctl mask polkit.service")


def attached(cli, host) -> str:
    """Attaches the host and returns what was told about its runs."""
    said = cli(*attach_words(host, "--password", host.password))
    assert said.code == 0, said.err
    return told(said.out)


def told(out: str) -> str:
    (line,) = [line for line in out.splitlines() if " runs: " in line]
    return line


def found(jig_home) -> str:
    (place,) = jig_home.glob("machines/*/facts.json")
    return json.loads(place.read_text())["logout"]


def begin(cli, host, project) -> str:
    """Starts a run that waits; returns its id."""
    project.write("a.py", WAITS)
    said = cli("submit", "-a", "-c", "box", "a.py")
    assert said.code == 0, said.err
    log = host.home / ".jig/runs" / said.run_id / "output.log"
    until(lambda: log.exists() and log.read_text() == "begun\n", what="its first line")
    return said.run_id


def is_in_scope(host) -> bool:
    """Whether the run's script is looked after by the login's own manager, and not by the session that it came with."""
    (process,) = as_root(host, f"pgrep -f '^/usr/bin/python3 a.py$' -U {host.user}").split()
    place = as_root(host, f"cat /proc/{process}/cgroup")
    assert "user@" in place or "session-" in place, place
    return "user@" in place


def log_out(client, host) -> None:
    """The last connection ends, and logind has done what it does then."""
    client.hang_up()
    until(lambda: as_root(host, "loginctl list-sessions --no-legend") == "", what="the end of its session")


def state(cli, run_id: str) -> "tuple[str, str]":
    seen = cli("status", run_id, "-o", "json").json()
    return seen["state"], seen["reason"]


def check_goes_on(cli, host, project, client) -> None:
    """A run outlives the login: neither the script nor who looks after it is touched."""
    run_id = begin(cli, host, project)
    assert is_in_scope(host)
    before = Counter(carriers(host, run_id))
    log_out(client, host)
    # There may be more of them by now: what takes samples begins after the script.
    assert sum(before.values()) >= 3 and not before - Counter(carriers(host, run_id))
    host.write("go", "")
    assert cli("logs", "-f", run_id).out == "begun\nended\n"
    assert state(cli, run_id) == ("Completed", "exited")


def test_a_machine_that_lets_them_live(host, project, cli, client, jig_home):
    host.boot_systemd(KillUserProcesses="no")
    assert attached(cli, host) == SURVIVE
    assert found(jig_home) == "survive" and not lingers(host)
    run_id = begin(cli, host, project)
    assert not is_in_scope(host)
    client.hang_up()
    until(lambda: as_root(host, f"loginctl show-user {host.user} -p State --value") == "closing\n", what="the logout")
    host.write("go", "")
    assert cli("logs", "-f", run_id).out == "begun\nended\n"


@pytest.mark.parametrize("allowed_before", [True, False])
def test_a_scope_outlives_the_login(host, project, cli, client, jig_home, allowed_before):
    """An administrator has let the user linger, or users may say so themselves."""
    host.boot_systemd(**KILLS)
    if allowed_before:
        as_root(host, f"loginctl enable-linger {host.user}")
        forbid_lingering(host)
    assert attached(cli, host) == SCOPE
    assert found(jig_home) == "scope" and lingers(host)
    check_goes_on(cli, host, project, client)


def test_a_machine_that_kills_them(host, project, cli, client, jig_home):
    """It is told at attach and by every check; a run is started all the same, and its end told for what it is."""
    host.boot_systemd(**KILLS)
    forbid_lingering(host)
    assert attached(cli, host) == KILLED
    assert found(jig_home) == "killed"
    assert told(cli("computetarget", "check", "box").out) == KILLED
    run_id = begin(cli, host, project)
    assert not is_in_scope(host)
    log_out(client, host)
    assert carriers(host, run_id) == []
    assert state(cli, run_id) == ("Canceled", "machine-shutdown")
    assert cli("logs", run_id).out == "begun\n"


def test_an_administrator_helps_later(host, project, cli, client):
    host.boot_systemd(**KILLS)
    forbid_lingering(host)
    assert attached(cli, host) == KILLED
    as_root(host, f"loginctl enable-linger {host.user}")
    assert told(cli("computetarget", "check", "box").out) == SCOPE
    check_goes_on(cli, host, project, client)


def test_a_key_that_was_installed_by_hand(host, project, cli, client, jig_home):
    """Nobody could look around at attach: the first run does it."""
    host.boot_systemd(**KILLS)
    said = cli(*attach_words(host, "-k"))
    (line,) = [line for line in said.out.splitlines() if line.startswith("ssh-ed25519 ")]
    host.authorize(line)
    check_goes_on(cli, host, project, client)
    assert found(jig_home) == "scope"


def test_a_machine_that_gives_no_scopes_any_more(host, project, cli, client):
    """A run is not begun where it would be killed unexpectedly; all else goes on, and another look mends it."""
    host.boot_systemd(**KILLS)
    assert attached(cli, host) == SCOPE
    project.write("a.py", "print('ran')")
    before = cli("submit", "-c", "box", "a.py").run_id
    host.without("systemd-run")
    said = cli("submit", "-c", "box", "a.py")
    assert said.code == 125 and "systemd-run" in said.err and "jig computetarget check box" in said.err
    assert cli("status", before, "-o", "json").json()["state"] == "Completed"
    assert told(cli("computetarget", "check", "box").out) == KILLED
    assert "ran\n" in cli("submit", "-c", "box", "a.py").out
