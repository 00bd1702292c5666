"""One look at the GPUs: whole answers, whose processes are there, and a driver that hangs, fails or is not there."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from jig.runner.gpu import look as looks
from jig.runner.gpu.look import look, owner
from tests.conftest import alive, environ, until
from tests.engines.gpu.driver import UUIDS
from tests.gpu.test_nvml import IDLE

MIB = 1 << 20
NOBODY = 65534


@pytest.fixture
def process():
    """process(name, user, **variables) → a process of that name, user and environment, which sleeps."""
    started = []

    def start(name: str = "train", user: int = 0, **variables: str) -> "subprocess.Popen[bytes]":
        words = [f"/somewhere/{name}", "600"]
        process = subprocess.Popen(words, executable=shutil.which("sleep"), env=variables, user=user)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


def children() -> "set[str]":
    """Of this process: other tests may have left some that they share."""
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text().split())


def test_a_whole_answer(driver_here, process):
    ours, theirs = process("train", JIG_RUN_ID="run_1"), process("python3.11", NOBODY)
    driver_here.set(1, used=900, busy=40, process=[(ours.pid, 512, 40), (theirs.pid, "-", "-")])
    found = look()
    json.dumps(found)
    first, second = found.pop("devices")
    assert found == {"driver": "535.1", "cuda": "12.2", "error": "", "hint": ""}
    assert first == {**IDLE, "processes": []}
    assert (second["uuid"], second["free_bytes"], second["busy_percent"]) == (UUIDS[1], 10541 * MIB, 40)
    expected = [
        {"pid": ours.pid, "memory_bytes": 512 * MIB, "user": "root", "command": "train", "run": "run_1"},
        {"pid": theirs.pid, "memory_bytes": None, "user": "nobody", "command": "python3.11", "run": ""},
    ]
    assert second["processes"] == sorted(expected, key=lambda one: one["pid"])


def test_hidden_processes(driver_here):
    driver_here.set(0, error=[("nvmlDeviceGetComputeRunningProcesses", 3)])
    assert [device["processes"] for device in look()["devices"]] == [None, []]


def test_no_driver(driver_here):
    driver_here.unload()
    hint = "use a target on a machine that has one; if this machine has a GPU of NVIDIA's, install its driver"
    nothing = {"driver": None, "cuda": None, "devices": []}
    assert look() == {**nothing, "error": "there is no NVIDIA driver on this machine", "hint": hint}


def test_a_library_that_is_not_there(driver_here):
    (driver_here.folder / "driver/lib/libnvidia-ml.so.1").unlink()
    found = look()
    assert (found["driver"], found["devices"]) == ("535.1", [])
    assert found["error"] == "the NVIDIA driver is here, and its library libnvidia-ml.so.1 is not found"
    assert "cat /proc/driver/nvidia/version" in found["hint"]


def test_a_driver_that_was_updated(driver_here):
    driver_here.set_driver(error=[("nvmlInit", 18)])
    found = look()
    assert found["driver"] == "535.1" and "(driver/library version mismatch)" in found["error"]
    assert found["hint"].startswith("restart the machine; or, while nothing uses a GPU, `sudo rmmod")


def test_devices_that_fail(driver_here):
    driver_here.add(2, "GPU-2")
    driver_here.set(0, error=[("*", 15)])
    driver_here.set(2, error=[("nvmlDeviceGetTemperature", 999)])
    found = look()
    assert [device["uuid"] for device in found["devices"]] == [UUIDS[1]]
    assert found["error"] == (
        "GPU 0 is lost: it no longer answers on its bus; "
        "GPU 2: the NVIDIA driver reports an error that it does not explain (Unknown Error)"
    )
    assert found["hint"].startswith("restart the machine")


def test_no_devices(driver_here):
    driver_here.lose(0)
    driver_here.lose(1)
    found = look()
    assert (found["driver"], found["devices"]) == ("535.1", [])
    assert found["error"] == "the NVIDIA driver finds no GPU that this user may use" and found["hint"]


@pytest.mark.parametrize("call", ["nvmlInit", "nvmlDeviceGetMemoryInfo"])
def test_a_driver_that_hangs(driver_here, call):
    driver_here.set_driver(hang=[call])
    before, began = children(), time.monotonic()
    found = look(0.5)
    assert time.monotonic() - began < 3
    assert (found["driver"], found["devices"]) == ("535.1", [])
    assert found["error"] == "the NVIDIA driver does not answer within 0.5 s" and "restart" in found["hint"]
    assert children() == before


def test_while_the_last_child_hangs_in_the_kernel_no_other_is_made(driver_here, monkeypatch):
    """KILL does not end such a one: here it is not sent."""
    killed, before = [], children()
    monkeypatch.setattr(looks, "kill", killed.append)
    monkeypatch.setattr(looks, "END_S", 0.05)
    driver_here.set_driver(hang=["nvmlInit"])
    found = look(0.3)
    (child,) = killed
    driver_here.set_driver(hang=None)
    os.kill(child, signal.SIGSTOP)
    began = time.monotonic()
    assert look(20.0) == look(20.0) == found and time.monotonic() - began < 5
    assert found["error"] == "the NVIDIA driver does not answer within 0.3 s"
    assert children() - before == {str(child)}
    os.kill(child, signal.SIGKILL)
    until(lambda: look()["error"] == "", what="an answer")
    assert killed == [child]


LOOK = "import sys; from jig.runner.gpu.look import look; lock = open(sys.argv[2], 'w'); look(60)"


def test_one_that_hangs_holds_nothing_and_ends_with_us(driver_here, tmp_path):
    """No lock, and none of the pipes that others read to their end."""
    driver_here.set_driver(hang=["nvmlInit"])
    words = [sys.executable, "-c", LOOK, "hanging-look", tmp_path / "lock"]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ()
    ) as us:
        child = int(until(Path(f"/proc/{us.pid}/task/{us.pid}/children").read_text, what="a child"))
        until(
            lambda: [*map(os.readlink, Path(f"/proc/{child}/fd").iterdir())].count("/dev/null") > 3,
            what="a child with nothing",
        )
        open_files = {place.name: os.readlink(place) for place in Path(f"/proc/{child}/fd").iterdir()}
        own_pipe = {name: target for name, target in open_files.items() if target != "/dev/null"}
        assert len(own_pipe) == 1 and next(iter(own_pipe.values())).startswith("pipe:")
        assert not set(own_pipe.values()) & {os.readlink(f"/proc/{us.pid}/fd/{number}") for number in (0, 1, 2)}
        us.kill()
    until(lambda: not alive("hanging-look"), what="the end of the child")


def test_a_library_that_crashes(driver_here):
    source = driver_here.folder / "crash.c"
    source.write_text("#include <signal.h>\nvoid nvmlInit_v2(void) { raise(4); }")
    library = driver_here.folder / "driver/lib/libnvidia-ml.so.1"
    subprocess.run(["gcc", "-shared", "-fPIC", "-Wl,-soname,libnvidia-ml.so.1", "-o", library, source], check=True)
    found = look()
    assert found["error"] == f"NVIDIA's library crashed when it was asked (signal {signal.SIGILL:d})"
    assert found["devices"] == [] and found["hint"]


# Whose a process is


def test_an_owner(process):
    assert owner(process("train").pid) == ("root", "train", "")
    assert owner(process("train", JIG_RUN_ID="../x").pid) == ("root", "train", "")
    assert owner(process("a\033[2Jb", NOBODY, JIG_RUN_ID="r").pid) == ("nobody", "a?[2Jb", "r")
    assert owner(process(user=54321).pid)[0] == "54321"


def test_an_owner_that_is_gone(process):
    gone = process()
    gone.kill()
    gone.wait()
    assert owner(gone.pid) == ("", "", "")


def test_an_owner_without_a_command_line():
    """A thread of the kernel has none; nor has a process that wiped it."""
    dead = subprocess.Popen(["true"])
    until(lambda: "Z" in Path(f"/proc/{dead.pid}/stat").read_text().rpartition(")")[2].split()[0])
    assert owner(dead.pid) == ("root", "true", "")
    dead.wait()


def test_the_run_of_another_user(process, tmp_path):
    """Its environment is not ours to read; the command line of its supervisor is."""
    runner = tmp_path / "runner/__main__.py"
    runner.parent.mkdir()
    runner.write_text("import os, subprocess, sys\nsubprocess.run(['/bin/sh', '-c', 'echo $$; sleep 600; true'])\n")
    words = [sys.executable, str(runner), "supervise", "run_7"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, env={}, process_group=0) as supervisor:
        try:
            pid = int(supervisor.stdout.readline())
            assert owner(pid) == ("root", "sh", "run_7")
        finally:
            os.killpg(supervisor.pid, 9)
