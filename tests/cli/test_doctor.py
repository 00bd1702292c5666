"""`jig doctor` on this computer, which seems to have a driver: every finding, its fix, the exit code."""

import os
import shlex
import subprocess
import sys
import time

import pytest

from tests.engines.fixtures import point_docker_at

HOPPER = b"sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90"


@pytest.fixture(autouse=True)
def bare_python(monkeypatch, tmp_path):
    """The `python` of this computer has no packages: the tests' own has PyTorch for processors."""
    folder = tmp_path / "bare"
    folder.mkdir()
    for name in ("python", "python3"):
        (folder / name).symlink_to(sys._base_executable)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture
def no_gpu(monkeypatch, tmp_path):
    """A machine without a card, a driver or its programs, whatever this one has."""
    for name, value in (("CARDS", str(tmp_path)), ("DRIVER_FOLDER", str(tmp_path / "no"))):
        monkeypatch.setattr(f"jig.runner.engine_gpu_lacks.{name}", value)
    monkeypatch.setattr("jig.runner.environment._NVIDIA", ())
    monkeypatch.setattr("jig.runner.doctor.NODES", str(tmp_path))
    monkeypatch.setattr("jig.runner.doctor.find_program", lambda *_: "")


@pytest.fixture
def python_with(project, tmp_path):
    """python_with(torch=…) → the project's own Python has this build, without being able to import it."""
    folder = tmp_path / "packages"

    def make(version: str, cuda: "str | None", arches: bytes = HOPPER) -> None:
        (folder / f"torch-{version}.dist-info").mkdir(parents=True)
        (folder / "torch/lib").mkdir(parents=True)
        (folder / "torch/__init__.py").write_text("raise RuntimeError('imported')")
        (folder / "torch/version.py").write_text(f"__version__ = {version!r}\ncuda: Optional[str] = {cuda!r}\n")
        (folder / "torch/lib/libtorch_python.so").write_bytes(b"\x7fELF" + bytes(5000) + b"\0sm_61 \0" + arches + b"\0")
        python = tmp_path / "python"
        words = shlex.join(["env", f"PYTHONPATH={folder}", sys.executable])
        python.write_text(f'#!/bin/sh\necho a greeting\nexec {words} "$@"\n')
        python.chmod(0o755)
        project.write("aml_config/local.compute", f"type: local\npythonLocation: {python}\n")

    return make


def lines(said) -> "list[str]":
    """What was printed, without what depends on this machine."""
    own = ("ok   machine: ", "ok   disk: ", "ok   shared memory: ", "ok   docker: ", "ok   runs: ")
    return [line for line in said.out.splitlines() if not line.startswith(own)]


def found(said, what: str) -> "dict[str, object]":
    (finding,) = [finding for finding in said.json() if finding["what"] == what]
    return finding


def test_no_gpu(no_gpu, cli, tmp_path, monkeypatch):
    """Outside a project too; and it is the same in the words that a script reads."""
    monkeypatch.chdir(tmp_path)
    said = cli("doctor")
    assert said.code == 1 and said.err == ""
    assert lines(said)[1:] == [
        "bad  GPU: this machine has no NVIDIA GPU",
        "     fix: run it on a machine that has one: `jig computetarget attach remote -n NAME -a HOST -u USER`",
        "a GPU run would not work here: GPU",
    ]
    again = cli("doctor", "-o", "json")
    assert again.code == 1
    assert found(again, "GPU") == {
        "what": "GPU",
        "found": "this machine has no NVIDIA GPU",
        "status": "bad",
        "fix": "run it on a machine that has one: `jig computetarget attach remote -n NAME -a HOST -u USER`",
        "only_gpu": True,
    }
    assert found(again, "machine")["status"] == "ok"


