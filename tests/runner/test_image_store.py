"""`jig experiment clean` in Docker: what jig made goes, what a living run uses stays, and nothing else is touched."""

import json
import os
import subprocess
import time

import pytest

from jig.runner import image_store
from jig.runner.engine import home_key
from jig.runner.env_cache import lock_path, locked
from jig.runner.folder import Home
from tests.conftest import until

IMAGE = "jig-test/python:1"
NO_ENGINE = "the Docker engine is not running (nobody answers at"


@pytest.fixture
def docker(project, docker_host, jig_home):
    """A project that runs in containers of the session's engine, with an environment to build and no packages."""
    project.write("aml_config/docker.compute", f"type: localdocker\nbaseDockerImage: {IMAGE}\n")
    project.runconfig("docker")
    project.write("aml_config/conda_dependencies.yml", "name: x\ndependencies:\n  - python=3.11\n")
    project.write("hello.py", "print('hello')")
    yield docker_host
    image_store.clean(Home(str(jig_home)), 0.0)


def environments(docker) -> "list[str]":
    """The names of all images with environments in the engine."""
    said = docker.docker("image", "ls", "--format", "{{.Repository}}:{{.Tag}}", "--filter", "label=jig.environment")
    return sorted(said.split())


def containers(docker) -> "list[str]":
    return sorted(docker.docker("ps", "--all", "--format", "{{.Names}}").split())


def rows(said) -> "dict[str, str]":
    return dict(line.split(": ", 1) for line in said.out.splitlines())


def test_environments_go_and_come_again(docker, project, cli, jig_home):
    assert cli("submit", "-c", "docker", "hello.py").code == 0
    (tag,) = environments(docker)
    before = containers(docker)
    own_bytes = int(docker.docker("history", "--human=false", "--format", "{{.Size}}", tag).split()[0])
    assert own_bytes > 1000 and os.listdir(jig_home / "pycache")
    done = image_store.clean(Home(str(jig_home)), 0.0)
    assert (done["containers"], done["images"]) == (0, [tag.partition(":")[2]])
    assert done["freed"] >= own_bytes
    assert environments(docker) == [] and containers(docker) == before
    assert os.listdir(jig_home / "images") and os.listdir(jig_home / "pycache") == [], "facts of the base stay"
    assert docker.docker("image", "inspect", "--format", "{{.Id}}", IMAGE)
    assert cli("submit", "-c", "docker", "hello.py").code == 0
    assert environments(docker) == [tag]


def test_what_the_command_says(docker, cli):
    assert cli("submit", "-c", "docker", "hello.py").code == 0
    kept = cli("experiment", "clean", "--keep-images")
    assert kept.code == 0 and rows(kept)["environments in Docker images, with compiled files"] == "0 B"
    assert len(environments(docker)) == 1
    said = cli("experiment", "clean")
    assert said.code == 0 and rows(said)["environments in Docker images, with compiled files"].endswith(" kB")
    assert "containers" not in rows(said) and environments(docker) == []


def test_a_living_run_keeps_its_container_and_its_image(docker, project, cli, jig_home):
    project.write("wait.py", "import time; print('here', flush=True); time.sleep(600)")
    run_id = cli("submit", "-a", "-c", "docker", "wait.py").run_id
    until(lambda: f"jig-{run_id}" in containers(docker), what="a container")
    log = jig_home / "runs" / run_id / "output.log"
    until(lambda: log.exists() and log.read_text() == "here\n")
    kept = environments(docker)
    said = cli("experiment", "clean")
    assert said.code == 0 and rows(said)["environments in Docker images, with compiled files"] == "0 B"
    assert f"jig-{run_id}" in containers(docker) and environments(docker) == kept
    assert cli("status", run_id, "-o", "json").json()["state"] == "Running"
    assert cli("cancel", run_id).code == 0
    assert f"jig-{run_id}" not in containers(docker)


