"""The MLflow endpoint of a run in a container: init serves it inside, on the image's own Python."""

import os

import pytest

from jig.runner.folder import Home
from tests.conftest import until
from tests.containers.conftest import BASE
from tests.containers.test_user import person  # noqa: F401
from tests.mlflow.speaking import LOG, LOGGED, PRINTED, SPEAK, logged

WAIT = SPEAK + "print('begun', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.01)\n"


def read(*path: str) -> str:
    with open(os.path.join(*path)) as file:
        return file.read()


def assert_logged(said, jig_home) -> None:
    assert said.code == 0 and PRINTED in said.out, said.out + said.err
    folder = Home(str(jig_home)).run(said.run_id)
    assert logged(read(folder.metrics)) == LOGGED
    assert read(folder.outputs, "model.txt") == "weights"
    assert read(folder.docker_log) == ""


@pytest.mark.parametrize("is_shared", [True, False], ids=["mounted", "copied"])
def test_a_script_logs_into_its_run(docker, cli, jig_home, is_shared):
    docker.target(sharedVolumes=is_shared)
    docker.write("log.py", LOG)
    assert_logged(cli("submit", "-c", "docker", "log.py"), jig_home)
    assert docker.containers() == []


def test_values_are_seen_while_it_goes_on_where_files_are_copied(docker, cli, jig_home):
    docker.target(sharedVolumes=False)
    docker.write("log.py", LOG + "time.sleep(60)\n")
    run_id = cli("submit", "-a", "-c", "docker", "log.py").run_id
    metrics = Home(str(jig_home)).run(run_id).metrics
    until(lambda: os.path.exists(metrics) and logged(read(metrics)) == LOGGED, what="the metrics while it runs")
    assert cli("cancel", run_id).out == f"{run_id}: Canceled\n"


def test_without_a_network(docker_in, bridge_engine, cli, jig_home):
    project = docker_in(bridge_engine)
    project.write("log.py", WAIT + "print(os.listdir('/sys/class/net'), flush=True)\n" + LOG)
    run_id = cli("submit", "-a", "-c", "docker", "log.py").run_id
    until(lambda: cli("logs", run_id).out == "begun\n")
    bridge_engine.docker("network", "disconnect", "bridge", f"jig-{run_id}")
    folder = Home(str(jig_home)).run(run_id)
    open(os.path.join(folder.work, "go"), "w").close()
    until(lambda: cli("status", run_id, "-o", "json").json()["state"] == "Completed")
    assert read(folder.log) == f"begun\n['lo']\n{PRINTED}"
    assert logged(read(folder.metrics)) == LOGGED


def test_an_address_of_the_images_own_is_left_alone(docker, cli):
    engine = docker.engine
    engine.docker("create", "--name", "base-mlflow", BASE, "true")
    engine.docker("commit", "--change", "ENV MLFLOW_TRACKING_URI=https://m.example", "base-mlflow", "jig-test/mlflow:1")
    engine.docker("rm", "base-mlflow")
    try:
        docker.target("jig-test/mlflow:1")
        docker.write("a.py", "import os; print(sorted(n + '=' + v for n, v in os.environ.items() if 'MLFLOW' in n))")
        said = cli("submit", "-c", "docker", "a.py")
        assert "\n['MLFLOW_TRACKING_URI=https://m.example']\n" in said.out, said.out + said.err
    finally:
        engine.docker("image", "rm", "--force", "jig-test/mlflow:1")


def test_the_end_of_a_run_does_not_wait_for_it(docker, cli, jig_home):
    docker.write("log.py", LOG + "import sys\nprint(time.time(), flush=True)\nos._exit(3)\n")
    said = cli("submit", "-c", "docker", "log.py")
    assert said.code == 3
    folder = Home(str(jig_home)).run(said.run_id)
    printed = float(read(folder.log).split()[-1])
    ended = os.stat(os.path.join(folder.path, "inside/run/outcome.json")).st_mtime
    assert ended - printed < 0.5, "a second would be the grace of what a script leaves running"


def test_cancelled_and_killed(docker, cli, jig_home):
    """The one that serves neither delays the end nor outlives it."""
    docker.write("log.py", SPEAK + "create()\nprint('begun', flush=True)\ntime.sleep(60)\n")
    run_id = cli("submit", "-a", "-c", "docker", "log.py").run_id
    until(lambda: cli("logs", run_id).out == "begun\n")
    assert "jig_mlflow" in docker.engine.docker("top", f"jig-{run_id}", "-o", "pid,args")
    assert cli("cancel", run_id).out == f"{run_id}: Canceled\n"
    assert docker.containers() == []


def test_as_somebody_who_is_not_root(person, jig_home):  # noqa: F811
    person.project.target()
    person.project.write("log.py", LOG)
    said = person.jig("submit", "-c", "docker", "log.py")
    assert_logged(said, person.home / ".jig")
    assert os.stat(Home(str(person.home / ".jig")).run(said.run_id).metrics).st_uid == 1234
