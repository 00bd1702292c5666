"""`jig shell` over SSH: the terminal here is the one there, and nothing stays when the connection goes."""

import os
import signal
import subprocess
import time

import pytest

from tests.conftest import call, spawn, until
from tests.ssh.conftest import attach_words
from tests.terminal import jig


@pytest.fixture
def run_id(box, project, cli):
    """A run that is going on the box."""
    project.runconfig("box", EnvironmentVariables={"LR": "0.1"})
    project.write("waits.py", "import time; print('begun', flush=True); time.sleep(600)")
    run_id = box.start("waits.py")
    until(lambda: cli("logs", run_id).out == "begun\n")
    return run_id


def running(host, words: str) -> bool:
    return any(words in line for line in host.processes())


def test_a_shell_where_a_run_is(box, run_id, client):
    logins = box.host.sshd_log().count("Accepted publickey")
    with jig("shell", "-r", run_id, rows=31, columns=99) as terminal:
        terminal.read_until(f"({run_id}) ")
        assert terminal.ask("hostname; pwd") == f"box1\n/home/ada/.jig/runs/{run_id}/work\n"
        assert terminal.ask("echo $LR $JIG_SHELL [$JIG_RUN_ID] $TERM") == f"0.1 {run_id} [] xterm\n"
        assert terminal.ask("stty size") == "31 99\n"
        terminal.resize(32, 66)
        until(lambda: terminal.ask("stty size") == "32 66\n")
        terminal.type("sleep 600\r")
        until(lambda: running(box.host, "sleep 600"))
        terminal.type("\x03")
        terminal.type("echo code $?\r")
        terminal.read_until("code 130\r\n")
        terminal.type("sleep 601\r")
        until(lambda: running(box.host, "sleep 601"))
        terminal.type("\x1a")
        terminal.read_until("Stopped")
        terminal.type("kill %1; exit 7\r")
        terminal.type("exit 7\r")
        assert terminal.ends() == 7
        assert terminal.modes_are_as_before()
    assert box.host.sshd_log().count("Accepted publickey") == logins, "no new connection was opened"


@pytest.mark.parametrize("shell", ["/bin/sh", "/usr/bin/tcsh", "/usr/bin/fish"])
def test_other_login_shells(box, project, cli, shell):
    """They read the command that starts the shell, and are it."""
    box.host.shell(shell)
    project.write("waits.py", "import time; time.sleep(600)")
    run_id = box.start("waits.py")
    until(lambda: cli("status", run_id, "-o", "json").json()["state"] == "Running")
    said = call("shell", run_id, "--", "sh", "-c", "echo $SHELL; exit 4", stdin=subprocess.DEVNULL)
    assert (said.code, said.out) == (4, f"{shell}\n"), said.err
    with jig("shell", run_id):  # tcsh puts a dash in the place of the first letter of its name
        until(lambda: any(line.partition(" ")[0][1:] == shell[1:] for line in box.host.processes()))


def test_a_command(box, run_id):
    words = (
        "sh",
        "-c",
        'hostname; printf "%s|" "$@"; cat; tty; echo problem >&2; exit 3',
        "sh",
        "a b",
        "'q\"",
        "é\n",
        "$HOME",
        "",
    )
    process = spawn("shell", "-r", run_id, "--", *words, stdin=subprocess.PIPE)
    out, err = process.communicate(b"\x00\xff\r\n" * 100_000, timeout=30)
    assert process.returncode == 3
    assert out == "box1\na b|'q\"|é\n|$HOME||".encode() + b"\x00\xff\r\n" * 100_000 + b"not a tty\n"
    assert err == b"problem\n"


@pytest.mark.parametrize(("words", "code"), [("exit 255", 255), ("kill -9 $$", 137)])
def test_how_a_command_ends(box, run_id, words, code):
    said = call("shell", run_id, "--", "sh", "-c", words, stdin=subprocess.DEVNULL)
    assert (said.code, said.out, said.err) == (code, "", "")


def test_ctrl_c_ends_a_command_there(box, run_id):
    process = spawn("shell", run_id, "--", "sleep", "602", stdin=subprocess.DEVNULL, start_new_session=True)
    until(lambda: running(box.host, "sleep 602"))
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=20)
    assert process.returncode == 130
    until(lambda: not running(box.host, "sleep 602"))


@pytest.mark.parametrize("at", ["terminal", "pipe"])
def test_a_killed_client_leaves_nothing_there(box, run_id, cli, at):
    if at == "terminal":
        terminal = jig("shell", run_id, "--", "sleep", "603")
        process = terminal.process
    else:
        process = spawn("shell", run_id, "--", "sleep", "603", stdin=subprocess.DEVNULL, start_new_session=True)
    until(lambda: running(box.host, "sleep 603"))
    os.killpg(process.pid, signal.SIGKILL)
    until(lambda: not running(box.host, "sleep 603"))
    if at == "terminal":
        with terminal:
            pass
    else:
        process.communicate()
    assert cli("status", run_id, "-o", "json").json()["state"] == "Running"


