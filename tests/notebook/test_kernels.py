"""A kernel on this machine: a run like any other, which Jupyter starts, interrupts, starts again and ends."""

import json
import os
import signal
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from jig.notebook import kernelspecs
from jig.project import Project
from jig.runner.folder import Home
from jig.system import carriers
from tests.conftest import alive, until

MARKS = "import os; print(sorted(n for n in os.environ if n.startswith(('JPY', 'JUPYTER', 'JIG'))))"


@pytest.fixture
def here(project):
    """The project, with an interpreter that has ipykernel."""
    project.write("aml_config/local.compute", f"type: local\npythonLocation: {json.dumps(sys.executable)}\n")
    project.write("helper.py", "answer = 42\n")
    return project


def going(cli) -> "list[str]":
    return [run["run_id"] for run in cli("history", "list", "-o", "json").json() if run["status"] == "Running"]


def left_of(run_id: str) -> "list[object]":
    return [*carriers("JIG_RUN_ID", run_id), *alive(run_id)]


def test_a_notebook_is_a_run(here, open_notebook, cli, jig_home):
    notebook = open_notebook(here.path, "local")
    (run_id,) = going(cli)
    folder = Home(str(jig_home)).run(run_id)
    assert notebook.run("1 + 1") == "2"
    assert notebook.run("import helper, os; print(helper.answer, os.getcwd())") == f"42 {folder.work}\n"
    assert notebook.run(MARKS) == "['JIG_HOME', 'JIG_MLFLOW', 'JIG_PROJECT', 'JIG_RUN_DIR', 'JIG_RUN_ID']\n"
    assert notebook.run("import jig; jig.log('accuracy', 0.5)") == ""
    said = notebook.run("open('curve.txt', 'w').write('x')\n%azureml upload curve.txt")
    assert said.startswith("kept with the run: outputs/curve.txt\n"), said
    assert notebook.run("%azureml history off") == ""
    assert notebook.run("secret = 1") == ""
    assert notebook.run("%azureml").startswith("%azureml history on")
    assert notebook.close() < 5
    record = cli("history", "info", "-r", run_id).json()
    assert (record["status"], record["script_name"], record["accuracy"]) == ("Completed", "(notebook)", 0.5)
    until(lambda: left_of(run_id) == [], what="the end of the run")
    cells = Path(folder.outputs, "cells.py").read_text()
    assert "# %% [1] 0.0 s\n1 + 1\n" in cells and "secret = 1" not in cells
    assert Path(folder.outputs, "curve.txt").read_text() == "x"
    assert not os.path.exists(os.path.join(folder.path, "kernel")), "the sockets, and the key, are gone"
    said = cli("experiment", "reproduce", "-r", run_id)
    assert said.code != 0 and "notebook" in said.err


def test_ctrl_c_and_starting_again(here, open_notebook, cli):
    notebook = open_notebook(here.path, "local")
    (first,) = going(cli)
    notebook.begin("import subprocess\nprint('begun', flush=True)\nsubprocess.run(['sleep', '600'])")
    error, took_s = notebook.interrupted()
    assert error == "KeyboardInterrupt" and took_s < 5
    assert notebook.run("kept = 3; kept") == "3"
    notebook.restart()
    assert notebook.run("kept") == "NameError"
    (second,) = going(cli)
    assert second != first
    until(lambda: left_of(first) == [], what="the end of the first run")
    assert len(notebook.run("print('x' * 5_000_000)")) == 5_000_001


def test_a_kernel_that_dies_is_a_run_that_failed(here, open_notebook, cli):
    notebook = open_notebook(here.path, "local")
    (run_id,) = going(cli)
    notebook.client.execute("import os; os.kill(os.getpid(), 9)")
    until(lambda: not notebook.manager.is_alive(), what="its end, for Jupyter")
    assert cli("status", run_id, "-o", "json").json()["reason"] == "killed"
    assert notebook.log.read_text().count("error: ") == 1
    assert "[local] error: the kernel has ended: " in notebook.log.read_text()


