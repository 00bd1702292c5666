"""Attaching: every spelling and every way to log in; the password is nowhere afterwards."""

import os
import re
import subprocess
import threading
from pathlib import Path

import pytest

from jig.project import Project
from tests.conftest import call, spawn, until
from tests.ssh.attaching import assert_nothing_left, authorized, two_files
from tests.ssh.conftest import attach_words, every_file

# The spellings


SPELLINGS = {
    "seeds 000, 001, 003": "computetarget attach remotedocker --name {n} --address {a} --username {u} --password {p}",
    "seeds 002, 004": "computetarget attach --name {n} --address {a} --username {u} --password {p} --type remotedocker",
    "mid 2017": "computecontext attach --name {n} --address {a} --username {u} --password {p}",
    "mid 2017, cluster": "computecontext attach --name {n} --address {a} --username {u} --password {p} --cluster",
    "August 2017": "computetarget attach --name {n} --address {a} --username {u} --password {p} --project {here}",
    "September 2017": "computetarget attach -n {n} -a {a} -u {u} -w {p} --type cluster",
    "September 2017, short": "computetarget attach -n {n} -a {a} -u {u} -w {p} -t cluster",
    "September 2017, misprint": "computetarget attach -n {n} -a {a} -u {u} -w {p} -type cluster",
    "December 2017": "computetarget attach cluster -n {n} -a {a} -u {u} -w {p}",
    "March 2018": "computetarget attach remote -n {n} -a {a} -u {u} -w {p}",
}


@pytest.mark.parametrize("era", SPELLINGS)
def test_every_spelling(host, project, cli, era):
    known = {"n": "my_dsvm", "a": host.address, "u": host.user, "p": host.password, "here": str(project.path)}
    words = [word.format(**known) for word in SPELLINGS[era].split()]
    said = cli(*words, "--fingerprint", host.host_fingerprint())
    assert said.code == 0, said.out + said.err
    assert said.err == "warning: a password on the command line can be seen by others; leave it out to be asked\n"
    assert two_files(project, "my_dsvm") == {".compute", ".runconfig"}
    target = Project.find(str(project.path)).compute_target("my_dsvm")
    kind = next((kind for kind in ("cluster", "remote") if kind in words or f"--{kind}" in words), "remotedocker")
    assert (target.kind, target.address, target.username) == (kind, host.address, host.user)
    assert target.password is None
    config = Project.find(str(project.path)).run_config("my_dsvm")
    assert config.target == "my_dsvm" and config.prepare_environment
    assert config.framework == ("Python" if kind == "remote" else "PySpark")


def test_what_is_found_there_is_told(host, project, cli):
    host.install("nvidia-smi", "#!/bin/sh\nexit 9\n")
    host.without("docker")
    said = cli(*attach_words(host, "--password", host.password))
    assert said.code == 0, said.err
    lines = said.out.splitlines()
    assert lines[:2] == ["wrote aml_config/box.compute", "wrote aml_config/box.runconfig"]
    told = dict(line.split(": ", 1) for line in lines[2:])
    assert re.fullmatch(r"box1 \(linux x86_64\), Python 3\.\d+\.\d+", told["ok   machine"])
    assert told["note NVIDIA driver"] == "it is installed on this machine, and not loaded", "no GPU was asked for"
    assert told["     fix"].startswith("`sudo modprobe nvidia` there loads it")
    assert told["ok   docker"] == "not needed: this target runs no containers"
    assert told["ok   disk"].endswith(" free for /home/ada/.jig")
    assert cli("computetarget", "list", "-o", "json").json() == ["box", "local"]
    again = cli("computetarget", "check", "box")
    assert again.code == 0 and again.out.startswith(f"host key: {host.host_fingerprint()}\n")
    rest = [line for line in again.out.splitlines()[1:] if not line.startswith(("ok   disk: ", "ok   python: "))]
    known = [line for line in lines[2:] if not line.startswith("ok   disk: ")]
    assert rest == [*known[:-1], "ok   clock: as here", known[-1], "a GPU run would not work here: NVIDIA driver"]


