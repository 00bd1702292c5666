"""A GPU in the container, by each way that an engine offers; or a refusal in seconds, and never a run without it."""

import os
import shutil
import time

import pytest

from jig.runner import events
from jig.runner.folder import Home
from jig.system import carriers, command_line
from tests.conftest import until
from tests.engines.gpu.driver import UUIDS
from tests.gpu.test_runs import write_torch

# What a framework does first: load NVIDIA's library, and count.
LOOK = """
import ctypes, os, subprocess
count = ctypes.c_uint()
library = ctypes.CDLL("libnvidia-ml.so.1")
library.nvmlInit_v2()
library.nvmlDeviceGetCount_v2(ctypes.byref(count))
print(count.value, "seen by the library", flush=True)
subprocess.check_call(["nvidia-smi", "--query-gpu=uuid", "--format=csv,noheader"])
"""
WAYS = ("cdi", "gpus", "runtime", "nvidia-docker")


@pytest.fixture
def with_gpu(request, driver_here, docker_in, monkeypatch):
    """with_gpu(way) → a project whose engine gives containers the GPU that this machine seems to have, in that way."""

    def make(way: str):
        if way == "cdi":
            engine = request.getfixturevalue("cdi_engine")
        elif way == "nvidia-docker":
            driver_here.by_nvidia_docker(monkeypatch)
            engine = request.getfixturevalue("engine")
        else:
            make_engine = request.getfixturevalue("make_engine")
            engine = make_engine(**(driver_here.by_gpus() if way == "gpus" else driver_here.by_runtime()))
        project = docker_in(engine)
        project.target(nvidiaDocker=True)
        project.write("look.py", LOOK)
        return project

    return make


def gpu_of(jig_home, run_id: str) -> str:
    """The way to the GPU, as the record tells it."""
    past = events.read(Home(str(jig_home)).run(run_id).events)
    return next(event["gpu"] for event in past if event["event"] == "running")


def seen(said) -> "list[str]":
    """The GPUs that the script found."""
    assert said.code == 0, said.out + said.err
    count, *uuids = [line for line in said.out.splitlines() if "seen by" in line or line.startswith("GPU-")]
    assert count == f"{len(uuids)} seen by the library"
    return uuids


def assert_refused(said, cli, *words: str) -> None:
    """No run, and nothing pulled or built for one."""
    assert said.code == 125, said.out + said.err
    reason, _, hint = said.err.partition("\nhint: ")
    for word in words:
        assert word in reason, said.err
    assert reason.startswith("error: ") and hint.strip()
    assert said.out == "" and "pulling" not in said.err and "making" not in said.err
    assert cli("history", "list", "-o", "json").json() == []


@pytest.mark.parametrize("way", WAYS)
def test_a_script_finds_the_gpus(with_gpu, cli, jig_home, way):
    project = with_gpu(way)
    said = cli("submit", "-c", "docker", "look.py")
    assert seen(said) == list(UUIDS)
    assert gpu_of(jig_home, said.run_id) == way
    project.runconfig("docker", Gpus=1)
    assert seen(cli("submit", "-c", "docker", "look.py")) == [UUIDS[0]]
    assert project.containers() == []


@pytest.mark.parametrize("way", ["gpus", "nvidia-docker"])
def test_where_files_are_copied(with_gpu, cli, way):
    project = with_gpu(way)
    project.target(nvidiaDocker=True, sharedVolumes=False)
    assert seen(cli("submit", "-c", "docker", "look.py")) == list(UUIDS)


def test_none_is_given_that_was_not_asked_for(with_gpu, cli):
    project = with_gpu("gpus")
    project.write("none.py", "import os; print(os.path.exists('/dev/nvidiactl'))")
    project.target()
    assert "\nFalse\n" in cli("submit", "-c", "docker", "none.py").out
    project.target(nvidiaDocker=True)
    project.runconfig("docker", Gpus=0)
    assert "\nFalse\n" in cli("submit", "-c", "docker", "none.py").out
    project.runconfig("docker")
    assert "\nTrue\n" in cli("submit", "-c", "docker", "none.py").out


def test_more_than_there_are(with_gpu, cli):
    with_gpu("runtime").runconfig("docker", Gpus=3)
    said = cli("submit", "-c", "docker", "look.py")
    assert_refused(said, cli, "this machine has 2 GPUs, and the run asks for number 2 ")


