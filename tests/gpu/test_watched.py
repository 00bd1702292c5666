"""What of a device is the run's and what is others'."""

import pytest

from jig.runner.gpu.nvml_errors import NvmlError
from jig.runner.gpu.watched import UNKNOWN, Watched

TOLD = {name: 1 for name in UNKNOWN if name not in ("ours", "others")}
OURS = {10, 11, 12}  # the last one has ended, and is listed no more


class Device:
    """A device with these processes, and this work since it was last asked."""

    uuid = "GPU-a"

    def __init__(self, processes=(), busy=None):
        self.processes_now, self.busy, self.asked = processes, busy or {}, []

    def sample(self):
        return {"uuid": self.uuid, **TOLD}

    def processes(self):
        return None if self.processes_now is None else list(self.processes_now)

    def busy_by_pid(self, since_us):
        self.asked.append(since_us)
        return self.busy, since_us + 5


def ours(memory, percent, pids):
    return {"memory_bytes": memory, "busy_percent": percent, "pids": pids}


@pytest.mark.parametrize(
    ("processes", "busy", "expected"),
    [
        ([], {}, (None, 0)),
        ([(20, 7)], {20: 90.0}, (None, 1)),
        ([(10, 7)], {}, (ours(7, None, 1), 0)),  # the driver does not tell who works
        ([(10, 7), (20, 5)], {20: 90.0}, (ours(7, 0.0, 1), 1)),
        ([(10, 7), (11, None), (20, 5)], {10: 30.25, 11: 20.0, 20: 40.0}, (ours(7, 50.2, 2), 1)),
        ([(10, None)], {10: 30.0}, (ours(None, 30.0, 1), 0)),
        ([(10, 7), (11, 7)], {10: 80.0, 11: 80.0}, (ours(14, 100.0, 2), 0)),
        ([], {12: 40.0}, (ours(0, 40.0, 1), 0)),
        ([], {12: 0.0}, (None, 0)),
        (None, {}, (None, None)),
        (None, {10: 40.0}, (None, None)),
    ],
)
def test_shares(processes, busy, expected):
    sample = Watched(Device(processes, busy), 1000).sample(OURS.__contains__)
    assert (sample["ours"], sample["others"]) == expected
    assert {name: sample[name] for name in TOLD} == TOLD


def test_that_nobody_worked_is_known_once_the_driver_has_told_who_does():
    device = Device([(10, 7)], {10: 40.0})
    watched = Watched(device, 1000)
    assert watched.sample(OURS.__contains__)["ours"]["busy_percent"] == 40.0
    device.busy = {}
    assert watched.sample(OURS.__contains__)["ours"]["busy_percent"] == 0.0
    assert device.asked == [1000, 1005]  # each time since the newest that was told


def test_a_device_that_fails():
    device = Device()
    watched = Watched(device, 1000)

    def fail():
        raise NvmlError(15)

    device.sample = fail
    assert watched.sample(OURS.__contains__) == {"uuid": "GPU-a", "error": NvmlError(15).reason, **UNKNOWN}