# The password


def test_the_password_is_nowhere(host, project, cli, jig_home, client):
    """Looked for in every file here and there, and in the words and variables of every process while it logs in."""
    host.slow(delay_ms=10)
    seen, done = set(), threading.Event()
    secret = host.password.split('"')[1].encode()
    ours = {str(os.getpid())}

    def look() -> None:
        while not done.is_set():
            for name in set(os.listdir("/proc")) - ours:
                for part in ("cmdline", "environ") if name.isdigit() else ():
                    try:
                        data = Path("/proc", name, part).read_bytes()
                    except OSError:
                        continue
                    if secret in data:
                        seen.add((part, data))

    looking = threading.Thread(target=look)
    looking.start()
    try:
        said = spawn(*attach_words(host, "--password-stdin"), cwd=project.path, stdin=subprocess.PIPE)
        out, err = said.communicate(host.password.encode() + b"\n", timeout=60)
    finally:
        done.set()
        looking.join()
    assert said.returncode == 0, err
    assert seen == set()
    assert secret not in out + err
    assert [
        place for place, data in every_file(jig_home.parent, project.path, host.home).items() if secret in data
    ] == []
    assert "Accepted password for ada" in host.sshd_log()
    host.fast()
    assert cli("computetarget", "check", "box").code == 0
    assert host.sshd_log().count("Accepted password") == 1, "afterwards only the key is used"


def test_the_key_is_for_this_machine_alone(host, project, cli, jig_home):
    assert cli(*attach_words(host, "--password", host.password)).code == 0
    (folder,) = (jig_home / "machines").iterdir()
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / "key").stat().st_mode & 0o777 == 0o600
    (line,) = authorized(host)
    assert line == (folder / "key.pub").read_text().strip()
    assert line.split()[2].startswith(f"jig-ada@{host.address}-from-")
    assert (host.home / ".ssh").stat().st_mode & 0o777 == 0o700


def test_authorized_keys_without_a_last_newline(host, project, cli):
    host.authorize("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOther other@elsewhere")
    place = host.home / ".ssh/authorized_keys"
    place.write_text(place.read_text().rstrip("\n"))
    assert cli(*attach_words(host, "--password", host.password)).code == 0
    lines = place.read_text().splitlines()
    assert len(lines) == 2 and lines[0].endswith("other@elsewhere")


@pytest.mark.parametrize("pam", [False, True])
def test_a_wrong_password(host, project, cli, jig_home, client, pam):
    """With PAM the server asks in two ways: there is one answer, and the second question must not wait for ever."""
    host.configure(UsePAM=pam)
    said = call(*attach_words(host, "--password", "wr0ng"), cwd=project.path, timeout=20)
    assert said.code == 125 and "wr0ng" not in said.err
    assert f"error: ada@{host.address} refused the password: ada@{host.address}: Permission denied" in said.err
    assert all(way in said.err for way in ("to be asked", "--password-stdin", "--private-key-file", "-k makes one"))
    assert host.sshd_log().count("Failed keyboard-interactive" if pam else "Failed password") == 1, "it was tried again"
    assert_nothing_left(project, jig_home, client.sockets)


def test_a_machine_that_takes_no_passwords(host, project, cli, jig_home, client):
    host.configure(PasswordAuthentication=False, KbdInteractiveAuthentication=False)
    for given in (("--password", host.password), ()):
        said = cli(*attach_words(host, *given))
        assert said.code == 125 and "-k makes one" in said.err and "--password-stdin" not in said.err
    assert_nothing_left(project, jig_home, client.sockets)


def test_settings_that_would_keep_ssh_from_asking(host, project, cli, client):
    never = "BatchMode yes\n PasswordAuthentication no\n KbdInteractiveAuthentication no\n PubkeyAuthentication no"
    client.config(f"Host *\n {never}\n")
    assert cli(*attach_words(host, "--password", host.password)).code == 0