def test_a_gpu_run_would_work(driver_here, project, cli, python_with):
    driver_here.set_driver(version="570.86.15", cuda=12080)
    for index in (0, 1):
        driver_here.add(index, f"GPU-{index}", 143771, "Pretended H200", capability=(9, 0))
    python_with("2.6.0+cu124", "12.4")
    said = cli("doctor")
    assert said.code == 0, said.out
    version = ".".join(map(str, sys.version_info[:3]))
    python = project.path.parent / "python"
    assert lines(said) == [
        f"ok   python: {version} ({python})",
        "ok   NVIDIA driver: 570.86.15, which serves CUDA up to 12.8",
        "ok   GPU 0: Pretended H200, compute capability 9.0, 140.4 GiB of 140.4 GiB free",
        "ok   GPU 1: Pretended H200, compute capability 9.0, 140.4 GiB of 140.4 GiB free",
        "ok   permissions: this user may open /dev/nvidia0, /dev/nvidia1 and /dev/nvidiactl",
        f"ok   torch 2.6.0+cu124: made with CUDA 12.4 (installed for {python}), which the driver serves",
        "a GPU run would work here",
    ]


@pytest.mark.parametrize(
    ("version", "cuda", "told", "fix"),
    [
        ("2.6.0+cpu", None, "this build computes on CPUs only", "install there `torch==2.6.0`, and no index that "),
        ("2.9.0+cu130", "13.0", "needs driver 580.65.06 or newer; the machine has 535.1", "whl/cu118` and `torch==2.7"),
        ("2.6.0+cu124", "12.4", "without code for compute capability 3.7; it is made for 5.0", "whl/cu118` and `torch"),
    ],
)
def test_a_build_that_does_not_fit(driver_here, project, cli, python_with, version, cuda, told, fix):
    python_with(version, cuda)
    said = cli("doctor", "-o", "json")
    assert said.code == 1
    finding = found(said, f"torch {version}")
    assert finding["status"] == "bad" and told in finding["found"] and fix in finding["fix"]


def test_a_build_that_is_asked_for(driver_here, project, cli):
    """Nothing is installed yet: the line that will bring it is named."""
    driver_here.set(0, capability=(9, 0))
    driver_here.set(1, capability=(9, 0))
    project.write("aml_config/local.compute", "type: local\nuserManagedEnvironment: false\n")
    text = "dependencies:\n  - python=3.11\n  - pip:\n    - torch==2.9.0+cu130\n"
    file = project.write("aml_config/conda_dependencies.yml", text)
    said = cli("doctor")
    assert said.code == 1
    assert "ok   python: the first run builds it, from aml_config/conda_dependencies.yml\n" in said.out
    bad = "bad  torch 2.9.0+cu130: made with CUDA 13.0 (aml_config/conda_dependencies.yml:4), which needs driver "
    assert bad + "580.65.06 or newer; the machine has 535.1\n" in said.out
    fix = "     fix: in aml_config/conda_dependencies.yml, under `- pip:`, write `--extra-index-url "
    assert fix + "https://download.pytorch.org/whl/cu128` and `torch==2.9.*`; or update the driver to " in said.out
    assert said.out.endswith("a GPU run would not work here: torch 2.9.0+cu130\n")
    file.write_text(text.replace("+cu130", "").replace("    - torch", "    - --oops\n    - torch"))
    said = cli("doctor")
    assert said.code == 1 and "bad  aml_config/conda_dependencies.yml:4: " in said.out, "a fault in it is a finding"


def test_memory_errors_and_instances(driver_here, project, cli):
    driver_here.set(0, ecc=3)
    driver_here.set(1, mig_mode=1, mig=[("MIG-7", 9728, 0, "Pretended MIG 1g.10gb")])
    said = cli("doctor", "-o", "json")
    assert said.code == 0
    errors = found(said, "GPU 0 memory errors")
    assert errors["status"] == "warn" and errors["found"].startswith("3 that could not be corrected")
    assert "`sudo nvidia-smi --gpu-reset -i 0`" in errors["fix"]
    assert found(said, "GPU 1")["found"].endswith("a process can use one of them, not several")


def test_somebody_fills_the_memory(driver_here, project, cli):
    sleeper = subprocess.Popen(["sleep", "60"])
    try:
        for index in (0, 1):
            driver_here.set(index, used=11000, process=[(sleeper.pid, 10900, 0)])
        said = cli("doctor", "-o", "json")
    finally:
        sleeper.kill()
        sleeper.wait()
    assert said.code == 1
    finding = found(said, "GPU 1 memory")
    assert finding["status"] == "bad"
    assert finding["found"] == f"0.4 GiB of 11.2 GiB are free: `sleep` of root (process {sleeper.pid}) has 10.6 GiB"


