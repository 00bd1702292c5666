"""Containers on a machine over SSH: the line is cut, or nobody listens any more, and the machine goes on alone."""

import json

import pytest

from tests.conftest import spawn, until
from tests.containers.conftest import BASE, DONE, NEEDS_ALPHA
from tests.runner.wheels import make_wheel, serve
from tests.ssh.conftest import attach_words, client, host_folder, key_pair, make_host  # noqa: F401

COUNT = "import time\nfor number in range(30):\n    print(number, flush=True)\n    time.sleep(0.1)\n"


class Remote:
    """The target `box`, whose scripts need the package alpha, from an index that the machine reaches."""

    def __init__(self, box, index) -> None:
        self.host, self.engine, self.index = box.host, box.engine, index

    def last_event(self, run: str) -> dict:
        place = self.host.home / ".jig/runs" / run / "events.jsonl"
        return json.loads(place.read_text().splitlines()[-1])


@pytest.fixture
def remote(docker_box, project, cli, client, key_pair, tmp_path, no_settings):  # noqa: F811
    host = docker_box.host
    client.give_key(key_pair)
    host.authorize(key_pair.with_suffix(".pub").read_text())
    said = cli(*attach_words(host, "--image", BASE, kind="remotedocker"))
    assert said.code == 0, said.err
    make_wheel(tmp_path / "wheels", "alpha", "1.0")
    project.runconfig("box")
    project.write("a.py", NEEDS_ALPHA)
    project.write("count.py", COUNT)
    with serve(tmp_path / "wheels", host.near_address) as index:
        text = f"dependencies:\n- python\n- pip:\n  - --index-url {index.url}/simple\n  - alpha\n"
        project.write("aml_config/conda_dependencies.yml", text)
        yield Remote(docker_box, index)


def theirs(project) -> None:
    """Scripts run with the Python that the image has."""
    with open(project.path / "aml_config/box.compute", "a") as file:
        file.write("userManagedEnvironment: true\n")


def test_the_line_is_cut_while_an_image_is_built(remote, cli, client):  # noqa: F811
    client.impatient()
    remote.index.stall = "/files/"
    following = spawn("submit", "-c", "box", "a.py", bufsize=0)
    run = following.stdout.readline().decode().split()[1]
    assert remote.index.arrived.wait(20)
    remote.host.cut()
    until(lambda: b"cannot be reached" in following.stdout.readline(), what="that the client notices")
    remote.index.release.set()  # the package comes over the same line, and waits for it
    remote.host.mend()
    out, err = following.communicate(timeout=40)
    assert following.returncode == 0 and DONE.encode() in out, out + err
    assert remote.last_event(run)["event"] == "completed"
    until(lambda: remote.engine.docker("ps", "-aq") == "", what="the end of every container")


def test_the_line_is_cut_while_it_runs(remote, project, cli, client):  # noqa: F811
    client.impatient()
    theirs(project)
    following = spawn("submit", "-c", "box", "count.py", bufsize=0)
    run = following.stdout.readline().decode().split()[1]
    until(lambda: following.stdout.readline() == b"3\n", what="the fourth line")
    remote.host.cut()
    until(lambda: remote.last_event(run)["event"] == "completed", what="that it ends alone")
    remote.host.mend()
    out, err = following.communicate(timeout=40)
    assert following.returncode == 0, err
    assert cli("logs", run).out == "".join(f"{number}\n" for number in range(30))
    assert remote.engine.docker("ps", "-aq") == ""


def test_the_machine_is_restarted(remote, docker_box, project, cli, client):  # noqa: F811
    client.impatient()
    theirs(project)
    project.write("nap.py", "import time\nprint('here', flush=True)\ntime.sleep(600)\n")
    run = cli("submit", "-a", "-c", "box", "nap.py").run_id
    until(lambda: cli("logs", run).out == "here\n", what="the first line")
    docker_box.reboot()

    def state() -> "tuple[str, str]":
        found = cli("status", run, "-o", "json").json()
        return found["state"], found["reason"]

    until(lambda: state() == ("Lost", "machine-restarted"), what="that it is lost")
    assert cli("experiment", "clean").code == 0
    assert remote.engine.docker("ps", "-aq") == "", "its dead container is gone"


def test_an_engine_that_is_not_running(remote, project, cli):
    remote.engine.stop()
    said = cli("submit", "-c", "box", "a.py")
    assert said.code == 125 and said.out == ""
    assert "the Docker engine is not running (nobody answers at /var/run/docker.sock)" in said.err
    assert cli("history", "list", "-o", "json").json() == []
    remote.engine.start()
    assert DONE in cli("submit", "-c", "box", "a.py").out
