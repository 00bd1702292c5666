"""The endpoint of real runs: there from the first line to the last, and for no one else."""

import os
import signal
import sys
import time

import pytest

from jig.runner.folder import Home, RunFolder
from jig.system import carriers, command_line
from tests.conftest import SOURCE, alive, until
from tests.faults.test_run_killed import processes
from tests.mlflow.speaking import LOG, LOGGED, PRINTED, SPEAK, logged

SERVER = "jig_mlflow/__main__.py"
SHOW = """
import os
for name in sorted(os.environ):
    if "MLFLOW" in name or "PROXY" in name.upper():
        print(name, os.environ[name], flush=True)
"""
WAIT = SPEAK + "create()\nprint('begun', flush=True)\ntime.sleep(60)\n"


def folder_of(jig_home, run_id: str) -> RunFolder:
    return Home(str(jig_home)).run(run_id)


def read(path: str) -> str:
    with open(path) as file:
        return file.read()


def servers(run_id: str) -> "list[str]":
    return [words for words in alive(SERVER) if run_id in words]


@pytest.fixture
def going(project, cli, jig_home):
    """A detached run whose script has logged something and waits; its id and folder."""
    project.write("wait.py", WAIT)
    run_id = cli("submit", "-a", "-c", "local", "wait.py").run_id
    folder = folder_of(jig_home, run_id)
    until(lambda: os.path.exists(folder.log) and read(folder.log) == "begun\n", what="the script's line")
    return run_id, folder


def test_a_script_logs_into_its_run(project, cli, jig_home):
    project.write("log.py", LOG)
    said = cli("submit", "-c", "local", "log.py")
    assert said.code == 0 and PRINTED in said.out, said.out + said.err
    folder = folder_of(jig_home, said.run_id)
    assert logged(read(folder.metrics)) == LOGGED
    assert read(os.path.join(folder.outputs, "model.txt")) == "weights"
    assert read(folder.supervisor_log) == ""
    assert servers(said.run_id) == []


def test_nothing_is_started_for_a_script_that_does_not_log(project, cli):
    project.write("a.py", "import time; print('begun', flush=True); time.sleep(60)")
    run_id = cli("submit", "-a", "-c", "local", "a.py").run_id
    until(lambda: cli("logs", run_id).out == "begun\n")
    assert servers(run_id) == []