def test_a_run_that_is_not_tracked_leaves_nothing(here, open_notebook, cli, jig_home):
    here.runconfig(TrackedRun=False)
    notebook = open_notebook(here.path, "local")
    run_id = notebook.run("import os; print(os.environ['JIG_RUN_ID'])").strip()
    assert os.path.exists(Home(str(jig_home)).run(run_id).path)
    assert notebook.close() < 5
    assert not os.path.exists(Home(str(jig_home)).run(run_id).path)
    until(lambda: left_of(run_id) == [], what="the end of the run")


def test_nothing_is_left_when_it_is_killed(here, open_notebook, cli):
    notebook = open_notebook(here.path, "local")
    run_id = notebook.run("import os; print(os.environ['JIG_RUN_ID'])").strip()
    notebook.client.execute("import time; time.sleep(600)")
    os.kill(notebook.pid, signal.SIGKILL)
    until(lambda: left_of(run_id) == [], what="the end of the run")
    assert cli("status", run_id, "-o", "json").json()["state"] == "Canceled"


def start_by_hand(root: Path, tmp_path: Path) -> "subprocess.CompletedProcess[str]":
    """The kernel's program as Jupyter starts it, to its end."""
    spec = kernelspecs.spec(Project.find(str(root)), "local")
    place = tmp_path / "connection.json"
    ports = {f"{channel}_port": 0 for channel in ("shell", "iopub", "stdin", "control", "hb")}
    place.write_text(json.dumps({"ip": "127.0.0.1", "key": "k", "signature_scheme": "hmac-sha256", **ports}))
    words = [word.replace("{connection_file}", str(place)) for word in spec["argv"]]
    return subprocess.run(words, capture_output=True, text=True, timeout=60)


def test_an_environment_without_ipykernel(project, tmp_path, cli):
    venv.create(tmp_path / "bare", symlinks=True)
    python = tmp_path / "bare/bin/python"
    project.write("aml_config/local.compute", f"type: local\npythonLocation: {json.dumps(str(python))}\n")
    done = start_by_hand(project.path, tmp_path)
    assert done.returncode == 1 and done.stdout == ""
    assert "[local] error: the environment of this run configuration has no ipykernel" in done.stderr
    assert f"hint: {python} -m pip install ipykernel" in done.stderr
    assert done.stderr.count("error: ") == 2 and "the kernel did not come up" in done.stderr
    (run,) = cli("history", "list", "-o", "json").json()
    assert (run["status"], left_of(run["run_id"])) == ("Failed", [])


def test_a_fault_of_the_project_is_told(project, tmp_path):
    project.write("aml_config/local.compute", "type: local\npythonLocation: /no/such/python\n")
    done = start_by_hand(project.path, tmp_path)
    assert done.returncode == 1
    assert "[local] error: the kernel did not come up: " in done.stderr and "/no/such/python" in done.stderr


def test_names(project):
    assert kernelspecs.name_of("my_dsvm-1.a") == "jig-my_dsvm-1.a"
    assert kernelspecs.name_of("DSVM") != kernelspecs.name_of("dsvm") != kernelspecs.name_of("dsvm-é")
    project.write("aml_config/managed.compute", "type: local\nuserManagedEnvironment: false\n")
    for name in ("managed", "Other"):
        project.runconfig(name, Target="managed")
    found = Project.find(str(project.path))
    assert kernelspecs.spec(found, "Other")["display_name"] == "proj Other"
    assert [said.partition(":")[0] for said in kernelspecs.doubts(found)] == [
        "aml_config/conda_dependencies.yml lists no ipykernel, which the kernels of Other, managed need"
    ]
    project.write("aml_config/conda_dependencies.yml", "dependencies:\n  - python\n  - ipykernel=4.6.1\n")
    assert kernelspecs.doubts(found) == []
