"""A notebook here whose kernel is on a machine over SSH, in an environment that jig makes there."""

import os
import shutil

import pytest

from tests.conftest import until
from tests.notebook.conftest import open_notebook  # noqa: F401
from tests.notebook.speaking import wheels
from tests.ssh.conftest import carriers, mirror


@pytest.fixture
def managed(box, project):
    """The machine finds ipykernel among wheels in its home."""
    shutil.copytree(wheels(), box.host.home / "wheels")
    settings = "[global]\nno-index = true\nfind-links = /home/ada/wheels\n"
    done = box.host.run(f"mkdir -p ~/.config/pip && printf '%s' '{settings}' > ~/.config/pip/pip.conf")
    assert done.returncode == 0, done.stderr
    version = box.host.run("python3 -c 'import sys; print(\"%d.%d\" % sys.version_info[:2])'").stdout.strip()
    text = f"dependencies:\n  - python={version}\n  - pip:\n    - ipykernel\n"
    project.write("aml_config/conda_dependencies.yml", text)
    place = project.path / "aml_config/box.compute"
    place.write_text(place.read_text().replace("userManagedEnvironment: true", "userManagedEnvironment: false"))
    return box


def test_a_kernel_there(managed, project, open_notebook, cli, jig_home):  # noqa: F811
    project.write("helper.py", "answer = 42\n")
    notebook = open_notebook(project.path, "box")
    run_id = notebook.run("import os; print(os.environ['JIG_RUN_ID'])").strip()
    assert notebook.run("import helper, sys; print(helper.answer, sys.prefix)").startswith("42 /home/ada/.jig/envs/")
    assert notebook.run("import jig; jig.log('accuracy', 0.5)") == ""
    notebook.begin("import time; print('begun', flush=True); time.sleep(600)")
    error, took_s = notebook.interrupted()
    assert error == "KeyboardInterrupt" and took_s < 5
    assert len(notebook.run("print('x' * 5_000_000)")) == 5_000_001
    said = notebook.log.read_text()
    assert "[box] making an environment" in said and "[box] ready\n" in said
    notebook.restart()
    assert notebook.run("1 + 1") == "2"
    assert carriers(managed.host, run_id) == []
    second = notebook.run("import os; print(os.environ['JIG_RUN_ID'])").strip()
    assert notebook.close() < 10
    until(lambda: carriers(managed.host, second) == [], what="the end of the run there")
    for one in (run_id, second):
        assert cli("status", one, "-o", "json").json()["state"] == "Completed"
    assert (mirror(jig_home, run_id) / "work/outputs/cells.py").exists()
    assert cli("history", "info", "-r", run_id).json()["accuracy"] == 0.5


def test_the_line_is_cut(managed, project, open_notebook, client):  # noqa: F811
    client.impatient()
    notebook = open_notebook(project.path, "box")
    run_id = notebook.run("import os; print(os.environ['JIG_RUN_ID'])").strip()
    managed.host.cut()
    until(lambda: not notebook.manager.is_alive(), timeout=40, what="that Jupyter knows")
    managed.host.mend()
    until(lambda: carriers(managed.host, run_id) == [], timeout=60, what="that the run there has ended")
    assert os.path.exists(notebook.log)
