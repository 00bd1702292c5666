"""Looks at pretended GPUs, and run folders whose events a test writes."""

import json
import os

from jig.runner.folder import Home
from jig.runner.gpu import NO_DRIVER
from tests.store.test_runs import PLAN

UUIDS = ("GPU-11111111-2222-3333-4444-555555555555", "GPU-66666666-7777-8888-9999-aaaaaaaaaaaa")
NOBODY = {"driver": None, "cuda": None, "devices": [], "error": NO_DRIVER, "hint": "install one"}
LOST = {"driver": "", "cuda": "", "devices": [], "error": "a GPU is lost", "hint": "restart the machine"}


def device(index, **more):
    return {
        "index": index,
        "uuid": UUIDS[index],
        "name": "NVIDIA H200",
        "major": 9,
        "minor": 0,
        "memory_clock_mhz": 3201,
        "sm_clock_mhz": 1980,
        "pci_bus_id": f"00000000:0{index + 1}:00.0",
        "memory_bytes": 150 << 30,
        "free_bytes": 149 << 30,
        "parent": None,
        "mig_mode": False,
        "ecc_errors": 0,
        "busy_percent": 82,
        "power_w": 412.4,
        "temperature_c": 54,
        "processes": [],
        **more,
    }


def look(*devices):
    return {"driver": "570.124.06", "cuda": "12.8", "devices": list(devices), "error": "", "hint": ""}


def block(index):
    return [
        f"GPU {index}",
        "name: NVIDIA H200",
        "major: 9 minor: 0 memoryClockRate (GHz) 3.201",
        f"pciBusID 00000000:0{index + 1}:00.0",
        "Total memory: 150.00GiB",
        "Free memory: 149.00GiB",
        f"UUID: {UUIDS[index]}",
        "driver: 570.124.06 (CUDA 12.8)",
    ]


class Written:
    """A run folder whose files a test writes."""

    def __init__(self, home, run_id="p_1", **plan):
        self.folder = Home(str(home)).run(run_id)
        os.makedirs(self.folder.outputs)
        self._count = 0
        sampled = {"gpu": {"want": 0, "every_s": 1.0}, "container": None}
        with open(self.folder.plan, "w") as file:
            json.dump({**PLAN, **sampled, "run_id": run_id, "tracked": True, **plan}, file)

    def event(self, word, **more):
        self._count += 1
        with open(self.folder.events, "a") as file:
            file.write(json.dumps({"seq": self._count, "time": 1e9 + self._count, "mono": self._count, "event": word, **more}) + "\n")  # fmt: skip

    def log(self, text):
        with open(self.folder.log, "a") as file:
            file.write(text)

    def end(self, **more):
        self.event("completed", reason="exited", exit_code=0, log_size=0, **more)