@pytest.mark.parametrize("given", [(), ("--password", "wr0ng"), ("--private-key-file", "nosuch")])
def test_attaching_again_needs_no_password(host, project, cli, given):
    """The key from before still works; it is tried first, and what was given besides is not used."""
    assert cli(*attach_words(host, "--password", host.password)).code == 0
    lines = authorized(host)
    said = cli(*attach_words(host, *given))
    assert said.code == 0, said.err
    what = {"--password": "password", "--private-key-file": "private key"}.get(given[0] if given else "")
    told = f"the key that jig made for ada@{host.address} still works: the {what} was not needed"
    assert said.out.splitlines()[: 2 if what else 1] == [
        *([told] if what else []),
        "attached box again; its files are as they were",
    ]
    assert authorized(host) == lines
    assert host.sshd_log().count("Accepted password") == 1 and "Failed password" not in host.sshd_log()


def test_attaching_again_where_the_key_was_removed(host, project, cli, jig_home):
    assert cli(*attach_words(host, "--password", host.password)).code == 0
    host.forget_keys()
    said = cli(*attach_words(host, "--password", host.password))
    assert said.code == 0 and "was not needed" not in said.out
    (folder,) = (jig_home / "machines").iterdir()
    assert authorized(host) == [(folder / "key.pub").read_text().strip()]


def test_attaching_again_with_a_key_that_is_damaged_here(host, project, cli, jig_home, key_pair):
    """A new one is made, and the line of the old one goes."""
    assert cli(*attach_words(host, "--password", host.password)).code == 0
    (folder,) = (jig_home / "machines").iterdir()
    (folder / "key").write_bytes(key_pair.read_bytes())
    before = authorized(host)
    assert cli(*attach_words(host, "--password", host.password)).code == 0
    (line,) = authorized(host)
    assert line == (folder / "key.pub").read_text().strip() and [line] != before


def test_a_password_by_pam(host, project, cli):
    host.configure(UsePAM=True)
    assert cli(*attach_words(host, "--password", host.password)).code == 0


def test_a_temporary_folder_where_nothing_may_run(host, project, cli, monkeypatch, tmp_path):
    place = tmp_path / "temporary"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "noexec", "tmpfs", place], check=True)
    try:
        monkeypatch.setattr("tempfile.tempdir", str(place))
        assert cli(*attach_words(host, "--password", host.password)).code == 0
    finally:
        subprocess.run(["umount", place], check=True)


def test_nobody_to_ask(host, project, jig_home, client):
    """No password, no key, no terminal: it says so and does not hang."""
    said = call(*attach_words(host), cwd=project.path, timeout=30, stdin=subprocess.DEVNULL)
    assert said.code == 125 and "box refused the login" in said.err and "hint: --password-stdin reads a" in said.err
    assert_nothing_left(project, jig_home, client.sockets)


# Keys


def test_a_key_to_install_by_hand(host, project, cli, jig_home):
    said = cli(*attach_words(host, "-k"))
    assert said.code == 0, said.err
    (line,) = [line for line in said.out.splitlines() if line.startswith("ssh-ed25519 ")]
    assert two_files(project) == {".compute", ".runconfig"}
    assert "Accepted" not in host.sshd_log()
    too_early = cli("computetarget", "check", "box")
    where = f"append this line to ~/.ssh/authorized_keys of ada on {host.address}:\n\n{line}\n"
    assert too_early.code == 125 and where in too_early.err
    project.write("a.py", "print('by hand')")
    assert where in cli("submit", "-c", "box", "a.py").err
    assert where in cli(*attach_words(host, "-k")).out, "the same key again"
    host.authorize(line)
    said = cli("computetarget", "check", "box")
    assert said.code == 0 and "machine: box1" in said.out
    project.write("a.py", "print('by hand')")
    assert "by hand\n" in cli("submit", "-c", "box", "a.py").out


