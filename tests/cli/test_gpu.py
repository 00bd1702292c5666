"""GPUs in `jig history`, and `jig gpu`: from events as a machine writes them, and with a driver."""

import contextlib
import json
import os
import re

import pytest

from jig.cli import gpu
from jig.cli.terminal import printable
from jig.machines.local import LocalMachine
from jig.runner.folder import Home
from jig.system import lock
from tests.cli.gpu_looks import LOST, NOBODY, UUIDS, Written, device, look
from tests.engines.gpu import driver as driver_module
from tests.store.test_runs import PROOF

# The record


@contextlib.contextmanager
def alive(run, jig_home):
    """As if its supervisor lived."""
    held = os.open(run.folder.lock(Home(str(jig_home))), os.O_RDWR | os.O_CREAT)
    try:
        assert lock(held, wait=False)
        yield
    finally:
        os.close(held)


def test_history(jig_home, cli, monkeypatch):
    plain = Written(jig_home, "p_1", number=1)
    plain.event("running")
    plain.end(proof={**PROOF, "verdict": "no gpu"})
    words = ("history", "list", "--all", "-o", "table")
    assert "gpu" not in cli(*words).out
    with open(Home(str(jig_home)).order, "w") as order:
        for number in (1, 2, 3):
            order.write(json.dumps([number, f"p_{number}", str(jig_home / f"runs/p_{number}")]) + "\n")
    used = Written(jig_home, "p_2", number=2)
    used.event("running")
    used.event("gpu", look=look(device(0)))
    used.end(proof=PROOF)
    queued = Written(jig_home, "p_3", number=3)
    queued.event("queued", host="x", boot="y")
    queued.event("waiting", reason="GPU 0 is leased by p_0 of eve", position=1, of=2)
    with alive(queued, jig_home):
        lines = cli(*words).out.splitlines()
        assert lines[0].split() == [
            "gpu_s", "gpu_peak_memory_bytes", "gpu_busy_percent",
            "duration", "run_id", "script_name", "start_time_utc", "status", "description",
        ]  # fmt: skip
        assert re.split(r"\s{2,}", lines[2].strip()) == [
            "p_3", "a.py", "Queued", "waiting for a GPU, 1 of 2 in line: GPU 0 is leased by p_0 o…",
        ]  # fmt: skip
        assert re.split(r"\s{2,}", lines[3].strip())[:3] == ["61.5", "5.00GiB", "65.4"]
        assert lines[4].split()[:2] == ["0:00:01.0", "p_1"]
        records = {one["run_id"]: one for one in cli("history", "list", "--all", "-o", "json").json()}
        assert records["p_2"]["gpu"] == {**PROOF, "driver": "570.124.06"}
        assert [records[name]["gpu_peak_memory_bytes"] for name in ("p_1", "p_2", "p_3")] == [None, 5 << 30, None]
        status = cli("status", "p_3", "-o", "json").json()
        assert (status["state"], status["reason"], status["description"]) == (
            "Queued",
            "waiting",
            "waiting for a GPU, 1 of 2 in line: GPU 0 is leased by p_0 of eve",
        )


def test_info(jig_home, cli):
    run = Written(jig_home)
    run.event("running")
    run.event("gpu", look=look(device(0)))
    run.end(proof=PROOF, cause="it did nothing")
    table = dict(line.split(maxsplit=1) for line in cli("history", "info", "p_1", "-o", "table").out.splitlines() if " " in line)  # fmt: skip
    assert table["gpu"] == (
        "used: 61.5 GPU s, 40.2 s busy, mean 65.4 %, peak 99.0 %, peak memory 5.00GiB, 5.8 Wh;"
        " NVIDIA H200 GPU-1; driver 570.124.06"
    )
    assert table["gpu_cause"] == "it did nothing"
    assert cli("history", "info", "p_1", "--query", "gpu.verdict").json() == "used"


# jig gpu


FOUND = {
    "look": look(
        device(0, free_bytes=138 << 30, processes=[{"pid": 7, "memory_bytes": 12 << 30, "user": "ada", "command": "python", "run": "p_2"}]),
        device(1, busy_percent=None, power_w=None, ecc_errors=2, processes=[{"pid": 8, "memory_bytes": None, "user": "eve", "command": "train", "run": ""}]),
    ),
    "holders": [
        {"run": "p_2", "user": "ada", "pid": 6, "want": 1, "uuids": [UUIDS[0]], "since": 870.0, "waiting": False},
        {"run": "p_3", "user": "bob", "pid": 9, "want": 2, "uuids": [], "since": 955.0, "waiting": True},
    ],
    "time": 1000.0,
}  # fmt: skip
TOLD = [
    "driver 570.124.06, CUDA 12.8",
    f"GPU 0: NVIDIA H200, {UUIDS[0]}",
    "  memory 12.00GiB of 150.00GiB, busy 82 %, 412 W, 54 °C",
    "  leased by p_2 of ada, for 2 min 10 s",
    "  process 7: python of ada, run p_2, 12.00GiB",
    f"GPU 1: NVIDIA H200, {UUIDS[1]}",
    "  memory 1.00GiB of 150.00GiB, 54 °C, 2 memory errors that could not be corrected",
    "  process 8: train of eve",
    "waiting for 2 GPUs, 1 of 1: p_3 of bob, for 45 s",
]


