"""`jig shell` on this machine: where a run is, or in a fresh place, at a real terminal."""

import os
import re
import signal
import subprocess
import sys
import threading
import time

import pytest

from jig.runner import hold
from jig.runner.folder import Home
from jig.system import lock
from tests.conftest import alive, call, spawn, until
from tests.listener import Listener
from tests.system_packages import need
from tests.terminal import Terminal, jig

SIX = "import importlib.metadata as m; print(m.version('six'))"
WAITS = "import os, time; print(os.environ['LR'], flush=True); time.sleep(600)"


def nap(number: int) -> str:
    """A command that can be told from all others on this machine."""
    return f"sleep {600 + number}.{os.getpid()}"


def goes_on(command: str) -> bool:
    """Whether it is there, and not stopped: then it has the terminal."""
    words = ["ps", "-o", "stat=", "-p", ",".join(pids(command)) or "0"]
    return subprocess.run(words, capture_output=True, text=True).stdout.startswith("S")


def pids(command: str) -> "list[str]":
    found = subprocess.run(["pgrep", "-xf", re.escape(command)], capture_output=True, text=True)
    return found.stdout.split()


@pytest.fixture(autouse=True)
def bash(monkeypatch):
    need("procps")
    monkeypatch.setenv("SHELL", "/bin/bash")


@pytest.fixture
def run_id(project, cli):
    """A run that is going."""
    project.runconfig(EnvironmentVariables={"LR": "0.1"})
    project.write("waits.py", WAITS)
    run_id = cli("submit", "-a", "-c", "local", "waits.py").run_id
    until(lambda: cli("logs", run_id).out == "0.1\n")
    return run_id


@pytest.fixture
def silent(managed, monkeypatch):
    """The environment wants a package from an index that never answers; the list says how often that was asked."""
    managed.write("aml_config/conda_dependencies.yml", "dependencies:\n  - pip:\n    - six\n")
    asked, end = [], threading.Event()
    listener = Listener(lambda request: (asked.append(request.path), end.wait()))
    monkeypatch.setenv("PIP_INDEX_URL", f"{listener.url}/simple")
    yield asked
    end.set()
    listener.close()


def state(cli, run_id) -> str:
    return cli("status", run_id, "-o", "json").json()["state"]


# A shell


def test_a_shell_where_a_run_is(run_id, jig_home):
    with jig("shell", "-r", run_id) as terminal:
        terminal.read_until(f"({run_id}) ")
        assert terminal.ask("pwd") == f"{jig_home}/runs/{run_id}/work\n"
        assert terminal.ask("echo $LR $JIG_PROJECT $JIG_SHELL [$JIG_RUN_ID$JIG_RUN_DIR]") == f"0.1 proj {run_id} []\n"
        assert terminal.ask("ls") == "aml_config  outputs  waits.py\n"
        terminal.type("exit 7\r")
        assert terminal.ends() == 7
        assert terminal.modes_are_as_before()


@pytest.mark.parametrize("words", [(), ("{}",), ("{:.12}",)])
def test_which_run(run_id, words):
    said = call("shell", *(word.format(run_id) for word in words), "--", "printenv", "JIG_SHELL")
    assert (said.code, said.out) == (0, f"{run_id}\n"), said.err


def test_what_the_shell_s_own_files_set_does_not_hide_the_environment(run_id, jig_home):
    own = jig_home.parent / "own/bin"
    own.mkdir(parents=True)
    (jig_home.parent / ".bashrc").write_text(f"PATH={own}:$PATH; LR=9; alias hello='echo from the alias'\n")
    with jig("shell", run_id) as terminal:
        assert terminal.ask("hello; echo $LR; command -v python") == f"from the alias\n0.1\n{sys.executable}\n"
        assert str(own) not in terminal.ask("echo $PATH")


@pytest.mark.parametrize(("shell", "found"), [("/bin/sh", "/bin/sh"), ("/no/such/shell", "/bin/bash")])
def test_the_person_s_shell(project, cli, monkeypatch, shell, found):
    monkeypatch.setenv("SHELL", shell)
    project.write("waits.py", "import time; time.sleep(600)")
    run_id = cli("submit", "-a", "-c", "local", "waits.py").run_id
    with jig("shell", run_id) as terminal:
        assert os.path.realpath(terminal.ask("readlink /proc/$$/exe").strip()) == os.path.realpath(found)
        terminal.type("exit 5\r")
        assert terminal.ends() == 5
        assert terminal.modes_are_as_before()


