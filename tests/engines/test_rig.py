"""The engines do what they say, as the plain `docker` program sees it."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import alive, until
from tests.control_group import groups
from tests.engines.engine import Engine
from tests.engines.fixtures import tidy
from tests.engines.gpu import Driver
from tests.engines.gpu.driver import UUIDS
from tests.engines.reach import reach
from tests.hosts.folders import PREFIX, sweep
from tests.hosts.plain_ssh import PlainSsh

REPOSITORY = Path(__file__).parents[2]


def run(engine: Engine, *words: str, **options) -> str:
    return engine.docker("run", "--rm", "--network=host", *words, **options)


def state(engine: Engine, name: str) -> str:
    return engine.docker("inspect", "--format={{.State.Status}} {{.State.ExitCode}} {{.State.OOMKilled}}", name).strip()


# The base images


def test_an_image_with_python(engine):
    said = run(
        engine,
        "jig-test/python:1",
        "sh",
        "-c",
        "command -v python3; command -v pip; python3 -m pip --version | cut -c1-4",
    )
    assert said == "/usr/bin/python3\n/usr/bin/pip\npip \n"


def test_an_image_without_python(engine):
    assert (
        run(engine, "jig-test/plain:1", "sh", "-c", "ls /usr/bin/py* /usr/lib/py* /opt 2> /dev/null; echo .")
        == "/opt:\n.\n"
    )


def test_an_image_with_python_out_of_the_way(engine):
    look = (
        "command -v python; command -v python3; ls -d /usr/bin/py* /usr/lib/py* 2> /dev/null; python -m pip --version"
    )
    python, python3, pip = run(engine, "jig-test/conda:1", "sh", "-c", look).splitlines()
    assert (python, python3) == ("/opt/conda/bin/python", "/opt/conda/bin/python3")
    assert " from /opt/conda/lib/python3/dist-packages/pip " in pip
    code = "import ctypes, sqlite3, ssl, sys; print(sys.prefix, sys.base_prefix)"
    make = f"python -m venv --without-pip /v && /v/bin/python -c '{code}'"
    assert run(engine, "jig-test/conda:1", "sh", "-c", make) == "/v /opt/conda\n"


def test_a_container_reaches_a_package_index(engine):
    options, environ = reach()
    words = ("python3", "-m", "pip", "download", "-q", "--no-deps", "--no-binary=:none:", "-d", "/tmp", "six")
    assert run(engine, *options, "jig-test/python:1", *words, env={**os.environ, **environ}) == ""


# Engines


def test_docker_means_the_engine(docker_host):
    said = subprocess.run(["docker", "info", "--format={{.DockerRootDir}}"], capture_output=True, text=True)
    assert said.stdout == f"{docker_host.folder}/data\n"


def test_the_network_of_this_machine(engine):
    assert run(engine, "jig-test/plain:1", "readlink", "/proc/self/ns/net").strip() == os.readlink("/proc/self/ns/net")
    assert engine.docker("network", "ls", "--format={{.Name}}").split() == ["host", "none"]


def test_a_bridge(bridge_engine):
    assert bridge_engine.docker("run", "--rm", "jig-test/plain:1", "ls", "/sys/class/net") == "eth0\nlo\n"
    assert run(bridge_engine, "jig-test/plain:1", "ls", "/sys/class/net") == "docker0\nlo\n"
    assert run(bridge_engine, "jig-test/plain:1", "readlink", "/proc/self/ns/net").strip() != os.readlink(
        "/proc/self/ns/net"
    )


def test_for_a_group(make_engine):
    engine = make_engine(group=4321)
    client = ["docker", "-H", engine.address, "ps", "-q"]
    for group, code in ((4321, 0), (4322, 1)):
        person = ["setpriv", "--reuid=1234", f"--regid={group}", "--clear-groups", "env", "HOME=/nonexistent"]
        said = subprocess.run([*person, *client], capture_output=True, text=True)
        assert said.returncode == code and ("permission denied" in said.stderr) == bool(code), said.stderr


def test_memory_for_all_containers(make_engine):
    engine = make_engine(memory_bytes=64 << 20)
    engine.docker("create", "--network=host", "--name=big", "jig-test/python:1", "python3", "-c", "bytearray(80 << 20)")
    with pytest.raises(RuntimeError, match="ended with 137"):
        engine.docker("start", "-a", "big")
    assert state(engine, "big") == "exited 137 true"


def test_stopped_with_its_containers(make_engine):
    engine = make_engine()
    engine.docker("run", "-d", "--network=host", "--init", "--name=one", "jig-test/plain:1", "sleep", "4321")
    engine.stop()
    assert not engine.answers()
    engine.start()
    assert state(engine, "one") == "exited 143 false"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_restarted_under_its_containers(make_engine, number):
    engine = make_engine(live_restore=True)
    script = "trap 'exit 3' USR1; while :; do sleep 0.1; done"
    engine.docker("run", "-d", "--network=host", "--name=one", "jig-test/plain:1", "sh", "-c", script)
    engine.stop(number)
    engine.start()
    assert state(engine, "one") == "running 0 false"
    engine.docker("kill", "--signal=USR1", "one")
    assert engine.docker("wait", "one") == "3\n"


def test_paused(make_engine):
    engine = make_engine()
    engine.pause()
    assert not engine.answers(timeout_s=0.2)
    engine.resume()
    assert engine.answers(timeout_s=5)
    engine.pause()
    engine.stop(signal.SIGKILL)
    engine.start()
    assert engine.docker("ps", "-q") == ""
    engine.pause()  # and taken away so


# A GPU


def gpus(engine: Engine, *words: str) -> "list[str]":
    code = "import ctypes; n = ctypes.c_uint(); l = ctypes.CDLL('libnvidia-ml.so.1'); l.nvmlInit_v2(); l.nvmlDeviceGetCount_v2(ctypes.byref(n)); print(n.value)"  # fmt: skip
    command = f'nvidia-smi --query-gpu=uuid --format=csv,noheader && test -c /dev/nvidiactl && python3 -c "{code}"'
    *uuids, count = run(engine, *words, "jig-test/python:1", "sh", "-c", command).splitlines()
    assert int(count) == len(uuids)
    return uuids


def test_a_gpu_by_the_hook(make_engine, driver):
    engine = make_engine(**driver.by_gpus())
    assert gpus(engine, "--gpus=all") == gpus(engine, "--gpus=2") == list(UUIDS)
    assert gpus(engine, "--gpus=1") == [UUIDS[0]]
    assert gpus(engine, "--gpus=device=1") == gpus(engine, f"--gpus=device={UUIDS[1]}") == [UUIDS[1]]
    with pytest.raises(RuntimeError, match="nvidia-container-cli: device error: 7: unknown device"):
        gpus(engine, "--gpus=device=7")
    driver.unload()
    with pytest.raises(RuntimeError, match="initialization error: nvml error: driver not loaded"):
        gpus(engine, "--gpus=all")


def test_a_gpu_by_the_runtime(make_engine, driver):
    engine = make_engine(**driver.by_runtime())
    assert gpus(engine, "--runtime=nvidia", "--env=NVIDIA_VISIBLE_DEVICES=all") == list(UUIDS)
    assert gpus(engine, "--runtime=nvidia", "--env=NVIDIA_VISIBLE_DEVICES=1") == [UUIDS[1]]
    with pytest.raises(RuntimeError, match="nvidia-smi: not found"):
        gpus(engine, "--runtime=nvidia")
    with pytest.raises(RuntimeError, match="could not select device driver"):
        gpus(engine, "--gpus=all")


def test_a_gpu_by_cdi(cdi_engine):
    assert gpus(cdi_engine, "--device=nvidia.com/gpu=all") == list(UUIDS)
    assert gpus(cdi_engine, "--device=nvidia.com/gpu=0", "--device=nvidia.com/gpu=1") == list(UUIDS)
    assert gpus(cdi_engine, "--device=nvidia.com/gpu=1") == [UUIDS[1]]
    with pytest.raises(RuntimeError, match="unresolvable CDI devices nvidia.com/gpu=7"):
        gpus(cdi_engine, "--device=nvidia.com/gpu=7")


def test_a_gpu_by_the_old_program(docker_host, driver, monkeypatch):
    driver.by_nvidia_docker(monkeypatch)
    command = ["nvidia-docker", "run", "--rm", "--network=host", "jig-test/plain:1", "nvidia-smi", "-L"]
    said = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "NV_GPU": "1"})
    assert said.stdout == f"GPU 0: Pretended K80 (UUID: {UUIDS[1]})\n"


SIGNS = "ls /dev/nvidiactl /proc/driver/nvidia/gpus"


def test_a_gpu_of_this_machine(driver_here):
    ask = ["nvidia-smi", "--query-gpu=name,uuid,driver_version,memory.total", "--format=csv,noheader"]
    said = subprocess.run(ask, capture_output=True, text=True)
    assert said.stdout == "".join(f"Pretended K80, {uuid}, 535.1, 11441 MiB\n" for uuid in UUIDS)
    there = "/dev/nvidiactl\n\n/proc/driver/nvidia/gpus:\n0000:00:00.0\n0000:01:00.0\n"
    assert subprocess.run(SIGNS, shell=True, capture_output=True, text=True).stdout == there
    Path("/dev/null").write_bytes(b"still there")
    driver_here.unload()
    failed = subprocess.run(ask, capture_output=True, text=True)
    assert failed.returncode == 9 and failed.stdout.startswith("NVIDIA-SMI has failed because it couldn't communicate")
    assert not Path("/dev/nvidiactl").exists()


def test_a_gpu_of_this_machine_for_one_test_only(driver, tmp_path, monkeypatch):
    before = os.readlink("/proc/thread-self/ns/mnt"), os.path.exists("/dev/nvidiactl")
    monkeypatch.chdir(tmp_path)
    with driver.here():
        assert Path("/dev/nvidiactl").is_char_device() and Path("/proc/driver/nvidia/version").exists()
    assert (os.readlink("/proc/thread-self/ns/mnt"), os.path.exists("/dev/nvidiactl")) == before
    assert os.getcwd() == str(tmp_path)


# Over SSH


@pytest.fixture
def ssh(tmp_path):
    return PlainSsh(tmp_path / "client")


RUN = "docker run --rm --mount type=bind,src=$HOME/x,dst=/x jig-test/plain:1 sh -c 'cat /x/a; ls /sys/class/net; echo there > /x/b'"


def test_a_host_with_an_engine(docker_box, ssh):
    host = docker_box.host
    host.authorize(ssh.public_key)
    host.write("x/a", "here\n")
    assert ssh(host, RUN).stdout == "here\neth0\nlo\n"
    assert (host.home / "x/b").read_text() == "there\n"
    assert docker_box.engine.docker("images", "-q", "jig-test/python:1").count("\n") == 1
    docker_box.for_nobody()
    assert "permission denied" in ssh(host, RUN).stderr
    docker_box.reboot()
    assert docker_box.engine.docker("ps", "-q") == ""


def test_a_host_where_only_sudo_may(docker_box, ssh):
    docker_box.only_by_sudo()
    docker_box.host.authorize(ssh.public_key)
    assert "permission denied" in ssh(docker_box.host, "docker ps -q").stderr
    assert ssh(docker_box.host, "sudo -n docker images -q jig-test/plain").stdout.count("\n") == 1


def test_containers_reach_what_their_host_reaches(docker_box):
    with socket.create_server((docker_box.host.near_address, 0)) as server:
        server.settimeout(20)
        address = f"/dev/tcp/{docker_box.host.near_address}/{server.getsockname()[1]}"
        said = docker_box.host.run(f"docker run --rm jig-test/plain:1 bash -c 'echo hello > {address}'")
        assert said.returncode == 0, said.stderr
        with server.accept()[0] as connection:
            assert connection.recv(10) == b"hello\n"


@pytest.mark.parametrize("way, options", [(Driver.by_gpus, "--gpus=1"), (Driver.by_runtime, "--runtime=nvidia -e NVIDIA_VISIBLE_DEVICES=0")])  # fmt: skip
def test_a_host_with_a_gpu(make_docker_box, way, options):
    box = make_docker_box(gpu=way)
    box.reboot()
    assert box.host.run("nvidia-smi -L").stdout.splitlines()[1] == f"GPU 1: Pretended K80 (UUID: {UUIDS[1]})"
    assert box.host.run(SIGNS).stdout.count("\n") == 5
    inside = box.host.run(f"docker run --rm {options} jig-test/plain:1 nvidia-smi -L")
    assert inside.stdout == f"GPU 0: Pretended K80 (UUID: {UUIDS[0]})\n", inside.stderr


# Nothing is left


def mounted(folder: Path) -> bool:
    return str(folder) in Path("/proc/self/mounts").read_text()


LIVE = """
import sys, time
from tests.engines.engine import Engine
from tests.engines.prepared import furnish
from tests.hosts.folders import own_folder
with own_folder() as folder:
    furnish(folder / "engine/data")
    engine = Engine(folder / "engine", live_restore=True)
    engine.docker("run", "-d", "--network=host", "jig-test/plain:1", *sys.argv[2:])
    if sys.argv[1] == "paused":
        engine.pause()
    print(folder, flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("how", ["running", "paused"])
def test_nothing_is_left_when_the_tests_are_killed(engine, how):
    sleep = ("sleep", f"9{os.getpid()}")
    command = [sys.executable, "-c", LIVE, how, *sleep]
    with subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True) as tests:
        folder = Path(tests.stdout.readline().strip())
        assert alive(" ".join(sleep)) and alive(str(folder))
        tests.kill()
    until(lambda: not alive(str(folder)) and not alive(" ".join(sleep)), what="the end of every process")
    sweep()
    assert folder.name.startswith(PREFIX) and not folder.exists()
    assert not mounted(folder) and groups(f"{folder.name}-*") == []