@pytest.mark.parametrize(
    ("code", "sentence"),
    [(18, "the NVIDIA driver was updated and the old one is still loaded"), (999, "an error that it does not explain")],
)
def test_a_driver_that_fails(driver_here, project, cli, code, sentence):
    driver_here.set_driver(error=[("nvmlInit", code)])
    said = cli("doctor", "-o", "json")
    assert said.code == 1
    failed = [finding for finding in said.json() if finding["status"] == "bad"]
    assert [finding["what"] for finding in failed] == ["NVIDIA driver"]
    assert sentence in failed[0]["found"] and "restart the machine" in failed[0]["fix"]


def test_a_driver_that_is_not_loaded(driver_here, project, cli):
    driver_here.unload()
    assert "bad  NVIDIA driver: it is installed on this machine, and not loaded\n" in cli("doctor").out


def test_a_driver_that_hangs(driver_here, project, cli, monkeypatch):
    """The rest is told all the same, and in time."""
    monkeypatch.setattr("jig.runner.doctor.QUICK_S", 1.0)
    driver_here.set_driver(hang=["nvmlInit"])
    began = time.monotonic()
    said = cli("doctor", "-o", "json")
    assert time.monotonic() - began < 5
    assert said.code == 1 and found(said, "disk")["status"] == "ok"
    hung = [finding for finding in said.json() if finding["status"] == "bad"]
    assert hung[0]["found"] == "the NVIDIA driver does not answer within 1 s"


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        (
            {"Gpus": 0},
            "bad  Gpus: aml_config/local.runconfig says `Gpus: 0`, which hides every GPU\n"
            "     fix: remove the line (the run then sees every GPU), or write the number that it wants\n",
        ),
        (
            {"EnvironmentVariables": {"CUDA_VISIBLE_DEVICES": "-1"}},
            "bad  CUDA_VISIBLE_DEVICES: aml_config/local.runconfig sets it to '-1', which hides every GPU\n",
        ),
    ],
)
def test_a_configuration_that_hides_the_gpus(driver_here, project, cli, keys, told):
    assert cli("doctor").code == 0
    project.runconfig("local", **keys)
    said = cli("doctor")
    assert said.code == 1 and said.out.startswith(told)


def test_a_configuration_with_faults(driver_here, project, cli):
    """They are findings, and the rest is looked at: the target of the same name, else this computer."""
    project.write("aml_config/local.compute", "type: local\npythonLocation: /nowhere/python\n")
    project.write("aml_config/local.runconfig", "Target: local\nGpus: two\nRequireGPU: true\n")
    said = cli("doctor", "-o", "json")
    assert said.code == 1 and said.err == ""
    assert found(said, "aml_config/local.runconfig:2")["fix"] == "write, for example, `Gpus: 1`"
    assert found(said, "aml_config/local.runconfig:3") == {
        "what": "aml_config/local.runconfig:3",
        "found": "`RequireGPU` is not a key of a .runconfig file",
        "status": "bad",
        "fix": "did you mean `RequireGpu`?",
        "only_gpu": False,
    }
    assert found(said, "python")["status"] == "bad" and found(said, "NVIDIA driver")["status"] == "ok"
    project.write("aml_config/other.runconfig", "Target: local\nGpus: two\n")
    said = cli("doctor", "-c", "other")
    assert said.code == 1 and said.out.startswith("bad  aml_config/other.runconfig:2: `Gpus` must be how many GPUs ")
    assert said.out.endswith("\na GPU run would not work here: aml_config/other.runconfig:2\n"), "this computer is well"


def test_no_python(driver_here, project, cli):
    project.write("aml_config/local.compute", "type: local\npythonLocation: /nowhere/python\n")
    said = cli("doctor", "-o", "json")
    assert said.code == 1
    assert (
        found(said, "python")["found"] == "there is no interpreter at pythonLocation '/nowhere/python' on this machine"
    )
    assert found(said, "python")["fix"] == "set pythonLocation in the .compute file"