def test_the_terminal_is_the_person_s(run_id):
    with jig("shell", run_id, rows=30, columns=111) as terminal:
        assert terminal.ask("stty size") == "30 111\n"
        assert terminal.ask("printenv TERM") == "xterm\n"
        terminal.resize(33, 77)
        assert terminal.ask("stty size") == "33 77\n"


def test_ctrl_c_and_ctrl_z_are_for_what_runs_in_the_shell(run_id, cli):
    with jig("shell", run_id) as terminal:
        terminal.ask("true")
        terminal.type(f"{nap(0)}\r")
        until(lambda: alive(nap(0)))
        terminal.type("\x03")
        terminal.type("echo code $?\r")
        terminal.read_until("code 130\r\n")
        terminal.type(f"{nap(1)}\r")
        until(lambda: alive(nap(1)))
        terminal.type("\x1a")
        terminal.read_until("Stopped")
        terminal.type("fg\r")
        until(lambda: goes_on(nap(1)))
        terminal.type("\x03")
        terminal.type("echo code $?\r")
        terminal.read_until("code 130\r\n")
        assert terminal.ask("yes | head -1; echo ${PIPESTATUS[0]}") == "y\n141\n"
        terminal.type("exit 0\r")
        assert terminal.ends() == 0
    assert state(cli, run_id) == "Running"


def test_a_closed_window_ends_the_shell_and_not_the_run(run_id, cli):
    with jig("shell", run_id) as terminal:
        shell = terminal.ask("echo $$").strip()
        terminal.close()
        until(lambda: not os.path.exists(f"/proc/{shell}") and terminal.process.poll() is not None)
    assert state(cli, run_id) == "Running"


def test_a_shell_outlives_its_run(run_id, cli, jig_home):
    """A process of the person's own: neither a cancel nor the end of a lost run's leftovers touches it."""
    with jig("shell", run_id) as terminal:
        terminal.ask("true")
        assert cli("cancel", run_id).out == f"{run_id}: Canceled\n"
        assert terminal.ask("ls waits.py") == "waits.py\n"
        terminal.type("exit\r")
        assert terminal.ends() == 0
    other = cli("submit", "-a", "-c", "local", "waits.py").run_id
    until(lambda: state(cli, other) == "Running")
    with jig("shell", other) as terminal:
        terminal.ask("true")
        events = (jig_home / "runs" / other / "events.jsonl").read_text()
        os.kill(int(events.partition('"pid": ')[2].partition("}")[0].partition(",")[0]), signal.SIGKILL)
        until(lambda: state(cli, other) == "Lost")
        assert terminal.ask("echo still here") == "still here\n"


@pytest.fixture
def outer():
    """A person's own shell at a terminal, from which jig is started."""
    with Terminal("/bin/bash", "--norc", "-i") as terminal:
        terminal.ask("PS1='outer> '")
        yield terminal


def test_a_command_stops_and_goes_on_as_a_job(run_id, outer):
    outer.type(f"{sys.executable} -m jig shell {run_id} -- {nap(3)}\r")
    until(lambda: goes_on(nap(3)))
    outer.type("\x1a")
    outer.read_until("Stopped")
    assert outer.ask("echo outer again") == "outer again\n"
    outer.type("fg\r")
    until(lambda: goes_on(nap(3)))
    outer.type("\x03")
    outer.type("echo code $?\r")
    outer.read_until("code 130\r\n")


def test_a_shell_that_suspends_itself(run_id, outer):
    outer.type(f"{sys.executable} -m jig shell {run_id}\r")
    outer.read_until(f"({run_id}) ")
    outer.type("suspend\r")
    outer.read_until("Stopped")
    assert outer.ask("echo outer again $JIG_SHELL") == "outer again\n"
    outer.type("fg\r")
    assert outer.ask("echo $JIG_SHELL") == f"{run_id}\n"
    outer.type("exit 4\r")
    outer.read_until("outer> ")
    outer.type("echo code $?\r")
    outer.read_until("code 4\r\n")