# Refused


@pytest.fixture
def without(docker, driver_here):
    """A project that wants a GPU and an image that is nowhere, in an engine that knows nothing of the driver."""
    docker.target("nowhere.invalid/none:1", nvidiaDocker=True)
    docker.write("look.py", LOOK)
    return docker


def test_no_toolkit(without, cli):
    began = time.monotonic()
    said = cli("submit", "-c", "docker", "look.py")
    assert time.monotonic() - began < 10
    assert_refused(said, cli, "this machine lacks NVIDIA's container toolkit, which gives containers the GPU")
    assert "sudo apt-get install -y nvidia-container-toolkit" in said.err
    assert "to run without a GPU, set `nvidiaDocker: false`" in said.err
    again = cli("experiment", "prepare", "-c", "docker")
    assert again.code == 125 and "lacks NVIDIA's container toolkit" in again.err
    assert without.engine.docker("ps", "-aq") == ""


def test_a_driver_that_is_not_loaded(without, driver_here, cli):
    driver_here.unload()
    said = cli("submit", "-c", "docker", "look.py")
    assert_refused(said, cli, "the NVIDIA driver of this machine is installed and not loaded")


def test_an_engine_that_is_too_old(without, cli, tmp_path, monkeypatch):
    """One of 2018, as the original's machines had: it is played by the docker program."""
    docker = shutil.which("docker")
    script = f"""#!/bin/sh
case "$*" in
info*) {docker} "$@" | sed 's/"ServerVersion":"[^"]*"/"ServerVersion":"18.06.3-ce"/' ;;
*--gpus*) echo 'unknown flag: --gpus' >&2; exit 125 ;;
*) exec {docker} "$@" ;;
esac
"""
    (tmp_path / "old").mkdir()
    (tmp_path / "old/docker").write_text(script)
    (tmp_path / "old/docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/old:{os.environ['PATH']}")
    said = cli("submit", "-c", "docker", "look.py")
    assert_refused(said, cli, "the Docker engine (version 18.06.3-ce) is too old to give a container a GPU")


def test_an_engine_that_promises_and_gives_none(make_engine, driver_here, docker_in, cli):
    """A runtime of that name which is the plain one: the container would start, and compute on the processor."""
    project = docker_in(make_engine(runtimes={"nvidia": {"path": "/usr/sbin/runc"}}))
    project.target(nvidiaDocker=True)
    project.write("look.py", "print('on the processor')")
    said = cli("submit", "-c", "docker", "look.py")
    assert_refused(said, cli, "the engine takes the wish for a GPU, and gives the container none")


# What worked yesterday


def test_a_driver_that_was_unloaded_since(with_gpu, driver_here, cli):
    with_gpu("gpus")
    assert seen(cli("submit", "-c", "docker", "look.py")) == list(UUIDS)
    driver_here.unload()
    said = cli("submit", "-c", "docker", "look.py")
    assert said.code == 125 and "driver" in said.err and "hint: " in said.err
    assert len(cli("history", "list", "-o", "json").json()) == 1
    driver_here.load()
    assert seen(cli("submit", "-c", "docker", "look.py")) == list(UUIDS)


@pytest.mark.parametrize("way", ["cdi", "runtime"])
def test_a_toolkit_that_was_removed_since(with_gpu, driver_here, cli, way):
    """Nobody asks an engine each time: a way that no longer works ends the run with its reason, and is tried anew."""
    project = with_gpu(way)
    assert seen(cli("submit", "-c", "docker", "look.py")) == list(UUIDS)
    place = "cdi/nvidia.json" if way == "cdi" else "runtime/nvidia-container-runtime"
    (driver_here.folder / place).unlink()
    said = cli("submit", "-c", "docker", "look.py")
    assert said.code == 125, said.out
    status = cli("status", said.run_id, "-o", "json").json()
    assert (status["state"], status["reason"]) == ("Failed", "not-started")
    assert project.containers() == []
    said = cli("submit", "-c", "docker", "look.py")
    assert said.code == 125 and said.out == "" and said.err.startswith("error: ") and "hint: " in said.err


