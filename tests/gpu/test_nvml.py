"""The binding to NVIDIA's management library: every value, what is not told, and the errors that people meet."""

import os
import subprocess
import sys
import time

import pytest

from jig.runner.gpu import device, nvml
from jig.runner.gpu.nvml import open_nvml
from jig.runner.gpu.nvml_errors import SENTENCES, NvmlError
from tests.conftest import environ
from tests.engines.gpu.driver import UUIDS

MIB = 1 << 20
IDLE = {
    "index": 0,
    "uuid": UUIDS[0],
    "name": "Pretended K80",
    "major": 3,
    "minor": 7,
    "memory_clock_mhz": 2505,
    "sm_clock_mhz": 875,
    "pci_bus_id": "00000000:00:00.0",
    "memory_bytes": 11441 * MIB,
    "free_bytes": 11441 * MIB,
    "parent": None,
    "mig_mode": False,
    "ecc_errors": 0,
    "busy_percent": 0,
    "power_w": 26.0,
    "temperature_c": 31,
}
MIG = [("MIG-a", 4864, 100, "Pretended A100 MIG 1g.5gb"), ("MIG-b", 9728, 0, "Pretended A100 MIG 2g.10gb")]


def described() -> "list[dict]":
    return [one.describe() for one in open_nvml().devices()]


def first(name: str, *arguments):
    """Ask the first device."""
    return lambda: getattr(open_nvml().devices()[0], name)(*arguments)


def test_what_a_device_is(driver_here, in_child):
    assert in_child(described) == [IDLE, {**IDLE, "index": 1, "uuid": UUIDS[1], "pci_bus_id": "00000000:01:00.0"}]
    driver_here.set_driver(version="570.86.15", cuda=12080)
    assert in_child(lambda: (open_nvml().driver(), open_nvml().cuda())) == ("570.86.15", "12.8")


def test_what_it_does(driver_here, in_child):
    driver_here.set(0, used=1000, reserved=400, busy=97, power_mw=149500, energy_mj=1500, temperature=70, sm_mhz=800,
                    memory_mhz=2505, throttle=1 + 4 + 64)  # fmt: skip
    numbers = {
        "uuid": UUIDS[0],
        "busy_percent": 97,
        "memory_bytes": 1000 * MIB,
        "power_w": 149.5,
        "energy_j": 1.5,
        "temperature_c": 70,
        "sm_mhz": 800,
        "memory_mhz": 2505,
        "throttle": ["sw-power-cap", "hw-thermal"],
    }
    assert in_child(first("sample")) == numbers
    assert in_child(first("describe"))["free_bytes"] == (11441 - 1400) * MIB

    def twice():
        watched = open_nvml().devices()[0]
        before = watched.sample()["busy_percent"]
        driver_here.set(0, busy=3)
        return before, watched.sample()["busy_percent"]

    assert in_child(twice) == (97, 3)
    driver_here.become_old()
    assert in_child(first("sample")) == {**numbers, "busy_percent": 3, "memory_bytes": 1400 * MIB}


def test_energy_is_counted_rarely(driver_here, in_child, monkeypatch):
    """The counter is dear to read: after a while power carries it on, until it is read again."""
    driver_here.set(0, power_mw=100_000, energy_mj=5_000_000)
    now = [1000.0]
    monkeypatch.setattr(device.time, "monotonic", lambda: now[0])

    def watch():
        watched = open_nvml().devices()[0]
        found = []
        for at_s, counter_mj in (
            (0, 5_000_000),
            (9, 6_000_000),
            (11, 9),
            (12, 9),
            (38, 9_500_000),
            (41, 9_600_000),
            (42, 0),
        ):
            now[0] = 1000.0 + at_s
            driver_here.set(0, energy_mj=counter_mj)
            found.append(watched.sample()["energy_j"])
        return found

    assert in_child(watch) == [5000.0, 6000.0, 6200.0, 6300.0, 8900.0, 9600.0, 9700.0]
    driver_here.set(0, power_mw=None, energy_mj=7)
    assert in_child(first("sample"))["energy_j"] == 0.007


def test_what_is_not_told(driver_here, in_child):
    words = ("capability", "pci", "busy", "power_mw", "energy_mj", "temperature", "sm_mhz", "memory_mhz", "sm_max_mhz",
             "memory_max_mhz", "throttle", "ecc")  # fmt: skip
    driver_here.set(0, **dict.fromkeys(words))
    driver_here.set(0, error=[("nvmlDeviceGetMemoryInfo", 3), ("nvmlDeviceGetComputeRunningProcesses", 3)])
    known = {"index": 0, "uuid": UUIDS[0], "name": "Pretended K80", "mig_mode": False}
    assert in_child(first("describe")) == {**dict.fromkeys(IDLE), **known}
    assert set(in_child(first("sample")).items()) == {("uuid", UUIDS[0])} | {
        (key, None) for key in in_child(first("sample")) if key != "uuid"
    }
    assert in_child(first("processes")) is None
    assert in_child(first("busy_by_pid", 5)) == ({}, 5)


def test_processes(driver_here, in_child):
    others = [subprocess.Popen(["sleep", "60"]) for _ in range(70)]  # more than fit at first
    try:
        pids = [process.pid for process in others]
        driver_here.set(0, process=[(pids[0], 512, 90), (pids[1], "-", "-"), *((pid, 1, 0) for pid in pids[2:])])
        expected = sorted([(pids[0], 512 * MIB), (pids[1], None), *((pid, MIB) for pid in pids[2:])])
        assert in_child(first("processes")) == expected
        before = time.time_ns() // 1000
        percents, newest = in_child(first("busy_by_pid", 0))
        assert percents == {pids[0]: 90.0, **dict.fromkeys(pids[2:], 0.0)}
        assert before <= newest <= time.time_ns() // 1000
        assert in_child(first("busy_by_pid", newest + 10**9)) == ({}, newest + 10**9)
        driver_here.become_old()
        assert in_child(first("processes")) == expected
    finally:
        for process in others:
            process.kill()
            process.wait()
    assert in_child(first("processes")) == []


