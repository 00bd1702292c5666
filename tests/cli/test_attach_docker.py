"""Docker of this machine as a target: both files are written, and what the engine can do is told."""

import os
import re

import pytest

from jig.project import ComputeTarget, Project
from tests.engines.fixtures import point_docker_at

ATTACH = ("computetarget", "attach", "localdocker", "-n", "docker")
IMAGE = "jig-test/plain:1"


@pytest.fixture
def no_docker(monkeypatch, tmp_path):
    """A search path without docker and sudo, and nothing where docker is looked for besides."""
    programs = tmp_path / "programs"
    programs.mkdir()
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setattr("jig.runner.engine.PLACES", ())
    return programs


@pytest.fixture
def no_engine(monkeypatch, tmp_path):
    """A docker program whose engine does not run."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/docker.sock")
    monkeypatch.delenv("DOCKER_CONTEXT", raising=False)


def told(out: str) -> "dict[str, str]":
    """What was found, by what was looked at, with how bad that is in front."""
    found = re.findall(r"^(ok|warn|bad|note) +([^:\n]+): (.*)$", out, re.MULTILINE)
    return {what: text if mark == "ok" else f"{mark}: {text}" for mark, what, text in found}


def fixes(out: str) -> "list[str]":
    """The first line of each fix."""
    return re.findall(r"^     fix: (.*)$", out, re.MULTILINE)


def written(project) -> ComputeTarget:
    return Project.find(str(project.path)).compute_target("docker", to_run=True)


@pytest.mark.parametrize(
    "words",
    ["localdocker -n docker", "docker --name docker", "-n docker --type localdocker", "-n docker -t docker"],
)
def test_every_spelling(project, cli, no_engine, words):
    said = cli("computetarget", "attach", *words.split())
    assert said.code == 0, said.err
    assert said.out.startswith("wrote aml_config/docker.compute\nwrote aml_config/docker.runconfig\n")
    assert written(project) == ComputeTarget(
        "docker",
        "localdocker",
        base_docker_image="python:3.11",
        shared_volumes=True,
        native_shared_directory="~/.azureml/share/",
    )
    config = Project.find(str(project.path)).run_config("docker")
    assert (config.target, config.framework, config.prepare_environment) == ("docker", "Python", True)


def test_image_and_gpu(project, cli, no_engine):
    assert cli(*ATTACH, "--image", "team/trainer:2", "--gpu", "--jig-home", "/scratch/me").code == 0
    target = written(project)
    assert (target.base_docker_image, target.nvidia_docker, target.jig_home) == ("team/trainer:2", True, "/scratch/me")
    text = (project.path / "aml_config/docker.compute").read_text()
    assert "address" not in text and "username" not in text
    assert "\nnvidiaDocker: true\n" in text


def test_the_steps_of_the_article_can_be_followed(project, cli, no_engine):
    """ "Change baseDockerImage, and add a new line nvidiaDocker: true": there must not be one already."""
    assert cli(*ATTACH).code == 0
    place = project.path / "aml_config/docker.compute"
    text = re.sub(r"(?m)^baseDockerImage: .*$", "baseDockerImage: microsoft/mmlspark:plus-gpu-0.9.9", place.read_text())
    place.write_text(text + "nvidiaDocker: true\n")
    target = written(project)
    assert (target.base_docker_image, target.nvidia_docker) == ("microsoft/mmlspark:plus-gpu-0.9.9", True)


def test_every_key_has_a_comment(project, cli, no_engine):
    assert cli(*ATTACH, "--gpu", "--jig-home", "/big").code == 0
    for name in ("docker.compute", "docker.runconfig"):
        lines = (project.path / "aml_config" / name).read_text().splitlines()
        keys = [number for number, line in enumerate(lines) if re.match(r"[A-Za-z]+:", line)]
        assert keys and all(lines[number - 1].startswith("#") for number in keys), name


def test_an_engine_that_answers(project, cli, docker_host):
    said = cli(*ATTACH, "--image", IMAGE)
    assert said.code == 0, said.err
    rows = told(said.out)
    version = docker_host.docker("version", "--format", "{{.Server.Version}}").strip()
    size = int(docker_host.docker("image", "inspect", "--format", "{{.Size}}", IMAGE))
    assert rows["docker"] == f"{version}, by `docker`"
    assert rows["base image"] == f"{IMAGE} is there, {size / 1e6:.1f} MB"
    assert rows["disk for images"].endswith(f" free for {docker_host.folder}/data")
    assert rows["GPU in containers"] == "note: this target asks for none" and "once that is mended" not in said.out
    again = cli("computetarget", "check", "docker")
    assert again.code == 0 and told(again.out).keys() == {*rows, "python"}, "a run configuration says what it needs"
    assert told(again.out)["docker"] == rows["docker"]


def test_an_image_that_is_not_there_yet(project, cli, docker_host):
    assert told(cli(*ATTACH).out)["base image"] == "python:3.11 is not there yet: the first run pulls it"
    assert cli("computetarget", "check", "docker").code == 0


def test_an_image_of_old_projects(project, cli, docker_host):
    said = cli(*ATTACH, "--image", "microsoft/mmlspark:plus-gpu-0.9.9")
    assert said.code == 0
    assert told(said.out)["base image"] == "bad: gone from Docker Hub: microsoft/mmlspark:plus-gpu-0.9.9"
    assert fixes(said.out)[-1].startswith("write `baseDockerImage: python:3.11` into the .compute file: ")
    assert cli("computetarget", "check", "docker").code == 1
    docker_host.docker("tag", IMAGE, "microsoft/mmlspark:plus-gpu-0.9.9")
    try:
        assert cli("computetarget", "check", "docker").code == 0, "somebody has kept it"
    finally:
        docker_host.docker("image", "rm", "microsoft/mmlspark:plus-gpu-0.9.9")


def test_no_image_is_named(project, cli, docker_host):
    project.write("aml_config/docker.compute", "type: docker\nbaseDockerImage: null\n")
    said = cli("computetarget", "check", "docker")
    assert said.code == 125 and "aml_config/docker.compute:2: `baseDockerImage` is missing" in said.err
    assert "fix: add a line `baseDockerImage: python:3.11`" in said.err


def test_a_file_that_a_submit_refuses(project, cli, docker_host):
    assert cli(*ATTACH, "--image", IMAGE).code == 0
    place = project.path / "aml_config/docker.compute"
    place.write_text(place.read_text().replace("sharedVolumes: true", "sharedVolumes: false"))
    said = cli("computetarget", "check", "docker")
    assert said.code == 125 and "`nativeSharedDirectory` needs `sharedVolumes: true`" in said.err


def test_a_run_configuration_with_faults(project, cli, docker_host):
    assert cli("computetarget", "attach", "localdocker", "-n", "box", "--image", "jig-test/python:1").code == 0
    project.write("aml_config/box.runconfig", "Target: box\nFramwork: Python\n")
    said = cli("computetarget", "check", "box")
    assert said.code == 1 and "bad  aml_config/box.runconfig:2: `Framwork` is not a key" in said.out, (
        said.out + said.err
    )
    assert "ok   base image: " in said.out, "the machine is looked at all the same"


def test_python_in_the_image(project, cli, docker_host):
    text = "type: docker\nbaseDockerImage: {}\nuserManagedEnvironment: true\n"
    project.write("aml_config/docker.compute", text.format("jig-test/python:1"))
    said = cli("computetarget", "check", "docker")
    assert said.code == 0 and re.fullmatch(r"/usr/bin/python3 3\.\d+\.\d+", told(said.out)["python in the image"])
    project.write("aml_config/docker.compute", text.format(IMAGE))
    said = cli("computetarget", "check", "docker")
    assert said.code == 1
    assert told(said.out)["python in the image"].startswith("bad: there is no python and no python3 in the ")
    assert fixes(said.out)[-1].startswith("set pythonLocation to the full path of an interpreter in it")


def test_no_gpu_to_be_had(project, cli, docker_host):
    """The reason and the fix, at once; the files are there all the same."""
    said = cli(*ATTACH, "--image", IMAGE, "--gpu")
    assert said.code == 0, said.err
    assert told(said.out)["GPU in containers"].startswith("bad: ")
    assert "`nvidiaDocker: false`" in said.out.split("GPU in containers: ")[1].split("     fix: ")[1]
    assert said.out.endswith("once that is mended:  jig computetarget check docker\n")
    assert cli("computetarget", "check", "docker").code == 1


def test_no_docker_program(project, cli, no_docker):
    said = cli(*ATTACH)
    assert said.code == 0, said.err
    assert told(said.out)["docker"] == "bad: there is no program docker on this machine"
    assert any(fix.startswith("install it: `sudo apt-get install docker.io`") for fix in fixes(said.out))
    assert written(project).kind == "localdocker"
    assert cli("computetarget", "check", "docker").code == 1


def test_no_engine(project, cli, no_engine, tmp_path):
    said = cli(*ATTACH, "--gpu")
    reason = f"the Docker engine is not running (nobody answers at {tmp_path}/docker.sock)"
    assert told(said.out)["docker"] == f"bad: {reason}"
    fix = said.out.split(reason)[1].split("     fix: ")[1]
    assert fix.startswith(f"DOCKER_HOST is set to unix://{tmp_path}/docker.sock: correct it, or unset it")
    assert "base image" not in told(said.out)


def test_neither_an_engine_nor_a_gpu(project, cli, no_engine, tmp_path, monkeypatch):
    """That the machine has none is told at once, and not when Docker has been mended."""
    for name, value in (("CARDS", str(tmp_path)), ("DRIVER_FOLDER", str(tmp_path / "no")), ("_found", lambda *_: "")):
        monkeypatch.setattr(f"jig.runner.engine_gpu_lacks.{name}", value)
    monkeypatch.setattr("jig.runner.engine_gpu.NODES", ())
    rows = told(cli(*ATTACH, "--gpu").out)
    assert rows["GPU in containers"] == rows["GPU"] == "bad: this machine has no NVIDIA GPU"
    assert cli("computetarget", "detach", "docker").code == 0
    assert told(cli(*ATTACH).out)["GPU in containers"] == "note: this target asks for none"


def test_an_engine_that_hangs(project, cli, make_engine, monkeypatch):
    engine = make_engine()
    point_docker_at(engine, monkeypatch)
    monkeypatch.setattr("jig.runner.probe_engine.ANSWER_S", 0.5)
    engine.pause()
    try:
        said = cli(*ATTACH)
    finally:
        engine.resume()
    assert said.code == 0, said.err
    assert told(said.out)["docker"] == "bad: the Docker engine has not done `docker version` within 0.5 s"


def test_a_driver_and_no_toolkit(project, cli, docker_host, driver_here):
    """The commonest of all: nvidia-smi works, and containers get no GPU."""
    said = cli(*ATTACH, "--image", IMAGE, "--gpu")
    lacks = "this machine lacks NVIDIA's container toolkit"
    assert told(said.out)["GPU in containers"].startswith(f"bad: {lacks}")
    assert "    " + "  sudo apt-get update && sudo apt-get install -y nvidia-container-toolkit\n" in said.out
    assert cli("computetarget", "check", "docker").code == 1


@pytest.mark.parametrize("way", ["by_gpus", "by_runtime"])
def test_gpus(project, cli, make_engine, driver_here, monkeypatch, way):
    point_docker_at(make_engine(**getattr(driver_here, way)()), monkeypatch)
    said = cli(*ATTACH, "--image", IMAGE, "--gpu")
    option = {"by_gpus": "--gpus all", "by_runtime": "--runtime=nvidia -e NVIDIA_VISIBLE_DEVICES=all"}[way]
    assert told(said.out)["GPU in containers"].startswith(f"yes, by `docker run {option}")
    assert cli("computetarget", "check", "docker").code == 0


def test_gpus_by_cdi(project, cli, cdi_engine, driver_here, monkeypatch):
    point_docker_at(cdi_engine, monkeypatch)
    rows = told(cli(*ATTACH, "--image", IMAGE, "--gpu").out)
    assert rows["GPU in containers"] == "yes, by `docker run --device nvidia.com/gpu=all`"


def test_what_has_no_use_here(project, cli):
    for words in (("-a", "gpu1"), ("-u", "ada"), ("--accept-host-key",), ("-k",)):
        said = cli(*ATTACH, *words)
        assert said.code == 2 and f"localdocker is Docker on this machine: {words[0]} has no use" in said.err
    assert "-a, -u have no use" in cli(*ATTACH, "-a", "gpu1", "-u", "ada").err
    for kind, option in (("remote", ("--image", "x")), ("cluster", ("--gpu",))):
        said = cli("computetarget", "attach", kind, "-n", "x", "-a", "h", "-u", "u", *option)
        assert said.code == 2 and f"{option[0]} is for containers, and {kind} has none" in said.err
    said = cli(*ATTACH, "--image=--privileged")
    assert said.code == 2 and "'--privileged' is not the name of an image" in said.err
    assert sorted(os.listdir(project.path / "aml_config")) == ["local.compute", "local.runconfig"]


def test_a_name_that_is_taken(project, cli, no_engine):
    assert cli(*ATTACH).code == 0
    before = (project.path / "aml_config/docker.compute").read_text()
    said = cli(*ATTACH, "--image", "other")
    assert said.code == 2 and "aml_config/docker.compute exists already" in said.err
    assert "edit it, choose another name, or delete it with:  jig computetarget detach docker" in said.err
    assert (project.path / "aml_config/docker.compute").read_text() == before


@pytest.mark.parametrize(
    "word, meant", [("dockerlocal", "localdocker"), ("dockerremote", "remotedocker"), ("remot", "remote")]
)
def test_a_kind_that_is_none(project, cli, word, meant):
    said = cli("computetarget", "attach", word, "-n", "x")
    assert said.code == 2 and f"hint: did you mean {meant}? write one of remote, " in said.err


def test_a_target_without_a_machine(project, cli):
    said = cli("computetarget", "check", "local")
    assert said.code == 2 and "hint: its runs are processes of this computer" in said.err


def test_show_and_detach(project, cli, no_engine):
    assert cli(*ATTACH, "--gpu").code == 0
    assert cli("computetarget", "show", "docker", "-o", "json").json() == {
        "name": "docker",
        "type": "localdocker",
        "baseDockerImage": "python:3.11",
        "sharedVolumes": True,
        "nvidiaDocker": True,
        "nativeSharedDirectory": "~/.azureml/share/",
        "environment": "managed by jig",
    }
    said = cli("computetarget", "detach", "docker")
    assert said.code == 0 and said.out == "deleted aml_config/docker.runconfig\ndeleted aml_config/docker.compute\n"


def test_an_image_that_brings_its_own_python(project, cli):
    project.write("aml_config/docker.compute", "type: docker\nbaseDockerImage: x\nuserManagedEnvironment: true\n")
    shown = cli("computetarget", "show", "docker", "-o", "json").json()
    assert (shown["pythonLocation"], shown["environment"]) == ("python", "the image's own Python")