def test_a_killed_shell_leaves_the_terminal_as_it_was(run_id):
    with jig("shell", run_id) as terminal:
        terminal.ask("true")
        terminal.type("stty raw -echo; kill -9 $$\r")
        assert terminal.ends() == 137
        assert terminal.modes_are_as_before()


# A command


def test_a_command(run_id, jig_home):
    words = ("sh", "-c", 'pwd; printf "%s|" "$@"; cat; exit 3', "sh", "a b", "'q\"", "é\n", "$HOME", "")
    with open(__file__) as file:
        said = call("shell", "-r", run_id, "--", *words, stdin=file)
        file.seek(0)
        mine = file.read()
    assert (said.code, said.err) == (3, "")
    assert said.out == f"{jig_home}/runs/{run_id}/work\na b|'q\"|é\n|$HOME||{mine}"


@pytest.mark.parametrize(
    ("words", "code", "err"),
    [
        (("sh", "-c", "kill -TERM $$"), 143, ""),
        (("no-such-program",), 127, "jig: no-such-program: No such file or directory\n"),
        (("./waits.py",), 126, "jig: ./waits.py: Permission denied\n"),
        (("sh", "-c", "exit 255"), 255, ""),
        (("sh", "-c", "tty; exit 1"), 1, ""),
    ],
)
def test_how_a_command_ends(run_id, words, code, err):
    said = call("shell", run_id, "--", *words, stdin=subprocess.DEVNULL)
    assert (said.code, said.err) == (code, err)
    assert said.out == ("not a tty\n" if "tty" in words[-1] else "")


def test_a_command_has_the_terminal_when_there_is_one(run_id):
    with jig("shell", run_id, "--", "tty") as terminal:
        assert terminal.ends() == 0
        assert terminal.seen.startswith("/dev/pts/")


# Refusals that teach


def test_a_run_that_has_ended(project, cli):
    project.write("a.py", "pass")
    run_id = cli("submit", "-c", "local", "a.py").run_id
    said = cli("shell", "-r", run_id, "--", "true")
    assert said.code == 125
    assert said.err == (
        f"error: the run {run_id} has ended (completed)\n\nhint: what it left:  jig history info -r {run_id}\n"
        "a fresh place like it:  jig shell -c local\n"
    )


def test_a_run_that_has_not_begun(managed, silent, cli):
    managed.write("a.py", "pass")
    run_id = cli("submit", "-a", "-c", "local", "a.py").run_id
    until(lambda: silent)
    said = cli("shell", "--", "true")
    assert cli("cancel", run_id).code == 0
    assert said.code == 125
    assert said.err == (
        f"error: the run {run_id} has not begun: it is preparing\n\nhint: see it begin:  jig logs -f {run_id}\n"
    )


def test_mistakes(project, cli, run_id):
    said = cli("shell", "-r", run_id)
    assert said.code == 2 and said.err.startswith("error: a shell needs a terminal, and stdin or stdout is none\n")
    assert cli("shell", "-r", run_id, "-c", "local", "--", "true").code == 2
    assert "needs -c" in cli("shell", "-t", "local", "--", "true").err
    said = cli("shell", run_id, "ls")
    assert said.code == 2 and "COMMAND stands behind --" in said.err
    assert cli("shell", "-c", "lokal", "--", "true").code == 2
    assert cli("cancel", run_id).code == 0
    said = cli("shell", "--", "true")
    assert said.code == 125 and said.err.startswith("error: no run is going\n\nhint: a fresh place")
    assert cli("shell", "nobody_1", "--", "true").code == 125


# A fresh place


def nothing_is_left(jig_home) -> bool:
    until(lambda: not alive(str(jig_home)), what="the supervisor's end")
    return os.listdir(jig_home / "runs") == []


def test_a_fresh_place(project, cli, jig_home):
    project.runconfig(EnvironmentVariables={"LR": "0.1"})
    project.write("part.py", "text = 'of the project'")
    with jig("shell", "-c", "local") as terminal:
        assert terminal.ask("python -c 'import part; print(part.text)'; echo $LR") == "of the project\n0.1\n"
        assert terminal.ask("python -c 'import jig; jig.log(x=1)'").startswith(
            "jig: not in a run, metrics are not kept"
        )
        terminal.ask(f"(setsid {nap(4)} &); touch part.py new")
        until(lambda: alive(nap(4)))
        terminal.type("exit 9\r")
        assert terminal.ends() == 9
        assert terminal.modes_are_as_before()
    assert nothing_is_left(jig_home) and not alive(nap(4))
    assert cli("history", "list", "-o", "json").json() == []
    assert sorted(os.listdir(project.path)) == ["aml_config", "part.py"]