def labelled(docker, *labels: str, command: str = "true") -> str:
    """A container of somebody's, with these labels."""
    words = [word for label in labels for word in ("--label", label)]
    return docker.docker("create", *words, "--network", "none", IMAGE, command).strip()


def test_containers_that_nobody_owns_go_and_no_others(docker, cli, jig_home):
    home, key = Home(str(jig_home)), f"jig.home={home_key(str(jig_home))}"
    run_id = cli("submit", "-c", "docker", "hello.py").run_id
    build = "a" * 32
    dead = [
        labelled(docker, key, f"jig.run={run_id}"),  # of a run that has ended
        labelled(docker, key, "jig.run=proj_1"),  # of one that is not known any more
        labelled(docker, key, f"jig.build={build}"),
    ]
    living = [
        labelled(docker),  # not ours
        labelled(docker, "jig.home=0123456789abcdef", f"jig.run={run_id}"),  # of another jig home
        labelled(docker, key, "jig.probe=1"),  # just made: somebody is about to use it
    ]
    try:
        with locked(lock_path(home.path, build)):
            assert image_store.clean(home, None)["containers"] == 2
        assert image_store.clean(home, None)["containers"] == 1
        left = docker.docker("ps", "--all", "--quiet", "--no-trunc").split()
        assert set(living) <= set(left) and not set(dead) & set(left)
        assert len(environments(docker)) == 1, "images were to stay"
    finally:
        docker.docker("rm", "-f", *living)


def test_probes_that_were_left(docker, cli, jig_home, monkeypatch):
    """A process that was killed while it asked the engine leaves an empty image; it is seconds old or a leftover."""
    home, key = Home(str(jig_home)), home_key(str(jig_home))
    assert cli("computetarget", "check", "docker").code == 0
    nothing = subprocess.run(["tar", "-cT", "/dev/null"], capture_output=True, check=True).stdout
    command = ["docker", "import", "--change", f"LABEL jig.probe=1 jig.home={key}", "-"]
    image = subprocess.run(command, input=nothing, capture_output=True, check=True).stdout.decode().strip()
    container = labelled(docker, f"jig.home={key}", "jig.probe=1")

    def left() -> "tuple[bool, bool]":
        ids = docker.docker("image", "ls", "-q", "--no-trunc").split()
        return image in ids, container in docker.docker("ps", "-aq", "--no-trunc").split()

    image_store.clean(home, None)
    assert left() == (True, True)
    later = time.time() + image_store.FORGOTTEN_S + 60
    monkeypatch.setattr("jig.runner.image_store.time.time", lambda: later)
    assert image_store.clean(home, None)["containers"] == 1
    assert left() == (False, False)


def test_images_that_a_person_made_of_ours_stay(docker, project, cli, jig_home):
    assert cli("submit", "-c", "docker", "hello.py").code == 0
    (tag,) = environments(docker)
    container = docker.docker("create", "--network", "none", tag).strip()
    docker.docker("commit", container, "somebody/derived:1")
    docker.docker("rm", container)
    try:
        assert image_store.clean(Home(str(jig_home)), 0.0)["images"] == []  # its layer is part of theirs
        assert docker.docker("image", "inspect", "--format", "{{.Id}}", "somebody/derived:1")
    finally:
        docker.docker("image", "rm", "somebody/derived:1")


def test_a_name_that_a_person_gave_stays(docker, cli, jig_home):
    assert cli("submit", "-c", "docker", "hello.py").code == 0
    (tag,) = environments(docker)
    docker.docker("tag", tag, "somebody/ours:1")
    try:
        for _ in range(2):
            assert image_store.clean(Home(str(jig_home)), 0.0)["images"] == []
            assert environments(docker) == ["somebody/ours:1"]
        assert cli("submit", "-c", "docker", "hello.py").code == 0, "it is built again"
    finally:
        docker.docker("image", "rm", "somebody/ours:1")