def test_a_connection_that_breaks(box, run_id, cli, client):
    client.hang_up()
    client.impatient()
    with jig("shell", run_id) as terminal:
        terminal.ask("true")
        box.host.cut()
        assert terminal.ends(30) == 125
        assert "error: the connection to box broke" in terminal.seen
        assert f"hint: come back with  jig shell -r {run_id}\r\n" in terminal.seen
        assert terminal.modes_are_as_before()
    said = cli("shell", run_id, "--", "true")
    assert said.code == 125 and said.err.startswith("error: box cannot be reached: ")
    box.host.mend()
    assert cli("shell", run_id, "--", "true").code == 0


def test_the_server_is_killed(box, run_id):
    with jig("shell", run_id) as terminal:
        terminal.ask("true")
        box.host.kill_sshd()
        assert terminal.ends(30) == 125
        assert "error: the connection to box broke" in terminal.seen
    until(lambda: not running(box.host, "jig_shell") and not running(box.host, "--rcfile"))


def test_refusals(box, run_id, cli):
    assert cli("cancel", run_id).code == 0
    said = cli("shell", run_id, "--", "true")
    assert (said.code, said.err.partition("\n")[0]) == (125, f"error: the run {run_id} has ended (canceled)")
    box.host.stop_sshd()
    box.host.kill_sshd()
    said = cli("shell", "-c", "box", "--", "true")
    assert said.code == 125 and said.err.startswith("error: box cannot be reached: ")


# A fresh place


def nothing_is_left(box, jig_home) -> bool:
    there = os.listdir(box.runs) if box.runs.exists() else []
    return there == [] and not running(box.host, "jig shell") and list(jig_home.glob("mirror/*/*")) == []


def test_a_fresh_place(box, project, cli, jig_home):
    project.write("part.py", "text = 'of the project'")
    with jig("shell", "-c", "box") as terminal:
        assert terminal.ask("hostname; python3 -c 'import part; print(part.text)'") == "box1\nof the project\n"
        terminal.ask("(setsid sleep 604 &)")
        until(lambda: running(box.host, "sleep 604"))
        terminal.type("exit 9\r")
        assert terminal.ends() == 9
        assert terminal.modes_are_as_before()
    assert nothing_is_left(box, jig_home) and not running(box.host, "sleep 604")
    assert cli("history", "list", "-o", "json").json() == []
    said = call("shell", "-c", "box", "--", "cat", "part.py", stdin=subprocess.DEVNULL)
    assert (said.code, said.out, said.err) == (0, "text = 'of the project'", "")
    assert nothing_is_left(box, jig_home)


def test_a_fresh_place_ends_when_the_connection_breaks(box, project, jig_home, client):
    client.hang_up()
    client.impatient()
    box.host.configure(ClientAliveInterval=1, ClientAliveCountMax=1)
    with jig("shell", "-c", "box") as terminal:
        terminal.ask("sleep 605 & true")
        box.host.cut()
        assert terminal.ends(30) == 125
        assert "hint: what was opened there ends by itself\r\n" in terminal.seen
    until(lambda: not running(box.host, "sleep 605") and not running(box.host, "# jig shell"))
    assert list(jig_home.glob("mirror/*/*")) == []
    box.host.mend()


# In a container there


@pytest.mark.parametrize("way", ["docker", "sudo"])
def test_in_a_container_there(docker_box, project, cli, jig_home, way):
    if way == "sudo":
        docker_box.only_by_sudo()
    host = docker_box.host
    words = attach_words(host, "--password", host.password, "--image", "jig-test/python:1", kind="remotedocker")
    assert cli(*words).code == 0
    compute = project.path / "aml_config/box.compute"
    compute.write_text(compute.read_text() + "userManagedEnvironment: true\n")
    project.runconfig("box")
    project.write("part.py", "text = 'of the project'")
    with jig("shell", "-c", "box", rows=31, columns=99) as terminal:
        assert terminal.ask("pwd; whoami; cat part.py; echo") == "/azureml-run\nada\ntext = 'of the project'\n"
        until(lambda: terminal.ask("stty size") == "31 99\n")
        terminal.type("exit 9\r")
        assert terminal.ends() == 9
        assert terminal.modes_are_as_before()
    assert docker_box.engine.docker("ps", "-aq") == "" and list(jig_home.glob("mirror/*/*")) == []
    project.write("waits.py", "import time; time.sleep(600)")
    run_id = cli("submit", "-a", "-c", "box", "waits.py").run_id
    until(lambda: cli("status", run_id, "-o", "json").json()["state"] == "Running")
    with jig("shell", run_id) as terminal:
        terminal.ask("true")
        began = time.monotonic()
        assert cli("cancel", run_id, "--grace", "30").out == f"{run_id}: Canceled\n"
        assert time.monotonic() - began < 15, "the shell was not waited for"
        assert terminal.ends() == 129
    with jig("shell", "-c", "box") as terminal:
        terminal.ask("true")
        host.kill_sshd()
        assert terminal.ends(30) == 125
    until(lambda: docker_box.engine.docker("ps", "-aq") == "")