def test_a_run_that_is_submitted_from_a_fresh_place_stays(project, cli, jig_home):
    project.write("waits.py", "import time; time.sleep(600)")
    words = (sys.executable, "-m", "jig", "submit", "-a", "-c", "local", "waits.py")
    said = call("shell", "-c", "local", "--", *words)
    assert said.code == 0
    assert os.listdir(jig_home / "runs") == [said.run_id] and state(cli, said.run_id) == "Running"
    assert cli("history", "info", said.run_id).json()["parent_run_id"] is None


def test_a_command_in_a_fresh_place(managed, index, jig_home):
    managed.write("aml_config/conda_dependencies.yml", "dependencies:\n  - pip:\n    - six==1.15\n")
    said = call("shell", "-c", "local", "--", "python", "-c", f"{SIX}; exit(2)")
    assert (said.code, said.out) == (2, "1.15\n")
    assert "jig: environment ready" in said.err
    assert nothing_is_left(jig_home)


def test_a_fresh_place_that_cannot_be_made(managed, index, jig_home):
    managed.write("aml_config/conda_dependencies.yml", "dependencies:\n  - pip:\n    - six==9\n")
    said = call("shell", "-c", "local", "--", "true")
    assert said.code == 125 and "error: there is no place for a shell: the environment" in said.err
    assert said.err.endswith("\nhint: more of it:  jig experiment prepare -c local\n")
    assert nothing_is_left(jig_home)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupted_while_it_is_made(silent, jig_home, number):
    process = spawn("shell", "-c", "local", "--", "true")
    until(lambda: silent)
    process.send_signal(number)
    process.communicate(timeout=20)
    assert process.returncode == 128 + number
    assert nothing_is_left(jig_home)


@pytest.mark.parametrize("how", ["closed", "killed"])
def test_a_fresh_place_ends_with_its_client(project, jig_home, how):
    with jig("shell", "-c", "local") as terminal:
        terminal.ask(f"{nap(5)} & true")
        until(lambda: alive(nap(5)))
        (run_id,) = os.listdir(jig_home / "runs")
        if how == "killed":
            terminal.process.kill()
        terminal.close()
        until(lambda: not alive(nap(5)))
        until(lambda: "canceled" in _events(jig_home, run_id), what="the end of the place")


def _events(jig_home, run_id) -> str:
    try:
        return (jig_home / "runs" / run_id / "events.jsonl").read_text()
    except FileNotFoundError:
        return "canceled, and removed"


def test_a_place_waits_a_minute_for_its_first_shell(tmp_path, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    home = Home(str(tmp_path))
    folder = home.run("a_1")
    os.makedirs(folder.path)
    held = hold.Hold(home, folder)
    now[0] += 59
    held.look()
    inside = hold.enter(home, folder)
    now[0] += 600
    held.look()
    assert inside is not None and not os.path.exists(folder.stop)
    also = hold.enter(home, folder)
    os.close(inside)
    held.look()
    assert also is not None and not os.path.exists(folder.stop)
    os.close(also)
    held.look()
    now[0] += hold.LEFT_S - 1
    held.look()
    assert not os.path.exists(folder.stop), "a script that ends by itself is not canceled"
    now[0] += 2
    held.look()
    with open(folder.stop) as file:
        assert file.read() == "0"
    held.close()
    assert hold.enter(home, folder) is None
    os.unlink(folder.stop)
    held = hold.Hold(home, folder)
    now[0] += 1
    held.look()
    assert not os.path.exists(folder.stop)
    now[0] += 60
    held.look()
    assert os.path.exists(folder.stop), "nobody came"
    descriptor = os.open(hold.place(home, folder), os.O_RDWR)
    assert lock(descriptor, wait=False), "looking leaves the lock free"
    os.close(descriptor)