def test_what_the_script_is_told(project, cli, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://proxy.invalid:1")
    project.write("show.py", SHOW)
    lines = cli("submit", "-c", "local", "show.py").out.splitlines()[3:]
    told = dict(line.split(" ", 1) for line in lines[: lines.index("")])
    assert told["MLFLOW_TRACKING_URI"] == told["JIG_MLFLOW"]
    assert told["MLFLOW_TRACKING_URI"].startswith("http://127.0.0.1:")
    assert told["MLFLOW_TRACKING_TOKEN"].startswith("jig-") and len(told["MLFLOW_TRACKING_TOKEN"]) == 36
    assert told["no_proxy"] == told["NO_PROXY"] == "127.0.0.1"


@pytest.mark.parametrize("way", ["machine", "runconfig", "client"])
def test_an_address_of_the_users_own_is_left_alone(project, cli, monkeypatch, way):
    monkeypatch.setenv("http_proxy", "http://proxy.invalid:1")
    address = "https://mlflow.example"
    if way == "runconfig":
        project.runconfig(EnvironmentVariables={"MLFLOW_TRACKING_URI": address})
    else:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    if way == "client":
        project.runconfig(EnvironmentVariables={"MLFLOW_TRACKING_URI": {"fromClient": True}})
    project.write("show.py", SHOW)
    said = cli("submit", "-c", "local", "show.py")
    assert f"\nMLFLOW_TRACKING_URI {address}\nhttp_proxy http://proxy.invalid:1\n\n" in said.out


def test_a_run_that_is_submitted_from_within_logs_into_itself(project, cli, jig_home):
    project.write("inner.py", LOG)
    project.write(
        "outer.py",
        SPEAK + "create()\nimport subprocess, sys\n"
        f"subprocess.check_call([{sys.executable!r}, '-m', 'jig', 'submit', '-c', 'local', 'inner.py'], "
        f"cwd={str(project.path)!r}, env=dict(os.environ, PYTHONPATH={str(SOURCE)!r}))\n"
        "post('runs/log-metric', run_id=os.environ['JIG_RUN_ID'], key='mine', value=1, timestamp=1)\n",
    )
    said = cli("submit", "-c", "local", "outer.py")
    assert said.code == 0 and PRINTED in said.out, said.out + said.err
    assert logged(read(folder_of(jig_home, said.run_id).metrics)) == [{"step": 0, "values": {"mine": 1.0}}]


def test_a_cancelled_script_still_logs_on_its_way_out(project, cli, jig_home):
    project.write(
        "a.py",
        SPEAK + "import signal, sys\nown = create()['run_id']\n"
        "def end(*_):\n    time.sleep(0.3)\n    post('runs/log-metric', run_id=own, key='last', value=1, timestamp=1)\n"
        "    sys.exit(0)\nsignal.signal(signal.SIGTERM, end)\nprint('begun', flush=True)\ntime.sleep(60)\n",
    )
    run_id = cli("submit", "-a", "-c", "local", "a.py").run_id
    until(lambda: cli("logs", run_id).out == "begun\n")
    assert cli("cancel", run_id).out == f"{run_id}: Canceled\n"
    assert logged(read(folder_of(jig_home, run_id).metrics)) == [{"step": 0, "values": {"last": 1.0}}]
    assert servers(run_id) == []


def test_the_end_of_a_run_does_not_wait_for_it(project, cli, jig_home):
    project.write("log.py", LOG + "print(time.time(), flush=True)\nimport socket\n"
                                  "port = int(os.environ['MLFLOW_TRACKING_URI'].rpartition(':')[2])\n"
                                  "left_open = socket.create_connection(('127.0.0.1', port))\nos._exit(0)")  # fmt: skip
    said = cli("submit", "-c", "local", "log.py")
    ended = cli("history", "info", "-r", said.run_id, "-o", "json").json()
    assert ended["status"] == "Completed"
    printed = float(read(folder_of(jig_home, said.run_id).log).split()[-1])
    last = os.stat(folder_of(jig_home, said.run_id).events).st_mtime
    assert last - printed < 0.5, "a second would be the grace of what a script leaves running"


def test_it_is_the_scripts_own_process_that_a_shell_enters(going, cli):
    run_id, _ = going
    assert len(servers(run_id)) == 1
    (pid,) = [pid for pid in carriers("JIG_RUN_ID", run_id) if SERVER in " ".join(command_line(pid))]
    assert os.getsid(pid) == pid
    said = cli("shell", run_id, "--", sys.executable, "-c", SHOW + "print('entered')")
    assert (said.code, said.out) == (0, "entered\n"), said.err


@pytest.mark.parametrize("killed", ["supervisor", "guard", "both"])
def test_killed(going, killed):
    run_id, _ = going
    supervisor, guard = processes(run_id)
    assert len(servers(run_id)) == 1
    for pid in {"supervisor": (supervisor,), "guard": (guard,), "both": (supervisor, guard)}[killed]:
        os.kill(pid, signal.SIGKILL)
    until(lambda: servers(run_id) == [], timeout=3, what="the end of the one that serves")


def test_the_one_that_serves_killed(project, cli, jig_home):
    """The next call finds another one, and nothing that was logged is gone."""
    project.write(
        "a.py",
        SPEAK + "own = create()['run_id']\npost('runs/log-metric', run_id=own, key='a', value=1, timestamp=1)\n"
        "print('begun', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.01)\n"
        "post('runs/log-metric', run_id=own, key='a', value=2, timestamp=2)\nprint(create()['run_id'] == own + '-1')\n",
    )
    run_id = cli("submit", "-a", "-c", "local", "a.py").run_id
    folder = folder_of(jig_home, run_id)
    until(lambda: cli("logs", run_id).out == "begun\n")
    (pid,) = [pid for pid in carriers("JIG_RUN_ID", run_id) if SERVER in " ".join(command_line(pid))]
    os.kill(pid, signal.SIGKILL)
    until(lambda: servers(run_id) == [])
    time.sleep(0.1)
    open(os.path.join(folder.work, "go"), "w").close()
    until(lambda: cli("status", run_id, "-o", "json").json()["state"] == "Completed")
    assert cli("logs", run_id).out == "begun\nTrue\n"
    assert [line["values"]["a"] for line in logged(read(folder.metrics))] == [1.0, 2.0]


def test_the_token_is_in_no_file_of_the_run(going, jig_home):
    run_id, _ = going
    script = min(carriers("JIG_RUN_ID", run_id))
    with open(f"/proc/{script}/environ", "rb") as file:
        variables = dict(pair.partition(b"=")[::2] for pair in file.read().split(b"\0"))
    token = variables[b"MLFLOW_TRACKING_TOKEN"]
    for folder, _, names in os.walk(jig_home):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                assert token not in file.read(), name
    assert not alive(token.decode())


def test_a_project_with_an_odd_folder(project, cli, jig_home, monkeypatch):
    home = jig_home.parent / "a 100% 'home' #é"
    monkeypatch.setenv("JIG_HOME", str(home))
    project.write("log.py", LOG.replace('own["artifact_uri"][len("file://"):]', "__import__('urllib.parse').parse."
                                        "unquote(own['artifact_uri'][len('file://'):])"))  # fmt: skip
    said = cli("submit", "-c", "local", "log.py")
    assert said.code == 0, said.out + said.err
    assert read(os.path.join(Home(str(home)).run(said.run_id).outputs, "model.txt")) == "weights"