@pytest.mark.parametrize("passphrase", ["", "open 'sesame\" $HOME"])
def test_a_private_key(host, project, cli, tmp_path, jig_home, passphrase):
    place = tmp_path / ("long " * 20) / "my 100% key"  # ssh shows the beginning of a long name when it asks
    place.parent.mkdir()
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-f", place], check=True)
    host.authorize(place.with_suffix(".pub").read_text())
    given = ("--private-key-passphrase", passphrase) if passphrase else ()
    said = cli(*attach_words(host, "--private-key-file", str(place), *given))
    assert said.code == 0, said.err
    place.unlink()
    assert cli("computetarget", "check", "box").code == 0, "the key of the person is not needed any more"
    if passphrase:
        assert not any(passphrase.encode() in data for data in every_file(jig_home, project.path).values())


@pytest.mark.parametrize("given", [(), ("--private-key-passphrase", "wrong")])
def test_a_private_key_that_cannot_be_opened(host, project, tmp_path, jig_home, client, given):
    place = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "right", "-f", place], check=True)
    host.authorize(place.with_suffix(".pub").read_text())
    said = call(*attach_words(host, "--private-key-file", str(place), *given), cwd=project.path, timeout=20)
    assert said.code == 125 and f"refused the key {place}: " in said.err and "--private-key-passphrase" in said.err
    assert "Failed password" not in host.sshd_log(), "the passphrase was tried as a password"
    assert_nothing_left(project, jig_home, client.sockets)


def test_the_agent(host, project, cli, client, key_pair, monkeypatch, tmp_path):
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", str(client.sockets / "agent")], stdout=subprocess.DEVNULL)
    try:
        until((client.sockets / "agent").exists)
        monkeypatch.setenv("SSH_AUTH_SOCK", str(client.sockets / "agent"))
        subprocess.run(["ssh-add", "-q", key_pair], check=True, capture_output=True)
        host.authorize(key_pair.with_suffix(".pub").read_text())
        assert cli(*attach_words(host)).code == 0
        assert cli("computetarget", "check", "box").code == 0
        assert len(authorized(host)) == 1, "no key of ours was needed"
    finally:
        agent.kill()
        agent.wait()


# The host key


def test_the_fingerprint_is_shown_and_not_taken_unasked(host, project, jig_home, client):
    words = ("computetarget", "attach", "remote", "-n", "box", "-a", host.address, "-u", "ada", "-w", host.password)
    said = call(*words, cwd=project.path, stdin=subprocess.DEVNULL)
    assert said.code == 2
    assert host.host_fingerprint() in said.err and "the host key was not accepted" in said.err
    assert "Accepted" not in host.sshd_log() and "Failed password" not in host.sshd_log()
    assert_nothing_left(project, jig_home, client.sockets)
    said = call(*words, "--accept-host-key", cwd=project.path, stdin=subprocess.DEVNULL)
    assert said.code == 0 and host.host_fingerprint() in said.out


