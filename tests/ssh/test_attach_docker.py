"""Machines that run containers: what attach and check tell of their Docker, and how clean leaves them."""

import re

import pytest

from jig.project import Project
from tests.engines.gpu import Driver
from tests.ssh.conftest import attach_words

IMAGE = "jig-test/python:1"


def told(said) -> "dict[str, str]":
    """What was found, by what was looked at, with how bad that is in front."""
    found = re.findall(r"^(?:(ok|warn|bad|note) +)?(\S[^:\n]*): (.*)$", said.out, re.MULTILINE)
    return {what: text if mark in ("", "ok") else f"{mark}: {text}" for mark, what, text in found}


def attach(box, cli, *more: str):
    host = box.host
    said = cli(*attach_words(host, "--password", host.password, "--image", IMAGE, *more, kind="remotedocker"))
    assert said.code == 0, said.out + said.err
    return said


def test_docker_there_is_told(docker_box, project, cli):
    said = attach(docker_box, cli)
    rows = told(said)
    version = docker_box.engine.docker("version", "--format", "{{.Server.Version}}").strip()
    assert rows["docker"] == f"{version}, by `docker`"
    assert rows["base image"].startswith(f"{IMAGE} is there, ")
    assert rows["disk for images"].endswith(" free for /var/lib/engine/data")
    assert rows["GPU in containers"] == "note: this target asks for none"
    assert said.out.endswith(
        "box.runconfig says `Framework: PySpark`, as it always did: for a Python script, write Python there\n"
    )
    target = Project.find(str(project.path)).compute_target("box", to_run=True)
    assert (target.base_docker_image, target.nvidia_docker, target.shared_volumes) == (IMAGE, False, True)
    again = cli("computetarget", "check", "box")
    assert again.code == 0 and told(again)["docker"] == rows["docker"]


def test_docker_by_sudo_only(docker_box, project, cli):
    docker_box.only_by_sudo()
    version = docker_box.engine.docker("version", "--format", "{{.Server.Version}}").strip()
    assert told(attach(docker_box, cli))["docker"] == f"{version}, by `sudo -n docker`"
    assert cli("computetarget", "check", "box").code == 0


def test_docker_for_others_only(docker_box, project, cli, client):
    attach(docker_box, cli)
    docker_box.for_nobody()
    docker_box.host.allow_sudo("root")
    client.hang_up()  # who is logged in keeps the groups that they had
    said = cli("computetarget", "check", "box")
    assert said.code == 1
    denied = "this user may not use the Docker engine (/var/run/docker.sock: permission denied)"
    assert told(said)["docker"].startswith(f"bad: {denied}")
    assert "`sudo usermod -aG docker $USER`" in said.out.split(denied)[1].split("     fix: ")[1]


@pytest.mark.parametrize(
    ("way", "command"),
    [
        (Driver.by_gpus, "docker run --gpus all"),
        (Driver.by_runtime, "docker run --runtime=nvidia -e NVIDIA_VISIBLE_DEVICES=all"),
    ],
)
def test_gpus(make_docker_box, project, cli, way, command):
    box = make_docker_box(gpu=way)
    rows = told(attach(box, cli, "--gpu"))
    assert rows["GPU 0"] == "Pretended K80, compute capability 3.7, 11.2 GiB of 11.2 GiB free"
    assert rows["GPU in containers"].startswith(f"yes, by `{command}")
    assert Project.find(str(project.path)).compute_target("box").nvidia_docker


def test_no_gpu_for_containers(docker_box, project, cli):
    said = attach(docker_box, cli, "--gpu")
    assert told(said)["GPU in containers"].startswith("bad: ")
    assert "`nvidiaDocker: false`" in said.out.split("GPU in containers: ")[1].split("     fix: ")[1]
    assert cli("computetarget", "check", "box").code == 1


def test_clean_goes_there(docker_box, project, cli):
    attach(docker_box, cli)
    project.runconfig("box")
    project.write("aml_config/conda_dependencies.yml", "name: x\ndependencies:\n  - python=3.11\n")
    project.write("hello.py", "print('hello')")
    said = cli("submit", "-c", "box", "hello.py")
    assert said.code == 0, said.out + said.err

    def environments() -> "list[str]":
        return docker_box.engine.docker("image", "ls", "-q", "--filter", "label=jig.environment").split()

    assert len(environments()) == 1
    said = cli("experiment", "clean")
    assert said.code == 0 and told(said)["environments in Docker images, with compiled files"] != "0 B"
    assert environments() == []
    assert docker_box.host.run("find /home/ada/.jig ! -user ada", user="root").stdout == "", (
        "files of somebody else were left"
    )


def test_attaching_again_changes_no_file(docker_box, project, cli):
    attach(docker_box, cli)
    commands = docker_box.host.commands()
    for words, told_ in (
        (("--image", "other:1"), f"box.compute says `baseDockerImage: {IMAGE}`, not other:1"),
        (("--gpu",), "box.compute has no `nvidiaDocker`, not true"),
    ):
        said = cli(*attach_words(docker_box.host, *words, kind="remotedocker"))
        assert said.code == 2 and told_ in said.err
    assert docker_box.host.commands() == commands