def test_a_configuration_that_is_not_there(project, cli):
    said = cli("doctor", "-c", "lokal")
    assert said.code == 2 and "lokal" in said.err
    said = cli("doctor", "-c", "box")
    assert said.code == 2 and "`jig computetarget attach remote -n box -a HOST -u USER` writes it" in said.err


def test_outside_a_project(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = cli("doctor", "-c", "box")
    assert said.code == 2 and said.err.endswith("makes a project; or go into the folder of one\n")


# Containers

DOCKER = "type: docker\nbaseDockerImage: jig-test/python:1\nuserManagedEnvironment: true\n"


def test_containers_that_get_no_gpu(docker_host, driver_here, project, cli):
    """A target that asks for none works, and a run on it that wants a GPU does not."""
    project.write("aml_config/docker.compute", DOCKER)
    project.runconfig("docker")
    said = cli("doctor", "-c", "docker")
    assert said.code == 1
    assert (
        "bad  GPU in containers: this target asks for none\n"
        "     fix: write `nvidiaDocker: true` into aml_config/docker.compute\n" in said.out
    )
    checked = cli("computetarget", "check", "docker")
    assert checked.code == 0, checked.out
    assert "note GPU in containers: this target asks for none\n" in checked.out
    assert checked.out.endswith("a GPU run would not work here: GPU in containers\n")
    project.runconfig("docker", Gpus=1)
    assert cli("computetarget", "check", "docker").code == 1, "the run configuration of that name asks for one"


def test_containers_on_a_machine_without_a_gpu(no_gpu, docker_host, project, cli):
    project.write("aml_config/docker.compute", DOCKER + "nvidiaDocker: true\n")
    project.runconfig("docker")
    fix = found(cli("doctor", "-c", "docker", "-o", "json"), "GPU")["fix"]
    attach = "`jig computetarget attach remotedocker -n NAME -a HOST -u USER --gpu`"
    assert fix == f"run it on a machine that has one: {attach}"


def test_containers_with_a_gpu(make_engine, driver_here, project, cli, monkeypatch):
    point_docker_at(make_engine(**driver_here.by_gpus()), monkeypatch)
    project.write("aml_config/docker.compute", DOCKER + "nvidiaDocker: true\n")
    project.runconfig("docker")
    said = cli("doctor", "-c", "docker", "-o", "json")
    assert said.code == 0, said.out
    assert found(said, "GPU in containers")["found"] == "yes, by `docker run --gpus all`"
    assert found(said, "python in the image")["found"].startswith("/usr/bin/python3 3.")
    began = time.monotonic()
    assert cli("doctor", "-c", "docker").code == 0
    assert time.monotonic() - began < 10


def test_the_python_of_an_image_is_asked(docker_host, driver_here, project, cli, tmp_path):
    """A framework in the image, told without being imported."""
    folder = tmp_path / "image"
    packages = folder / "packages"
    (packages / "torch-2.6.0+cpu.dist-info").mkdir(parents=True)
    (packages / "torch").mkdir()
    (packages / "torch/version.py").write_text("cuda = None\n")
    container = docker_host.docker("create", "jig-test/python:1", "true").strip()
    docker_host.docker("cp", str(packages), f"{container}:/packages")
    changes = ("--change", "ENV PYTHONPATH=/packages", "--change", "ENV CUDA_VERSION=13.0.1")
    docker_host.docker("commit", *changes, container, "jig-test/with-torch:1")
    project.write("aml_config/docker.compute", DOCKER.replace("python:1", "with-torch:1"))
    project.runconfig("docker")
    said = cli("doctor", "-c", "docker", "-o", "json")
    assert found(said, "torch 2.6.0+cpu")["found"].startswith(
        "this build computes on CPUs only (installed for /usr/bin"
    )
    image = found(said, "CUDA of the image 13.0.1")
    assert image["status"] == "bad" and image["fix"].startswith("name an image with CUDA 12 in baseDockerImage")
