"""Environments in images, as a person who submits meets them: built once, and again only when something changed."""

import os
import re
import signal

import pytest

from tests.conftest import alive, call, spawn, until
from tests.containers.conftest import BASE, DONE
from tests.engines.registry import serve_image
from tests.ssh.conftest import every_file

SECRET = "s3cr3t-word"


def test_built_once(managed, cli):
    said = cli("submit", "-c", "docker", "a.py")
    assert said.code == 0 and DONE in said.out, said.out + said.err
    assert managed.notes(said.run_id) == [
        "making an environment",
        "resolving",
        "installing 1 package",
        "environment ready",
    ]
    assert "jig: resolving\n" in said.out
    asked = list(managed.index.asked)
    again = cli("submit", "-c", "docker", "a.py")
    assert DONE in again.out and "jig: " not in again.out
    assert managed.notes(again.run_id) == [] and managed.index.asked == asked and len(managed.images()) == 1
    until(lambda: managed.half_built() == [], what="the end of the build's container")


def test_a_warm_submit_asks_the_engine_once(make_engine, docker_in, manage, cli):
    """For both images; then there is a container, and in the end none."""
    managed = manage(docker_in(make_engine(debug=True)))
    log = managed.docker.engine.folder / "log"
    assert cli("submit", "-c", "docker", "a.py").code == 0
    until(lambda: managed.half_built() == [], what="the end of the build's container")
    before = log.stat().st_size
    assert cli("submit", "-c", "docker", "a.py").code == 0
    asked = re.findall(r"Calling (\w+) (?:/v[\d.]+)?/(\w+)\S*?(/\w+)?[?\"]", log.read_text()[before:])
    looks, works = asked[:2], [verb + " " + what + rest for verb, what, rest in asked[2:] if what == "containers"]
    assert looks == [("GET", "images", "/json")] * 2
    assert works[0] == "POST containers/create" and works[-1].startswith("DELETE containers")


def test_a_base_that_moved(managed, cli, docker_host):
    base = "jig-test/moves:1"
    managed.docker.target(base, userManagedEnvironment=False)
    docker_host.docker("tag", BASE, base)
    try:
        assert cli("submit", "-c", "docker", "a.py").code == 0
        docker_host.docker("tag", "jig-test/conda:1", base)
        said = cli("submit", "-c", "docker", "a.py")
        assert said.code == 0, said.out
        assert (
            f"jig: the base image {base} is another one than the environment was built on: it is built again\n"
            in said.out
        )
        assert len(managed.images()) == 1
    finally:
        docker_host.docker("rmi", base)
    assert DONE in cli("submit", "-c", "docker", "a.py").out, "it does without its base"


def test_an_image_that_somebody_removed(managed, cli, docker_host):
    assert cli("submit", "-c", "docker", "a.py").code == 0
    docker_host.docker("rmi", *managed.images())
    said = cli("submit", "-c", "docker", "a.py")
    assert said.code == 0 and "resolving" in managed.notes(said.run_id)


def test_not_to_be_prepared(managed, cli):
    managed.docker.runconfig("docker", PrepareEnvironment=False)
    said = cli("submit", "-c", "docker", "a.py")
    assert (said.code, said.out) == (125, "")
    assert said.err == (
        "error: the environment is not prepared, and PrepareEnvironment is false\n\n"
        "hint: build it once:  jig experiment prepare -c docker\n"
    )
    assert cli("history", "list", "-o", "json").json() == [] and managed.images() == []
    said = cli("experiment", "prepare", "-c", "docker")
    (image,) = managed.docker.engine.docker("image", "ls", "jig-env", "--format", "{{.Repository}}:{{.Tag}}").split()
    prefix = f"/azureml-envs/{image.partition(':')[2]}"
    assert said.code == 0 and said.out == f"prepared: {prefix}/bin/python in the image {image}\n", said.out
    assert "resolving\n" in said.err
    again = cli("experiment", "prepare", "-c", "docker")
    assert (again.code, again.out, again.err) == (0, said.out, "")
    said = cli("submit", "-c", "docker", "a.py")
    assert DONE in said.out and managed.notes(said.run_id) == []


def test_cancel_while_it_is_built(managed, cli):
    managed.index.stall = "/files/"
    run = cli("submit", "-a", "-c", "docker", "a.py").run_id
    assert managed.index.arrived.wait(20) and len(managed.docker.containers()) == 1
    assert cli("cancel", run).out == f"{run}: Canceled\n"
    assert managed.half_built() == [] and managed.images() == []
    managed.index.stall = ""
    managed.index.release.set()
    assert DONE in cli("submit", "-c", "docker", "a.py").out