@pytest.fixture
def answers(monkeypatch):
    """What the machine says when it is asked for its GPUs."""
    told = dict(FOUND)
    monkeypatch.setattr(LocalMachine, "ask", lambda self, verb, **request: told if verb == "gpu" else None)
    return told


def test_gpus_and_who_has_them(answers, cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # no project is needed
    assert cli("gpu").out.splitlines() == TOLD
    assert cli("computetarget", "gpu", "-o", "json").json() == {**FOUND["look"], "holders": FOUND["holders"]}
    assert cli("gpu", "--query", "devices[].index").json() == [0, 1]
    said = cli("gpu", "--watch", "-o", "json")
    assert said.code == 2 and "--watch draws for a person" in said.err


def test_gpus_of_a_configurations_machine(answers, project, cli):
    assert cli("gpu", "-c", "local").out.splitlines() == TOLD
    said = cli("gpu", "-c", "lokal")
    assert said.code == 2 and "did you mean `local`?" in said.err


def test_free_hidden_and_none(answers, cli):
    answers["holders"] = []
    answers["look"] = look(device(0), device(1, processes=None))
    lines = cli("gpu").out.splitlines()
    assert lines[3] == "  free" and lines[6] == "  whose processes are on it cannot be seen from here"
    answers["look"] = NOBODY
    none = "GPU: none (no NVIDIA driver on this machine)\nfix: install one; `jig doctor` tells more\n"
    assert cli("gpu").out == none
    answers["look"] = LOST
    assert cli("gpu").out == "GPU: none (a GPU is lost)\nfix: restart the machine\n"


def test_watching(answers, cli, monkeypatch):
    pauses = []

    def pause(seconds):
        pauses.append(seconds)
        if len(pauses) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", pause)
    said = cli("gpu", "--watch")
    assert (said.code, pauses) == (0, [gpu.EVERY_S] * 2)
    lines = said.out.splitlines()
    assert re.fullmatch(r"local at \d\d:\d\d:\d\d", lines[0])
    assert lines[1:10] == TOLD and lines[10] == "" and len(lines) == 22


def test_nothing_to_watch(answers, project, cli):
    """Without a driver the first look is the last."""
    answers.update(look=NOBODY, holders=[])
    said = cli("gpu", "-c", "local", "--watch")
    assert said.code == 0
    assert said.out.splitlines()[1:] == [
        "GPU: none (no NVIDIA driver on this machine)",
        "fix: install one; `jig doctor -c local` tells more",
        "",
    ]


def test_nothing_acts_on_a_terminal(answers, cli):
    evil = {"pid": 1, "memory_bytes": 1, "user": "eve", "command": "\x1b]0;x\x07\nGPU 1: free", "run": ""}
    answers["look"] = look(device(0, processes=[evil]))
    out = cli("gpu").out
    assert printable(out, keep="\n") == out and "\\nGPU 1: free" in out


# With a driver


def test_a_whole_run(driver_here, project, cli):
    project.runconfig(Gpus=1, EnvironmentVariables={"A": "b"})
    project.write("train.py", "import os, time; print(os.environ['CUDA_VISIBLE_DEVICES']); time.sleep(0.7)")
    said = cli("submit", "-c", "local", "train.py")
    assert said.out.splitlines()[3:13] == [
        "jig: leased GPU 0",
        "GPU 0",
        "name: Pretended K80",
        "major: 3 minor: 7 memoryClockRate (GHz) 2.505",
        "pciBusID 00000000:00:00.0",
        "Total memory: 11.17GiB",
        "Free memory: 11.17GiB",
        f"UUID: {driver_module.UUIDS[0]}",
        said.out.splitlines()[11],
        "0",
    ]
    assert said.out.splitlines()[11].startswith(f"driver: {driver_module.VERSION}")
    assert "GPU: not used\n" in said.out and "\nNO GPU WAS USED\n===============\n" in said.out


def test_gpus_of_this_machine(driver_here, cli):
    driver_here.set(0, used=512, busy=90, process=[(os.getpid(), 512, 90)])
    lines = cli("gpu").out.splitlines()
    assert lines[1:3] == [
        f"GPU 0: Pretended K80, {driver_module.UUIDS[0]}",
        "  memory 0.50GiB of 11.17GiB, busy 90 %, 26 W, 31 °C",
    ]
    assert re.fullmatch(rf"  process {os.getpid()}: \S+ of \S+, 0.50GiB", lines[3])
    assert lines[4:] == [
        f"GPU 1: Pretended K80, {driver_module.UUIDS[1]}",
        "  memory 0.00GiB of 11.17GiB, busy 0 %, 26 W, 31 °C",
        "  free",
    ]


def test_leases_that_cannot_be_read_hide_no_device(driver_here, cli, tmp_path, monkeypatch):
    from jig.runner.gpu import lease, lease_files

    def refuse():
        raise lease_files.LeaseRefused("something else is there", "remove it")

    monkeypatch.setattr(lease, "holders", refuse)
    said = cli("gpu")
    assert (said.code, said.err) == (
        0,
        "warning: who has leases cannot be told: something else is there (fix: remove it)\n",
    )
    assert "GPU 0: Pretended K80" in said.out