def test_nothing_is_left_of_an_engine(make_engine):
    sleep, descriptors = ("sleep", f"8{os.getpid()}"), len(os.listdir("/proc/self/fd"))
    engine = make_engine(own_network=True)
    engine.docker("run", "-d", "jig-test/plain:1", *sleep)
    group = f"{engine.folder.parent.name}-{engine.folder.name}"
    assert alive(" ".join(sleep)) and groups(group)
    assert "containerd" in os.listdir(engine.folder / "run/files"), "what it writes elsewhere is caught"
    engine.close()
    assert not alive(" ".join(sleep)) and not alive(str(engine.folder))
    assert not mounted(engine.folder) and groups(group) == [] and len(os.listdir("/proc/self/fd")) == descriptors


def test_the_engine_of_the_session_is_given_back(engine):
    engine.docker("run", "-d", "--network=host", "--name=left", "jig-test/plain:1", "sleep", "60")
    engine.docker("commit", "left")
    engine.docker("tag", "jig-test/plain:1", "other:2")
    tidy(engine)
    assert engine.docker("ps", "-aq") == ""
    assert sorted(engine.docker("images", "--format={{.Repository}}:{{.Tag}}").split()) == [
        "jig-test/conda:1", "jig-test/plain:1", "jig-test/python:1",
    ]  # fmt: skip
