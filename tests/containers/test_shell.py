"""`jig shell` in a run's container, here and over SSH, and in a fresh container."""

import os
import signal
import subprocess
import time

import pytest

from tests.conftest import call, spawn, until
from tests.terminal import jig

WAITS = "import time; print('begun', flush=True); time.sleep(600)"


@pytest.fixture
def run_id(docker, cli):
    """A run that is going in a container."""
    docker.runconfig("docker", EnvironmentVariables={"LR": "0.1"})
    docker.write("waits.py", WAITS)
    run_id = cli("submit", "-a", "-c", "docker", "waits.py").run_id
    until(lambda: cli("logs", run_id).out == "begun\n")
    return run_id


def inside(docker, run_id) -> str:
    """The processes of the container."""
    return docker.engine.docker("top", f"jig-{run_id}", "-eo", "pid,args")


def test_a_shell_in_the_container(docker, run_id, cli):
    with jig("shell", "-r", run_id, rows=31, columns=99) as terminal:
        terminal.read_until(f"({run_id}) ")
        assert terminal.ask("pwd; ls; tr '\\0' ' ' < /proc/1/cmdline | cut -d' ' -f6; echo") == (
            "/azureml-run\naml_config  outputs  waits.py\n/jig/pack/script/jig_init.py\n\n"
        )
        assert terminal.ask("id -u; echo $LR $JIG_SHELL [$JIG_RUN_ID] $TERM") == f"0\n0.1 {run_id} [] xterm\n"
        until(lambda: terminal.ask("stty size") == "31 99\n")
        terminal.resize(32, 66)
        until(lambda: terminal.ask("stty size") == "32 66\n")
        terminal.type("sleep 600\r")
        until(lambda: "sleep 600" in inside(docker, run_id))
        terminal.type("\x03")
        terminal.type("echo code $?\r")
        terminal.read_until("code 130\r\n")
        terminal.type("exit 7\r")
        assert terminal.ends() == 7
        assert terminal.modes_are_as_before()
    assert "--rcfile" not in inside(docker, run_id)


def test_a_command(docker, run_id):
    words = (
        "sh",
        "-c",
        'pwd; printf "%s|" "$@"; cat; tty; echo problem >&2; exit 3',
        "sh",
        "a b",
        "'q\"",
        "é\n",
        "$HOME",
    )
    process = spawn("shell", run_id, "--", *words, stdin=subprocess.PIPE)
    out, err = process.communicate(b"\x00\xff\r\n" * 10_000, timeout=30)
    assert process.returncode == 3
    assert out == "/azureml-run\na b|'q\"|é\n|$HOME|".encode() + b"\x00\xff\r\n" * 10_000 + b"not a tty\n"
    assert err == b"problem\n"


def test_the_shell_ends_with_the_container(docker, run_id, cli):
    with jig("shell", run_id) as terminal:
        terminal.ask("true")
        began = time.monotonic()
        assert cli("cancel", run_id, "--grace", "30").code == 0
        assert time.monotonic() - began < 15, "the shell was not waited for"
        assert terminal.ends() == 129
        assert f"jig: the run {run_id} ends, and its container with it\r\n" in terminal.seen
        assert terminal.modes_are_as_before()


def test_the_shell_ends_with_the_script(docker, cli):
    docker.write("waits.py", "import os, time\nwhile not os.path.exists('go'): time.sleep(0.05)")
    run_id = cli("submit", "-a", "-c", "docker", "waits.py").run_id
    until(lambda: cli("status", run_id, "-o", "json").json()["state"] == "Running")
    with jig("shell", run_id) as terminal:
        terminal.ask("true")
        terminal.type("touch go\r")
        assert terminal.ends() == 137
        assert f"jig: the run {run_id} ends, and its container with it\r\n" in terminal.seen
        assert terminal.modes_are_as_before()
    assert cli("status", run_id, "-o", "json").json()["state"] == "Completed"


@pytest.mark.parametrize("words", [(), ("--", "sleep", "601")])
def test_a_closed_window_hangs_up_inside(docker, run_id, cli, words):
    with jig("shell", run_id, *words) as terminal:
        until(lambda: "sleep 601" in inside(docker, run_id) if words else "--rcfile" in inside(docker, run_id))
        terminal.close()
        until(lambda: terminal.process.poll() is not None)
    until(lambda: "--rcfile" not in inside(docker, run_id) and "sleep 601" not in inside(docker, run_id))
    assert cli("status", run_id, "-o", "json").json()["state"] == "Running"


def test_refusals(docker, run_id, cli, monkeypatch, make_engine):
    docker.engine.docker("pause", f"jig-{run_id}")
    said = cli("shell", run_id, "--", "true")
    assert said.code == 125
    assert said.err == f"error: the container jig-{run_id} is paused\n\nhint: docker unpause jig-{run_id}\n"
    docker.engine.docker("unpause", f"jig-{run_id}")
    with monkeypatch.context() as patch:
        patch.setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
        said = cli("shell", run_id, "--", "true")
        assert said.code == 125 and said.err.startswith("error: ") and "hint: " in said.err
    docker.engine.docker("kill", f"jig-{run_id}")
    until(lambda: cli("status", run_id, "-o", "json").json()["state"] == "Failed")
    assert f"error: the run {run_id} has ended (failed)\n" in cli("shell", run_id, "--", "true").err


def test_a_fresh_container(docker, cli, jig_home):
    docker.write("part.py", "text = 'of the project'")
    with jig("shell", "-c", "docker") as terminal:
        assert terminal.ask("pwd; python3 -c 'import part; print(part.text)'") == "/azureml-run\nof the project\n"
        terminal.ask("(setsid sleep 602 &)")
        terminal.type("exit 9\r")
        assert terminal.ends() == 9
    assert docker.containers() == [] and os.listdir(jig_home / "runs") == []
    assert cli("history", "list", "-o", "json").json() == []


def test_nothing_is_mounted(docker, jig_home):
    docker.target(sharedVolumes=False)
    docker.write("part.py", "text = 'copied'")
    said = call(
        "shell", "-c", "docker", "--", "python3", "-c", "import part; print(part.text)", stdin=subprocess.DEVNULL
    )
    assert (said.code, said.out) == (0, "copied\n"), said.err
    assert docker.containers() == [] and os.listdir(jig_home / "runs") == []


@pytest.mark.parametrize("how", ["closed", "killed"])
def test_a_fresh_container_ends_with_its_client(docker, jig_home, how):
    with jig("shell", "-c", "docker") as terminal:
        terminal.ask("true")
        if how == "killed":
            terminal.process.send_signal(signal.SIGKILL)
        terminal.close()
        until(lambda: docker.containers() == [])