def test_what_is_kept_of_images_that_are_gone_goes(docker, cli, jig_home):
    assert cli("submit", "-c", "docker", "hello.py").code == 0
    (tag,) = environments(docker)
    (compiled,) = (jig_home / "pycache").iterdir()
    facts = {place.name for place in (jig_home / "images").iterdir() if place.name.startswith(compiled.name)}
    assert facts
    docker.docker("image", "rm", tag)
    assert image_store.clean(Home(str(jig_home)), None)["freed"] > 0
    assert not compiled.exists()
    assert not facts & set(os.listdir(jig_home / "images"))


def test_an_engine_that_is_away(docker, cli, monkeypatch, tmp_path):
    assert cli("submit", "-c", "docker", "hello.py").code == 0
    with monkeypatch.context() as away:
        away.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody")
        said = cli("experiment", "clean")
        assert said.code == 0 and rows(said)["environments in Docker images, with compiled files"] == "0 B"
        assert said.err.startswith(f"warning: what jig made in Docker on local stays: {NO_ENGINE}")
        listed = cli("environment", "list", "-o", "json")
        assert listed.json() == [] and listed.err.startswith(f"jig: images are left out: {NO_ENGINE}")
    assert len(environments(docker)) == 1


def test_who_never_used_docker_is_not_asked_for_it(project, cli, monkeypatch, tmp_path):
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "docker").write_text(f"#!/bin/sh\ntouch {tmp_path}/called\n")
    (programs / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    project.write("a.py", "print(1)")
    assert cli("submit", "-c", "local", "a.py").code == 0
    for words in (("experiment", "clean"), ("environment", "list"), ("environment", "prune", "--older-than", "1d")):
        assert cli(*words).code == 0
    assert not (tmp_path / "called").exists()


def test_images_are_listed_and_pruned(docker, cli, jig_home):
    assert cli("experiment", "prepare", "-c", "docker").code == 0
    (tag,) = environments(docker)
    (row,) = cli("environment", "list", "-c", "docker", "-o", "json").json()
    assert (row["id"], row["kind"], row["in_use"], row["changed"]) == (tag.partition(":")[2], "image", False, False)
    assert (row["path"], row["python"][:4], row["packages"]) == (tag, "3.11", 0)
    assert row["bytes"] > 1000 and abs(row["used"] - time.time()) < 60
    shown = cli("environment", "show", "-c", "docker", "-o", "json").json()
    assert (shown["image"], shown["prepared"], shown["size"]) == (tag, True, row["bytes"])
    assert shown["fingerprint"] == row["fingerprint"] and "folder" not in shown
    assert cli("environment", "prune", "--older-than", "1h").out == "removed 0 environments, 0 B\n"
    assert cli("environment", "prune", "--keep", "1TB").out == "removed 0 environments, 0 B\n"
    assert cli("environment", "prune", "--keep", "0GB").out.startswith("removed 1 environment, ")
    assert environments(docker) == []
    assert cli("environment", "show", "-c", "docker", "-o", "json").json()["prepared"] is False


def test_an_environment_whose_engine_is_away(docker, cli, monkeypatch, tmp_path):
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody")
    shown = cli("environment", "show", "-c", "docker", "-o", "json").json()
    assert shown["prepared"] is None and shown["unknown"].startswith(NO_ENGINE)


def test_labels_that_are_no_run(docker, jig_home):
    """Who writes labels by hand must not lead us anywhere."""
    key = f"jig.home={home_key(str(jig_home))}"
    (jig_home / "engine").mkdir(parents=True)
    made = [labelled(docker, key, f"jig.run={word}") for word in ("../../etc", "-x", "")]
    try:
        assert image_store.clean(Home(str(jig_home)), 0.0) == {"containers": 0, "images": [], "freed": 0}
        assert json.loads(docker.docker("inspect", "--format", "{{json .State.Running}}", made[0])) is False
    finally:
        docker.docker("rm", "-f", *made)
