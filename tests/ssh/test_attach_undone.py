"""All or nothing: an attach that fails, is interrupted or is killed leaves nothing, neither here nor there."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from jig.machines.address import Address
from jig.machines.interrupts import Interrupts
from jig.machines.staging import Staging
from tests.conftest import alive, call, spawn, until
from tests.ssh.attaching import (
    BRINGS_RUNNER,
    LOOKS_AROUND,
    PUTS_KEY_IN,
    SEES_HOST_KEY,
    TRIES_KEY,
    assert_nothing_left,
    authorized,
    meddle,
    two_files,
)
from tests.ssh.conftest import attach_words

OTHERS = b"# mine\nssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOther jos\xe9@elsewhere\nssh-rsa AAAAB3 no newline at the end"


# Failures


def test_no_python_there(host, project, jig_home, client):
    """The other keys stay as they are: in another encoding, without a last newline, behind a link."""
    host.write(".ssh/dotfiles", OTHERS, mode=0o640)
    place = host.home / ".ssh/authorized_keys"
    place.symlink_to("dotfiles")
    host.without("python3*")
    said = call(*attach_words(host, "--password", host.password), cwd=project.path)
    assert said.code == 125
    assert "there is no python3 on box" in said.err and "install Python 3.6 or newer" in said.err
    assert_nothing_left(project, jig_home, client.sockets)
    assert "Accepted publickey" in host.sshd_log(), "the key was installed and worked"
    assert place.read_bytes() == OTHERS + b"\n"
    assert place.is_symlink() and place.stat().st_mode & 0o777 == 0o640
    assert {entry.name for entry in place.parent.iterdir()} == {"authorized_keys", "dotfiles"}


def test_a_home_that_is_too_open_for_a_key(host, project, jig_home, client):
    host.home.chmod(0o777)
    said = call(*attach_words(host, "--password", host.password), cwd=project.path)
    assert said.code == 125 and "took the key but does not let it in" in said.err and "permissions" in said.err
    assert_nothing_left(project, jig_home, client.sockets)
    assert authorized(host) == []


def test_files_that_cannot_be_written(host, project, jig_home, client):
    meddle(client, LOOKS_AROUND, before=f"rm -r {project.path}/aml_config")
    said = call(*attach_words(host, "--password", host.password), cwd=project.path)
    assert said.code == 125 and "could not be written" in said.err
    assert_nothing_left(project, jig_home, client.sockets)
    assert authorized(host) == []


def test_what_was_attached_before_stays_when_it_fails(box, host, project, cli, jig_home, client):
    """One that is attached keeps its way in when a second attach, under another name, comes to nothing."""
    (folder,) = (jig_home / "machines").iterdir()
    before = {place.name: place.read_bytes() for place in folder.iterdir()}
    meddle(client, LOOKS_AROUND, before=f"rm {project.path}/aml_config/local.compute; kill -INT $PPID")
    assert call(*attach_words(host, name="other"), cwd=project.path).code == 130
    assert {place.name: place.read_bytes() for place in folder.iterdir()} == before
    assert list((jig_home / "machines").iterdir()) == [folder]
    assert cli("computetarget", "check", "box").code == 0


def test_a_line_that_cannot_be_taken_out_again_is_told(host, project, jig_home, client):
    here = client.home
    meddle(client, PUTS_KEY_IN, after=f"touch {here}/there; while [ ! -e {here}/go ]; do sleep 0.01; done")
    attaching = spawn(*attach_words(host, "--password", host.password), cwd=project.path)
    until((here / "there").exists)
    host.stop_sshd()
    (here / "go").touch()
    _, err = attaching.communicate(timeout=20)
    assert attaching.returncode == 125
    (line,) = authorized(host)
    where = f"~/.ssh/authorized_keys of ada on {host.address}"
    assert f"warning: the line of jig's key may be in {where}, until you remove it there:\n{line}\n(" in err.decode()
    assert_nothing_left(project, jig_home, client.sockets)


def test_a_name_that_cannot_be_a_file(host, project, cli, jig_home, client):
    said = cli(*attach_words(host, "--password", host.password, name="../evil"))
    assert said.code == 2
    assert client.calls() == [], "it was contacted all the same"
    assert_nothing_left(project, jig_home, client.sockets)


def test_a_run_configuration_of_that_name(host, project, cli, jig_home, client):
    project.runconfig("box", Target="local")
    said = cli(*attach_words(host, "--password", host.password))
    assert said.code == 2 and "box.runconfig exists already" in said.err
    assert client.calls() == []
    assert list((jig_home / "machines").glob("*")) == []
    assert two_files(project) == {".runconfig"}


def test_a_machine_that_is_not_there(host, project, cli, jig_home, client):
    host.stop_sshd()
    said = cli(*attach_words(host, "--password", host.password))
    assert said.code == 125 and "cannot be reached" in said.err
    assert_nothing_left(project, jig_home, client.sockets)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("-k", "--password", "x"), "--password and -k are two ways to log in"),
        (("--private-key-passphrase", "x"), "--private-key-passphrase is for a --private-key-file"),
        (("--private-key-file", "nosuch"), "there is no private key file nosuch"),
        (("--password-stdin",), "there is no password on stdin"),
        (("--fingerprint", "MD5:12:34"), "'MD5:12:34' is not a fingerprint"),
        (("--fingerprint", "SHA256:abc"), "'SHA256:abc' is not a fingerprint"),
    ],
)
def test_words_that_do_not_go_together(host, project, jig_home, client, given, told):
    said = call(*attach_words(host, *given), cwd=project.path, stdin=subprocess.DEVNULL)
    assert said.code == 2 and told in said.err
    assert_nothing_left(project, jig_home, client.sockets)


# Interrupted


@pytest.mark.parametrize(
    ("moment", "name"),
    [
        (SEES_HOST_KEY, "TERM"),
        (PUTS_KEY_IN, "INT"),
        (PUTS_KEY_IN, "TERM"),
        (TRIES_KEY, "HUP"),
        (BRINGS_RUNNER, "INT"),
        (LOOKS_AROUND, "TERM"),
    ],
)
def test_interrupted(host, project, jig_home, client, tmp_path, monkeypatch, moment, name):
    host.authorize("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOther other@elsewhere")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    meddle(client, moment, before=f"kill -{name} $PPID")
    monkeypatch.setenv("TMPDIR", str(temporary))
    said = call(*attach_words(host, "--password", host.password), cwd=project.path)
    assert said.code == {"INT": 130, "TERM": 143, "HUP": 129}[name], said.err
    assert_nothing_left(project, jig_home, client.sockets)
    assert [line.split()[-1] for line in authorized(host)] == ["other@elsewhere"]
    assert list(temporary.iterdir()) == []
    until(lambda: alive(f"{jig_home}/machines") == [], what="the end of every ssh")
    if moment in (TRIES_KEY, BRINGS_RUNNER, LOOKS_AROUND):
        assert "Accepted password" in host.sshd_log(), "it came before the key was installed"


def test_interrupted_where_the_first_login_is_slow(host, project, jig_home, client):
    """What has begun there is waited for: it would put the key in after we had looked for it."""
    host.write(".bashrc", "[ -e began ] || { touch began; sleep 0.7; }\n")
    meddle(client, PUTS_KEY_IN, before="(sleep 0.3; kill -TERM $PPID) &")
    assert call(*attach_words(host, "--password", host.password), cwd=project.path).code == 143
    until(lambda: host.processes() == [], what="the end of what was begun there")
    assert (host.home / "began").exists() and authorized(host) == []
    assert_nothing_left(project, jig_home, client.sockets)


def test_nothing_interrupts_what_is_held():
    """From the moment when the new folder takes its place."""
    numbers, passed_on = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP), []
    before = {number: signal.signal(number, lambda number, _: passed_on.append(number)) for number in numbers}
    try:
        with pytest.raises(SystemExit) as raised, Interrupts():
            os.kill(os.getpid(), signal.SIGTERM)
        assert raised.value.code == 143
        with Interrupts() as interrupts:
            interrupts.hold()
            for number in numbers:
                os.kill(os.getpid(), number)
        assert passed_on == []
        os.kill(os.getpid(), signal.SIGTERM)
        assert passed_on == [signal.SIGTERM], "afterwards they go where they went before"
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


# Killed


def test_killed(host, project, cli, jig_home, client):
    """The next attach sweeps up here and there, and what another login left as well."""
    meddle(client, TRIES_KEY, before="kill -KILL $PPID")
    said = call(*attach_words(host, "--password", host.password), cwd=project.path)
    assert said.code == -signal.SIGKILL
    machines = jig_home / "machines"
    assert {place.name for place in machines.iterdir()} == {f"ada@{host.address}+new", f"ada@{host.address}+lock"}
    (lost,) = authorized(host)
    (machines / "eve@elsewhere+lock").touch()
    (machines / "eve@elsewhere+new").mkdir()
    (machines / "eve@elsewhere+new/key").touch()
    assert cli(*attach_words(host, "--password", host.password)).code == 0
    (folder,) = machines.iterdir()
    assert authorized(host) == [(folder / "key.pub").read_text().strip()] != [lost]


def test_one_attach_of_a_login_at_a_time(host, project, cli, jig_home, client):
    with Staging(Address("ada", host.address).folder):
        said = cli(*attach_words(host, "--password", host.password))
    assert said.code == 125 and f"another attach of ada@{host.address} is going on" in said.err
    assert client.calls() == []
    assert_nothing_left(project, jig_home, client.sockets)


def test_killed_between_the_old_folder_and_the_new_one(tmp_path):
    """What was attached before is there again; one that had already been replaced is gone."""
    place = tmp_path / "machines/ada@gpu1"
    for aside in ("+old", "+new", "+lock"):
        Path(f"{place}{aside}").mkdir(parents=True) if aside != "+lock" else Path(f"{place}+lock").touch()
    Path(f"{place}+old/key").write_text("old")
    with Staging(str(place)):
        assert (place / "key").read_text() == "old"
    assert [entry.name for entry in place.parent.iterdir()] == ["ada@gpu1"]


def test_the_old_folder_comes_back(tmp_path):
    place = tmp_path / "machines/ada@gpu1"
    place.mkdir(parents=True)
    (place / "key").write_text("old")
    for fails, expected in ((True, "old"), (False, "new")):
        with Staging(str(place)) as staging:
            Path(staging.folder, "key").write_text("new")
            staging.take_place()
            assert (place / "key").read_text() == "new"
            if fails:
                staging.give_back()
        assert (place / "key").read_text() == expected
        assert [entry.name for entry in place.parent.iterdir()] == ["ada@gpu1"]
