"""A notebook whose kernel is in a container: here, and on a machine over SSH."""

import pytest

from jig.runner.folder import Home
from tests.conftest import until
from tests.containers.conftest import BASE
from tests.notebook.conftest import open_notebook  # noqa: F401
from tests.notebook.speaking import wheels
from tests.runner.wheels import serve
from tests.ssh.conftest import attach_words, client, host_folder, key_pair, make_host  # noqa: F401

CONDA = "dependencies:\n- python\n- pip:\n  - --index-url {}/simple\n  - ipykernel\n"


@pytest.mark.parametrize("is_shared", [True, False], ids=["mounted", "copied"])
def test_a_kernel_in_a_container(docker, open_notebook, cli, jig_home, no_settings, is_shared):  # noqa: F811
    docker.target(userManagedEnvironment=False, sharedVolumes=is_shared)
    with serve(wheels()) as index:
        docker.write("aml_config/conda_dependencies.yml", CONDA.format(index.url))
        notebook = open_notebook(docker.path, "docker")
    run_id = notebook.run("import os; print(os.environ['JIG_RUN_ID'])").strip()
    assert f"jig-{run_id}" in docker.containers()
    assert notebook.run("import os, sys; print(os.getcwd(), sys.prefix)").startswith("/azureml-run /azureml-envs/")
    assert notebook.run("import jig; jig.log('accuracy', 0.5)") == ""
    notebook.begin("import time; print('begun', flush=True); time.sleep(600)")
    error, took_s = notebook.interrupted()
    assert error == "KeyboardInterrupt" and took_s < 5
    assert len(notebook.run("print('x' * 5_000_000)")) == 5_000_001
    assert notebook.close() < 10
    until(lambda: docker.containers() == [], what="the end of the container")
    record = cli("history", "info", "-r", run_id).json()
    assert (record["status"], record["accuracy"]) == ("Completed", 0.5)
    with open(Home(str(jig_home)).run(run_id).outputs + "/cells.py") as file:
        assert "jig.log('accuracy', 0.5)" in file.read()


def test_a_base_without_ipykernel(docker, open_notebook):  # noqa: F811
    """Its kernel does not come up, and leaves no container."""
    with pytest.raises(AssertionError, match="Kernel died"):
        open_notebook(docker.path, "docker")
    until(lambda: docker.containers() == [], what="that no container is left")


def test_a_kernel_in_a_container_on_a_machine(docker_box, project, open_notebook, cli, client, key_pair, no_settings):  # noqa: F811
    host = docker_box.host
    client.give_key(key_pair)
    host.authorize(key_pair.with_suffix(".pub").read_text())
    said = cli(*attach_words(host, "--image", BASE, kind="remotedocker"))
    assert said.code == 0, said.err
    project.runconfig("box")
    with serve(wheels(), host.near_address) as index:
        project.write("aml_config/conda_dependencies.yml", CONDA.format(index.url))
        notebook = open_notebook(project.path, "box")
    run_id = notebook.run("import os; print(os.environ['JIG_RUN_ID'])").strip()
    assert notebook.run("6 * 7") == "42"
    notebook.manager.provisioner.process.kill()
    until(
        lambda: cli("status", run_id, "-o", "json").json()["state"] in ("Canceled", "Completed"),
        timeout=60,
        what="the end of the run there",
    )