def test_a_password_of_the_index_is_nowhere(managed, cli, monkeypatch):
    managed.index.password = SECRET
    monkeypatch.setenv("PIP_INDEX_URL", managed.index.url.replace("://", f"://user:{SECRET}@") + "/simple")
    managed.docker.write("aml_config/conda_dependencies.yml", "dependencies:\n- python\n- pip:\n  - alpha\n")
    looks = []
    engine = managed.docker.engine
    managed.index.before = lambda path: looks.append(engine.docker("inspect", *managed.docker.containers()))
    said = cli("submit", "-c", "docker", "a.py")
    assert said.code == 0 and DONE in said.out, said.out
    (image,) = managed.images()
    looks += [said.out, said.err, engine.docker("inspect", image), engine.docker("history", "--no-trunc", image)]
    looks += [cli("history", "info", "-r", said.run_id).out, cli("submit", "--dry-run", "-c", "docker", "a.py").out]
    assert len(looks) > 6 and all(SECRET not in text for text in looks)
    kept = every_file(managed.home.path)
    assert any(path.name == "plan.json" for path in kept) and any(path.name == "prepare.log" for path in kept)
    assert [str(path) for path, data in kept.items() if SECRET.encode() in data] == []


# Images that cannot be had


@pytest.fixture
def cut_off(docker_in, bridge_engine):
    """A project whose engine reaches no registry."""
    return docker_in(bridge_engine)


@pytest.mark.parametrize(
    ("image", "instead"),
    [
        ("microsoft/mmlspark:plus-gpu-0.9.9", "write `baseDockerImage: python:3.11` into the .compute file: PyTorch"),
        ("microsoft/mmlspark:plus-0.9.9", "write `baseDockerImage: python:3.11` into the .compute file, `"),
    ],
)
@pytest.mark.parametrize("managed", [True, False], ids=["managed", "theirs"])
def test_images_that_are_gone(cut_off, cli, image, instead, managed):
    cut_off.target(image, userManagedEnvironment=not managed)
    cut_off.write("a.py", "print(1)")
    said = cli("submit", "-c", "docker", "a.py")
    assert said.code == 125
    status = cli("status", "-o", "json").json()
    assert (status["state"], status["reason"]) == ("Failed", "environment-failed")
    assert f"jig: pulling the image {image}\n" in said.out
    gone = f"the image {image} is gone from Docker Hub"
    rows = dict(line.split(": ", 1) for line in said.out.splitlines() if ": " in line)
    assert rows["Status"] == f"Failed: the environment could not be built: {gone}"
    assert rows["Fix"].startswith(instead) and status["fix"] == rows["Fix"]
    assert os.path.getsize(rows["Log"]) > 0, "what docker said"
    assert cli("logs").err.splitlines()[1] == f"fix: {rows['Fix']}"
    again = cli("experiment", "prepare", "-c", "docker")
    assert again.code == 125 and f"error: {gone}\n\nhint: {instead}" in again.err
    assert "the full log is " in again.err
    cut_off.runconfig("docker", PrepareEnvironment=False)
    again = cli("submit", "-c", "docker", "a.py")
    assert again.code == 125 and again.err.startswith(f"error: {gone}\n\nhint: {instead}")


def test_an_image_of_somebody(cut_off, cli):
    cut_off.target("registry.invalid/team/trainer:2")
    cut_off.write("a.py", "print(1)")
    said = cli("submit", "-c", "docker", "a.py")
    assert said.code == 125 and "the image registry.invalid/team/trainer:2 could not be pulled: " in said.out
    assert cut_off.containers() == []


@pytest.mark.parametrize("base", ["jig-test/plain:1", "jig-test/conda:1"])
def test_the_python_of_an_image(docker, cli, base):
    """Of one that has none, and of one that has it out of the way."""
    docker.target(base)
    docker.write("a.py", "import sys; print(sys.executable)")
    said = cli("submit", "-c", "docker", "a.py")
    if base == "jig-test/conda:1":
        assert said.code == 0 and "\n/opt/conda/bin/python\n" in said.out
    else:
        status = cli("status", "-o", "json").json()
        assert said.code == 125 and (status["state"], status["reason"]) == ("Failed", "not-started")
        assert "there is no python and no python3 in the search path" in said.out
        assert "pythonLocation" in said.out


