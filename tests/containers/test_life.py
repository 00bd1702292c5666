"""Who dies first: client, supervisor, guard, init, container, engine. Nothing is left, and the record says what happened."""

import os
import signal
import time

import pytest

from jig.runner.folder import Home
from jig.system import carriers
from tests.conftest import alive, call, spawn, until
from tests.containers.conftest import DockerProject
from tests.faults.test_run_killed import processes, state_of

COUNT = """
import signal, sys, time
{trap}
for number in range({count}):
    print(number, flush=True)
    time.sleep(0.1)
"""
DEAF = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"


@pytest.fixture
def own(make_engine, tmp_path, monkeypatch):
    """own(**settings) → a project with an engine of its own, which the test may stop."""

    def make(**settings) -> DockerProject:
        engine = make_engine(**settings)
        monkeypatch.setenv("DOCKER_HOST", engine.address)
        folder = DockerProject(tmp_path / "own", engine)
        monkeypatch.chdir(folder.path)
        return folder

    return make


@pytest.fixture
def going(cli):
    """going(project) → the id of a run that counts, and has begun to."""

    def start(project: DockerProject, count: int = 6000, trap: str = "") -> str:
        project.write("count.py", COUNT.format(trap=trap, count=count))
        said = cli("submit", "-a", "-c", "docker", "count.py")
        assert said.code == 0, said.err
        until(lambda: "2\n" in cli("logs", said.run_id).out, what="the third line")
        return said.run_id

    return start


def gone(project: DockerProject, run: str) -> bool:
    return project.containers() == [] and carriers("JIG_RUN_ID", run) == [] and alive(run) == []


def test_the_client_killed(docker, cli):
    docker.write("count.py", COUNT.format(trap="", count=30))
    client = spawn("submit", "-c", "docker", "count.py")
    run = client.stdout.readline().decode().split()[1]
    client.kill()
    client.communicate()
    until(lambda: state_of(cli, run)[0] == "Completed", what="the run's end")
    assert cli("logs", run).out == "".join(f"{number}\n" for number in range(30))
    assert docker.containers() == []


def test_cancel_leaves_no_container(docker, cli, going):
    run = going(docker)
    assert cli("cancel", run).out == f"{run}: Canceled\n"
    assert gone(docker, run)


def test_a_script_that_does_not_listen_is_killed_after_its_grace(docker, cli, going):
    run = going(docker, trap=DEAF)
    began = time.monotonic()
    assert cli("cancel", run, "--grace", "1").out == f"{run}: Canceled\n"
    assert 0.9 < time.monotonic() - began < 4
    assert gone(docker, run)


@pytest.mark.parametrize("victims", ["supervisor", "guard", "both"])
def test_supervisor_and_guard_killed(docker, cli, going, victims):
    run = going(docker, trap=DEAF)
    pids = dict(zip(("supervisor", "guard"), processes(run), strict=True))
    for name in ("supervisor", "guard") if victims == "both" else (victims,):
        os.kill(pids[name], signal.SIGKILL)
    ending = ("Failed", "guard-killed") if victims == "guard" else ("Lost", "supervisor-gone")
    until(lambda: state_of(cli, run) == ending, what=str(ending))
    until(lambda: gone(docker, run), what="the container's end")


def test_init_killed(docker, cli, going):
    run = going(docker)
    first = next(pid for pid in carriers("JIG_RUN_ID", run) if command(pid)[5:6] == [b"/jig/pack/script/jig_init.py"])
    os.kill(first, signal.SIGKILL)
    until(lambda: state_of(cli, run) == ("Failed", "killed"))
    assert gone(docker, run)


def command(pid: int) -> "list[bytes]":
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        return file.read().split(b"\0")


@pytest.mark.parametrize("words", [("kill",), ("rm", "-f"), ("stop", "-t", "5")], ids=" ".join)
def test_the_container_ended_by_somebody(docker, cli, going, words):
    run = going(docker)
    docker.engine.docker(*words, f"jig-{run}")
    until(lambda: state_of(cli, run) == ("Failed", "killed"))
    assert gone(docker, run)


@pytest.mark.parametrize("shared", [True, False], ids=["mounted", "copied"])
def test_cancel_while_the_container_is_paused(docker, cli, going, shared):
    docker.target(sharedVolumes=shared)
    run = going(docker)
    docker.engine.docker("pause", f"jig-{run}")
    try:
        assert call("cancel", run, "--grace", "0", timeout=30).out == f"{run}: Canceled\n"
        assert gone(docker, run)
    finally:
        call("experiment", "clean")


def test_an_engine_that_stops_is_not_the_script_dying(own, cli, going):
    project = own()
    run = going(project)
    project.engine.stop()
    until(lambda: state_of(cli, run) == ("Failed", "engine-stopped"), what="the end")
    assert "the Docker engine was stopped" in cli("status", run).out
    project.engine.start()
    said = cli("experiment", "clean")
    assert said.code == 0, said.err
    assert project.containers() == []


def test_a_script_outlives_an_engine_that_is_killed(own, cli, going):
    project = own()
    run = going(project, count=40)
    project.engine.stop(signal.SIGKILL)
    until(lambda: state_of(cli, run)[0] == "Completed", what="the script's end")
    assert cli("logs", run).out == "".join(f"{number}\n" for number in range(40))
    notes = (Home(os.environ["JIG_HOME"]).run(run)).events
    with open(notes) as file:
        assert "the Docker engine has gone away; the script goes on without it" in file.read()


def test_an_engine_that_restarts_with_its_containers_alive(own, cli, going):
    project = own(live_restore=True)
    run = going(project, count=40)
    project.engine.stop()
    project.engine.start()
    until(lambda: state_of(cli, run)[0] == "Completed", what="the script's end")
    assert cli("logs", run).out == "".join(f"{number}\n" for number in range(40))
    assert project.containers() == []


def test_cancel_after_the_engine_was_killed(own, cli, going):
    project = own()
    run = going(project)
    project.engine.stop(signal.SIGKILL)
    assert cli("cancel", run, "--grace", "1").out == f"{run}: Canceled\n"
    assert carriers("JIG_RUN_ID", run) == []


def test_submit_without_an_engine(own, cli):
    project = own()
    project.write("a.py", "")
    project.engine.stop()
    said = cli("submit", "-c", "docker", "a.py")
    assert said.code == 125 and said.err.startswith("error: ") and "hint: " in said.err
    assert cli("history", "list", "-o", "json").json() == []