def test_a_toolkit_that_gives_nothing_since(with_gpu, driver_here, cli):
    """The engine starts the container as if all were well: what is missing is found out inside."""
    project = with_gpu("runtime")
    assert seen(cli("submit", "-c", "docker", "look.py")) == list(UUIDS)
    program = driver_here.folder / "runtime/nvidia-container-runtime"
    program.unlink()
    program.write_text('#!/bin/sh\nexec runc "$@"\n')
    program.chmod(0o755)
    project.write("look.py", "print('on the processor')")
    said = cli("submit", "-c", "docker", "look.py")
    assert said.code == 125 and "on the processor" not in said.out, said.out
    assert "the container was started without a GPU" in said.out
    said = cli("submit", "-c", "docker", "look.py")
    assert said.code == 125 and "the engine takes the wish for a GPU, and gives the container none" in said.err


def past(jig_home, run_id: str) -> "list[dict]":
    return events.read(Home(str(jig_home)).run(run_id).events)


def test_what_a_container_did_with_the_gpu_is_proven(with_gpu, driver_here, cli, jig_home):
    """The driver tells of processes by their numbers outside."""
    project = with_gpu("gpus")
    project.runconfig("docker", Gpus=1)
    project.write("train.py", "import time\ntime.sleep(4)\n")
    run_id = cli("submit", "-a", "-c", "docker", "train.py").run_id

    def script() -> "list[int]":
        return [pid for pid in carriers("JIG_RUN_ID", run_id) if "train.py" in command_line(pid)]

    pid = until(script)[0]
    (uuid,) = next(event["uuids"] for event in past(jig_home, run_id) if event["event"] == "leased")
    driver_here.set(UUIDS.index(uuid), process=[(pid, 700, 80)], busy=80, used=700)
    until(lambda: past(jig_home, run_id)[-1]["event"] in events.FINAL, timeout=60)
    last = past(jig_home, run_id)[-1]
    assert (last["event"], last["proof"]["verdict"]) == ("completed", "used")
    assert last["proof"]["peak_memory_bytes"] == 700 << 20
    assert [device["uuid"] for device in last["proof"]["devices"]] == [uuid]
    assert last["proof"]["shared"] is False


def test_two_containers_share_two_devices(with_gpu, cli, jig_home):
    project = with_gpu("gpus")
    project.runconfig("docker", Gpus=1)
    project.write("train.py", "import time\ntime.sleep(5)\n")
    runs = [cli("submit", "-a", "-c", "docker", "train.py").run_id for _ in range(2)]
    for run_id in runs:
        until(lambda run_id=run_id: any(event["event"] == "leased" for event in past(jig_home, run_id)))
    leased = [event["uuids"] for run_id in runs for event in past(jig_home, run_id) if event["event"] == "leased"]
    assert sorted(leased) == sorted([uuid] for uuid in UUIDS)
    for run_id in runs:
        until(lambda run_id=run_id: past(jig_home, run_id)[-1]["event"] in events.FINAL, timeout=60)


def test_a_container_must_have_a_framework_that_can_use_it(with_gpu, cli, jig_home):
    project = with_gpu("gpus")
    project.runconfig("docker", RequireGpu=True)
    write_torch(project, version="2.4.0+cpu", cuda=None)
    project.write("train.py", "import torch\nprint('trains')\n")
    said = cli("submit", "-c", "docker", "train.py")
    last = past(jig_home, said.run_id)[-1]
    assert (last["event"], last["reason"]) == ("failed", "gpu-refused"), said.out
    assert last["detail"] == "torch 2.4.0+cpu is built without CUDA: it can only compute on the CPU"
    write_torch(project, count=1)
    assert "trains\n" in cli("submit", "-c", "docker", "train.py").out


def test_why_a_container_used_none(with_gpu, cli, jig_home):
    project = with_gpu("gpus")
    write_torch(project, count=1, folder="packages/")
    project.runconfig("docker", EnvironmentVariables={"PYTHONPATH": "/azureml-run/packages"})
    project.write("train.py", "import torch, time\ntime.sleep(0.5)\n")
    said = cli("submit", "-c", "docker", "train.py")
    assert past(jig_home, said.run_id)[-1]["cause"].startswith(
        "Torch 2.4.0 can use the GPU, and the script never put anything there. Fix: move the model"
    )
    assert project.containers() == []