def test_a_person_is_asked_once(host, project, jig_home):
    import pty

    ours, theirs = pty.openpty()
    words = ("computetarget", "attach", "remote", "-n", "box", "-a", host.address, "-u", "ada")
    attaching = spawn(*words, cwd=project.path, stdin=theirs, start_new_session=True)
    assert attaching.communicate(timeout=30)[1].decode().count("[y/N]") == 0, "stderr is a pipe: nobody to ask"
    import sys

    from tests.conftest import environ

    command = [sys.executable, "-m", "jig", *words]
    attaching = subprocess.Popen(
        command, cwd=project.path, stdin=theirs, stderr=theirs, stdout=subprocess.PIPE, env=environ(),
        preexec_fn=lambda: (os.setsid(), __import__("fcntl").ioctl(0, 0x540E, 0)),
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    for question, answer in ((b"[y/N] ", b"y\n"), (b"password on ", host.password.encode() + b"\n")):
        while question not in shown:
            shown += os.read(ours, 4096)
        os.write(ours, answer)
    out, _ = attaching.communicate(timeout=30)
    os.close(ours)
    assert attaching.returncode == 0
    assert host.host_fingerprint().encode() in shown and host.password.encode() not in shown
    assert out.startswith(b"wrote aml_config/box.compute\n")


def test_another_fingerprint_than_expected(host, project, cli, jig_home, client):
    wrong = "SHA256:" + "A" * 43
    words = [wrong if word == host.host_fingerprint() else word for word in attach_words(host, "-w", host.password)]
    said = cli(*words)
    assert said.code == 125 and wrong in said.err and host.host_fingerprint() in said.err
    assert "Failed password" not in host.sshd_log() and "Accepted" not in host.sshd_log()
    assert_nothing_left(project, jig_home, client.sockets)


def test_a_host_key_that_changed_later(box, host, project, cli, client):
    project.write("a.py", "print('hello')")
    before = host.host_fingerprint()
    client.hang_up()
    host.new_host_key()
    log = len(host.sshd_log())
    for words in (("submit", "-c", "box", "a.py"), ("computetarget", "check", "box"), ("history", "sync", "-c", "box")):
        said = cli(*words)
        assert said.code == 125, words
        assert before in said.err and host.host_fingerprint() in said.err and "between you and the machine" in said.err
    assert "Accepted" not in host.sshd_log()[log:]
    assert not box.runs.exists()
    assert cli("history", "list", "-o", "json").json() == []
    assert cli(*attach_words(host)).code == 0
    assert "hello\n" in cli("submit", "-c", "box", "a.py").out


def test_a_changed_host_key_is_not_taken_unasked(host, project, cli):
    """--accept-host-key is for the first time."""
    words = ("computetarget", "attach", "remote", "-n", "box", "-a", host.address, "-u", "ada", "--accept-host-key")
    assert cli(*words, "--password", host.password).code == 0
    before, log = host.host_fingerprint(), len(host.sshd_log())
    host.new_host_key()
    said = cli(*words, "--password", host.password)
    assert (
        said.code == 125 and before in said.err and host.host_fingerprint() in said.err and "--fingerprint" in said.err
    )
    assert "Accepted" not in host.sshd_log()[log:] and "Failed" not in host.sshd_log()[log:]
    assert cli(*attach_words(host)).code == 0


def test_a_host_key_of_another_type(box, host, project, cli, client):
    """The pinned type is gone: the other key is as unknown as any."""
    before = host.host_fingerprint()
    client.hang_up()
    host.configure(HostKey=["/etc/ssh/ssh_host_ecdsa_key"])
    said = cli("computetarget", "check", "box")
    assert said.code == 125 and before in said.err and "another host key" in said.err


# Names and roads


@pytest.mark.parametrize(
    "address", ["-oProxyCommand=touch /tmp/x", "a b", "box:0", "box:99999", "a/b", "eve@box", "a;b", "$(a)", ""]
)
def test_no_address(project, cli, jig_home, client, address):
    said = cli("computetarget", "attach", "remote", "-n", "box", f"--address={address}", "-u", "ada")
    assert said.code == 2, said.err
    assert client.calls() == []


def test_awkward_names_survive_the_file(project):
    from jig.project import ComputeTarget, write_target

    found = Project.find(str(project.path))
    for name, user, home in (("one", "CORP\\ursula", None), ("two", 'a"b', '/scratch/ada\'s "big" disk: #1')):
        write_target(found, ComputeTarget(name, "remote", "gpu1", user, jig_home=home))
        target = Project.find(str(project.path)).compute_target(name)
        assert (target.username, target.jig_home) == (user, home)


def test_a_port(host, project, cli, jig_home):
    host.configure(Port=[22, 2222])
    words = [f"{host.address}:2222" if word == host.address else word for word in attach_words(host)]
    assert cli(*words, "--password", host.password).code == 0
    project.write("a.py", "import os; print(os.environ['SSH_CONNECTION'].split()[3])")
    assert "2222\n" in cli("submit", "-c", "box", "a.py").out


def test_a_name_from_the_settings(host, project, cli, client):
    client.config(f"Host gpu\n HostName {host.address}\n Port 22\n")
    words = ["gpu" if word == host.address else word for word in attach_words(host)]
    assert cli(*words, "--password", host.password).code == 0
    assert Project.find(str(project.path)).compute_target("box").address == "gpu"
    assert cli("computetarget", "check", "box").code == 0


def test_settings_that_would_do_harm(host, project, cli, client, tmp_path):
    """What a person set for their own sessions does not count for ours."""
    client.config("Host *\n RemoteCommand tmux attach\n RequestTTY force\n ControlMaster auto\n ControlPath ~/.ssh/c\n"
                  " LocalForward 12345 localhost:80\n StrictHostKeyChecking no\n ForwardAgent yes\n")  # fmt: skip
    assert cli(*attach_words(host, "--password", host.password)).code == 0
    project.write("a.py", "print('went')")
    assert "went\n" in cli("submit", "-c", "box", "a.py").out


def test_behind_a_jump_host(jump, project, cli, client, key_pair):
    gate, inner = jump
    client.give_key(key_pair)
    gate.authorize(key_pair.with_suffix(".pub").read_text())
    (client.home / ".ssh/known_hosts").write_text(f"{gate.address} {gate.host_key()}\n")
    client.config(f"Host inner\n ProxyJump ada@{gate.address}\n")
    words = ["inner" if word == inner.address else word for word in attach_words(inner)]
    assert cli(*words, "--password", inner.password).code == 0
    project.write("a.py", "import socket; print(socket.gethostname())")
    assert "inner\n" in cli("submit", "-c", "box", "a.py").out


def test_a_jump_host_whose_key_is_not_known(jump, project, cli, client, key_pair, jig_home):
    """It is for the person's own ssh to know: now, and when it was known before."""
    gate, inner = jump
    client.give_key(key_pair)
    gate.authorize(key_pair.with_suffix(".pub").read_text())
    client.config(f"Host inner\n ProxyJump ada@{gate.address}\n")
    words = ["inner" if word == inner.address else word for word in attach_words(inner, "--password", inner.password)]
    said = cli(*words)
    assert said.code == 125 and f"the host key of jump host ada@{gate.address} is not known here" in said.err
    assert f"~/.ssh/known_hosts:  ssh ada@{gate.address}\n" in said.err
    assert_nothing_left(project, jig_home, client.sockets)
    (client.home / ".ssh/known_hosts").write_text(f"{gate.address} {gate.host_key()}\n")
    assert cli(*words).code == 0
    client.hang_up()
    (client.home / ".ssh/known_hosts").write_text("")
    said = cli("computetarget", "check", "box")
    assert said.code == 125 and f"~/.ssh/known_hosts:  ssh ada@{gate.address}\n" in said.err


def test_the_password_is_not_told_to_the_jump_host(jump, project, client):
    """The gate wants a password too: ours is for the machine behind it."""
    gate, inner = jump
    (client.home / ".ssh/known_hosts").write_text(f"{gate.address} {gate.host_key()}\n")
    client.config(f"Host inner\n ProxyJump ada@{gate.address}\n")
    words = ("computetarget", "attach", "remote", "-n", "box", "-a", "inner", "-u", "ada", "--accept-host-key")
    said = call(*words, "--password", inner.password, cwd=project.path, timeout=60)
    assert said.code == 125 and "Accepted" not in gate.sshd_log()
    assert ask_for(gate) == "", "the gate's question was answered"


def ask_for(gate) -> str:
    """What our askpass script says to a question of the gate's."""
    import subprocess

    from jig.machines.askpass import answering

    with answering("s3cret", "ada@jig-ada@inner") as environ:
        done = subprocess.run(
            [environ["SSH_ASKPASS"], f"ada@{gate.address}'s password: "], env=environ, capture_output=True
        )
        assert done.returncode == 1
        ours = subprocess.run(
            [environ["SSH_ASKPASS"], "ada@jig-ada@inner's password: "], env=environ, capture_output=True
        )
        assert ours.stdout == b"s3cret\n"
        assert subprocess.run([environ["SSH_ASKPASS"], "ada@jig-ada@inner's password: "], env=environ).returncode == 1
    return done.stdout.decode()