@pytest.fixture
def altered(docker):
    """altered(shell commands, change) → an image like the base, in which they were run; gone after the test."""
    name, engine = "jig-test/altered:1", docker.engine

    def make(commands: str, *changes: str) -> str:
        engine.docker("run", "--network=none", "--name=altered", BASE, "sh", "-ec", commands)
        engine.docker("commit", *(f"--change={change}" for change in changes), "altered", name)
        engine.docker("rm", "altered")
        return name

    yield make
    engine.docker("rmi", name)


def test_an_image_with_volumes_of_its_own(docker, cli, altered):
    """The engine makes one for each container: none is left."""
    docker.target(altered("true", "VOLUME /data"))
    docker.write("a.py", "open('/data/x', 'w').close()")
    assert cli("submit", "-c", "docker", "a.py").code == 0
    assert docker.engine.docker("volume", "ls", "-q") == ""


def test_an_image_with_ways_of_its_own(docker, cli, altered):
    """Another user, folder, entry point and PYTHONPATH: the run has its own, and the image's variables."""
    ways = ("USER daemon", "WORKDIR /srv", 'ENTRYPOINT ["/bin/false"]', "ENV PYTHONPATH=/srv/lib COLOR=red")
    docker.target(altered("mkdir /srv/lib; echo y = 2 > /srv/lib/theirs.py", *ways))
    docker.write("a.py", "import os, jig, theirs; print(os.getuid(), os.getcwd(), theirs.y, os.environ['COLOR'])")
    said = cli("submit", "-c", "docker", "a.py")
    assert f"\n{os.getuid()} /azureml-run 2 red\n" in said.out, said.out


PYTHON_2 = "printf '#!/bin/sh\\n[ $1 = -V ] && echo Python 2.7.18 || echo Unknown option: -I; exit 2' > /usr/bin/python; chmod 755 /usr/bin/python"


def test_an_image_whose_python_is_old(docker, cli, altered):
    """The newer one beside it is taken; a script that is told to use the old one is told why it cannot."""
    docker.target(altered(PYTHON_2))
    docker.write("a.py", "import sys; print(sys.executable)")
    assert "\n/usr/bin/python3\n" in cli("submit", "-c", "docker", "a.py").out
    docker.target("jig-test/altered:1", pythonLocation="/usr/bin/python")
    said = cli("submit", "-c", "docker", "a.py")
    assert said.code == 125 and "/usr/bin/python in the image did not get as far as the script" in said.out, said.out
    assert "it must be Python 3.5 or newer" in said.out and docker.containers() == []
    docker.engine.docker("rmi", "jig-test/altered:1")
    docker.target(altered(PYTHON_2 + "; rm /usr/bin/python3"))
    said = cli("submit", "-c", "docker", "a.py")
    assert "/usr/bin/python in the image jig-test/altered:1 is Python 2.7.18, and scripts need 3.5 or newer" in said.out


@pytest.mark.parametrize("words", [("submit", "-c", "docker", "a.py"), ("experiment", "prepare", "-c", "docker")])
def test_ctrl_c_while_an_image_is_pulled_for_conda(docker, cli, jig_home, no_settings, words):
    """Conda packages are chosen for what is in the image, which is needed before there is a run."""
    docker.write("a.py", "print(1)")
    docker.write(
        "aml_config/conda_dependencies.yml", "channels: [http://127.0.0.1:9/]\ndependencies:\n- python\n- zlib\n"
    )
    with serve_image([{"large": os.urandom(1 << 20)}]) as registry:
        docker.target(f"{registry.address}/some/image:1", userManagedEnvironment=False)
        client = spawn(*words, start_new_session=True)
        assert registry.arrived.wait(20)
        os.killpg(client.pid, signal.SIGINT)
        _, err = client.communicate(timeout=20)
    assert client.returncode == 130 and b"Traceback" not in err, err
    assert cli("history", "list", "-o", "json").json() == [] and alive("some/image:1") == []


def test_two_submits_at_once(managed, cli):
    managed.index.stall = "/files/"
    first = cli("submit", "-a", "-c", "docker", "a.py").run_id
    assert managed.index.arrived.wait(20)
    second = cli("submit", "-a", "-c", "docker", "a.py").run_id
    waiting = "waiting for another run that builds this environment"
    until(lambda: managed.notes(second) == [waiting], what="that the second waits")
    managed.index.release.set()
    for run in (first, second):
        assert call("logs", "-f", run).code == 0 and cli("logs", run).out == DONE[1:]
    assert len(managed.images()) == 1 and managed.notes(second) == [waiting]