LIST = """
from jig.runner.gpu.nvml import open_nvml
print(open_nvml().devices()[0].processes())
"""


def test_processes_that_a_container_hides(driver_here):
    def inside() -> str:
        words = ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", LIST]
        return subprocess.run(words, env=environ(), capture_output=True, text=True, check=True).stdout

    assert inside() == "[]\n"  # nobody, and nothing is in use
    driver_here.set(0, used=512)
    assert inside() == "None\n"
    driver_here.set(0, ghost=[(999999, 512, 90)])  # a number of the machine's, not of the container's
    assert inside() == "None\n"
    driver_here.set(0, ghost=[(1, 512, 90)])
    assert inside() == f"[(1, {512 * MIB})]\n"


def test_instances(driver_here, in_child):
    driver_here.set(0, mig_mode=1, mig=MIG, busy=None)
    driver_here.set(0, process=[(os.getpid(), 100, "-", 0), (os.getppid(), 7, "-", 1)])
    card = {**IDLE, "parent": UUIDS[0], "mig_mode": True, "busy_percent": None, "power_w": None}
    assert in_child(described) == [
        {**card, "uuid": "MIG-a", "name": MIG[0][3], "memory_bytes": 4864 * MIB, "free_bytes": 4764 * MIB},
        {**card, "uuid": "MIG-b", "name": MIG[1][3], "memory_bytes": 9728 * MIB, "free_bytes": 9728 * MIB},
        {**IDLE, "index": 1, "uuid": UUIDS[1], "pci_bus_id": "00000000:01:00.0"},
    ]
    numbers = in_child(first("sample"))
    assert (numbers["uuid"], numbers["memory_bytes"], numbers["temperature_c"]) == ("MIG-a", 100 * MIB, 31)
    assert (numbers["busy_percent"], numbers["power_w"], numbers["energy_j"]) == (None, None, None)
    assert in_child(lambda: [one.processes() for one in open_nvml().devices()]) == [
        [(os.getpid(), 100 * MIB)],
        [(os.getppid(), 7 * MIB)],
        [],
    ]
    assert in_child(first("busy_by_pid", 5)) == ({}, 5)


def faults() -> "tuple[list[str], list[tuple[int, str, str]]]":
    opened = open_nvml()
    found = [one.uuid for one in opened.devices()]
    return found, [(error.code, error.reason, error.hint) for error in opened.faults]


def test_a_device_that_fails_does_not_hide_the_others(driver_here, in_child):
    driver_here.set(0, error=[("*", 15)])
    uuids, [(code, reason, hint)] = in_child(faults)
    assert (uuids, code, reason) == ([UUIDS[1]], 15, "GPU 0 is lost: it no longer answers on its bus")
    assert "dmesg" in hint
    driver_here.set(0, error=[("nvmlDeviceGetHandleByIndex", 16)])
    uuids, [(_, reason, hint)] = in_child(faults)
    assert (uuids, reason) == ([UUIDS[1]], "GPU 0 has to be reset before it can be used again")
    assert "`sudo nvidia-smi --gpu-reset -i 0`" in hint
    driver_here.set(0, error=None, mig_mode=1)
    uuids, [(_, reason, hint)] = in_child(faults)
    assert (uuids, reason) == ([UUIDS[1]], "GPU 0 is in MIG mode and has no instance")
    assert "`sudo nvidia-smi -i 0 -mig 0`" in hint


def test_a_device_that_is_not_for_us(driver_here, in_child):
    """As CUDA counts, which does not see it."""
    driver_here.set(0, error=[("nvmlDeviceGetHandleByIndex", 4)])
    assert in_child(faults) == ([UUIDS[1]], [])
    assert in_child(first("describe"))["index"] == 0


def test_a_device_that_is_lost_meanwhile(driver_here, in_child):
    def ask():
        watched = open_nvml().devices()[0]
        driver_here.lose(0)
        watched.sample()

    with pytest.raises(NvmlError, match="a GPU is lost: it no longer answers on its bus"):
        in_child(ask)


@pytest.mark.parametrize(
    "code, words",
    [
        (4, "this user may not use the NVIDIA driver"),
        (9, "the NVIDIA driver of this machine is installed and not loaded"),
        (18, "driver/library version mismatch"),
        (999, r"the NVIDIA driver reports an error that it does not explain \(Unknown Error\)"),
    ],
)
def test_a_driver_that_fails(driver_here, in_child, code, words):
    driver_here.set_driver(error=[("nvmlInit", code)])
    with pytest.raises(NvmlError, match=words) as caught:
        in_child(open_nvml)
    assert caught.value.code == code and caught.value.hint


def test_no_driver(driver_here, in_child):
    driver_here.unload()
    with pytest.raises(NvmlError, match="installed and not loaded"):
        in_child(open_nvml)
    (driver_here.folder / "driver/lib/libnvidia-ml.so.1").unlink()
    with pytest.raises(NvmlError, match="its library libnvidia-ml.so.1 is not found"):
        in_child(open_nvml)


def test_where_windows_puts_the_library(driver, in_child, monkeypatch):
    monkeypatch.setattr(nvml, "PLACES", ("libnowhere.so.1", str(driver.folder / "driver/lib/libnvidia-ml.so.1")))
    assert in_child(lambda: open_nvml().driver()) == "535.1"


def test_every_sentence_teaches():
    for reason, hint in SENTENCES.values():
        assert reason and hint and not reason.endswith(".") and not hint.endswith(".")
