"""What a person sees of GPUs while a run goes on and at its end, from events as a machine writes them."""

import pytest

from jig.cli import display, gpu, gpu_text
from jig.follow import REPORT_S, follow
from jig.runner.gpu import is_asked_for
from jig.store.runs import Run
from tests.cli.gpu_looks import LOST, NOBODY, UUIDS, Written, block, device, look
from tests.store.test_runs import PROOF

REFUSAL = [
    "NO GPU WAS USED",
    "===============",
    "torch 2.4.0+cpu is built without CUDA: it can",
    "only compute on the CPU",
]


# The report


def test_a_block_for_each_device():
    both = look(device(0), device(1))
    assert gpu_text.report(both, asked=False) == block(0) + block(1)
    assert gpu_text.report(both, asked=True, leased=(UUIDS[1],)) == block(1)


def test_one_of_several_is_lost():
    found = {**look(device(0)), "error": "GPU 1 is lost", "hint": "restart the machine"}
    told = ["not all is well: GPU 1 is lost", "fix: restart the machine"]
    assert gpu_text.report(found, asked=False) == block(0) + told
    assert gpu.text({"look": found, "holders": [], "time": 0.0})[3:] == ["  free", *told]


def test_what_the_driver_does_not_tell():
    unknown = device(0, major=None, minor=None, memory_clock_mhz=None, free_bytes=None, pci_bus_id=None)
    lines = gpu_text.report({**look(unknown), "cuda": ""}, asked=False)
    assert lines[2:6] + lines[7:] == [
        "major: unknown minor: unknown memoryClockRate (GHz) unknown",
        "pciBusID unknown",
        "Total memory: 150.00GiB",
        "Free memory: unknown",
        "driver: 570.124.06",
    ]
    part = gpu_text.report(look(device(0, uuid="MIG-1", parent=UUIDS[0])), asked=False)
    assert part[6:] == ["UUID: MIG-1", f"MIG instance of {UUIDS[0]}", "driver: 570.124.06 (CUDA 12.8)"]


def test_no_gpu_is_one_honest_line_for_who_asked():
    assert gpu_text.report(NOBODY, asked=False) == []
    assert gpu_text.report(NOBODY, asked=True) == ["GPU: none (no NVIDIA driver on this machine)"]
    assert gpu_text.report(LOST, asked=False) == ["GPU: none (a GPU is lost)", "fix: restart the machine"]
    assert gpu_text.report({**look(), "driver": "1"}, False) == ["GPU: none (the NVIDIA driver of this machine has no device)"]  # fmt: skip


@pytest.mark.parametrize(
    ("plan", "asked"),
    [
        ({}, False),
        ({"gpu": None, "container": None}, False),
        ({"gpu": {"want": 0, "require": False, "warn_s": None, "stop_s": None, "every_s": 1.0}}, False),
        ({"gpu": {"want": 1}}, True),
        ({"gpu": {"require": True}}, True),
        ({"gpu": {"warn_s": 60.0}}, True),
        ({"gpu": {"stop_s": 60.0}}, True),
        ({"gpu": {"want": 0}, "container": {"gpus": ""}}, False),
        ({"gpu": {"want": 0}, "container": {"gpus": "all"}}, True),
    ],
)
def test_who_asked(plan, asked):
    assert is_asked_for(plan) is asked


# A run as it is followed


class Steps:
    """A feed that does the next thing to the run's folder in each pause."""

    def __init__(self, *steps):
        self.steps, self.gone = list(steps), False

    def wait(self, seconds):
        if self.steps:
            self.steps.pop(0)()
        return []

    def close(self):
        """Nothing to stop."""


@pytest.fixture
def run(jig_home):
    return Written(jig_home)


def shown(run, *steps, first=True):
    """Kinds of events and log bytes, in the order in which a reader gets them."""
    items = follow(run.folder, Steps(*steps), report_first=first)
    return [item["event"] if isinstance(item, dict) else item for item in items if not hasattr(item, "seconds")]


def test_the_report_comes_before_the_first_line(run):
    run.event("queued")
    run.event("running")
    run.log("epoch 1\n")
    steps = (lambda: run.log("epoch 2\n"), lambda: run.event("gpu", look=look(device(0))), run.end)
    assert shown(run, *steps) == ["queued", "running", "gpu", b"epoch 1\nepoch 2\n", "completed"]


def test_a_reader_who_waits_for_no_report(run):
    run.event("running")
    run.log("epoch 1\n")
    steps = (lambda: run.event("gpu", look=NOBODY), run.end)
    assert shown(run, *steps, first=False) == ["running", b"epoch 1\n", "gpu", "completed"]


def test_the_end_waits_for_no_report(run):
    run.event("running")
    run.log("all\n")
    assert shown(run, run.end) == ["running", b"all\n", "completed"]


def test_a_report_that_does_not_come_is_not_waited_for_long(run, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    run.log("first\n")
    pause = lambda seconds: now.__setitem__(0, now[0] + seconds)  # noqa: E731
    steps = (
        lambda: pause(60.0),  # before it runs nothing counts
        lambda: run.event("running"),
        lambda: pause(REPORT_S - 0.1),
        lambda: run.log("second\n"),
        lambda: pause(0.2),
        run.end,
    )
    assert shown(run, *steps) == ["running", b"first\nsecond\n", "completed"]


class Fed:
    """A machine whose run is fed by a test."""

    remote = False

    def __init__(self, *steps):
        self.feed = lambda folder, pipe: Steps(*steps)


def test_everything_that_happens_around_a_gpu(jig_home, capfd):
    run = Written(jig_home, gpu={"want": 1, "every_s": 1.0})
    run.event("queued")
    run.event("preparing")
    steps = (
        lambda: run.event("waiting", reason="GPU 0 is leased by p_0 of eve", position=1, of=1),
        lambda: run.event("waiting", reason="GPU 0 is leased by p_0 of eve", position=1, of=1),
        lambda: run.event("leased", uuids=[UUIDS[1]], indices=[1]),
        lambda: run.event("running"),
        lambda: run.log("epoch 1"),
        lambda: run.event("gpu", look=look(device(0), device(1))),
        lambda: run.event("gpu-idle", idle_s=120.3, stop_s=1800.0),
        lambda: run.event("gpu-idle", idle_s=45.0, stop_s=None),
        lambda: run.event("note", text="the end\x1b[2J is near"),
        lambda: run.end(proof=PROOF),
    )
    found = display.watch(run.folder, Fed(*steps), display.Display())
    assert capfd.readouterr().out.splitlines() == [
        "jig: queued, waiting for a GPU, 1 of 1 in line: GPU 0 is leased by p_0 of eve",
        "jig: leased GPU 1",
        *block(1),
        "epoch 1",
        "jig: WARNING: the GPU has done nothing for 2 min 00 s; the run is stopped when that is 30 min 00 s",
        "jig: WARNING: the GPU has done nothing for 45 s",
        "jig: the end\\x1b[2J is near",
    ]
    assert found is not None and found.proof == PROOF


@pytest.mark.parametrize(("want", "lines"), [(0, ""), (1, "GPU: none (no NVIDIA driver on this machine)\n")])
def test_where_there_is_no_driver(jig_home, capfd, want, lines):
    run = Written(jig_home, gpu={"want": want, "every_s": 1.0})
    run.event("running")
    run.log("epoch 1\n")
    run.event("gpu", look=NOBODY)
    run.end(proof={**PROOF, "verdict": "no gpu"})
    found = display.watch(run.folder, Fed(), display.Display())
    assert capfd.readouterr().out == lines + "epoch 1\n"
    assert "GPU" not in display.summary(run.folder, found, {})


def test_a_container_that_gets_none_of_the_gpus(jig_home, capfd):
    run = Written(jig_home, container={"gpus": ""})
    run.event("running")
    run.event("gpu", look=look(device(0)))
    run.log("epoch 1\n")
    run.end()
    display.watch(run.folder, Fed(), display.Display())
    assert capfd.readouterr().out == "epoch 1\n"


def test_the_status_line_of_a_run_that_waits(monkeypatch):
    lines, screen = [], display.Display()
    screen._terminal = True
    monkeypatch.setattr(screen._line, "show", lines.append)
    monkeypatch.setattr("time.time", lambda: 1000.0)
    screen.show({"event": "preparing", "time": 900.0})
    screen.show({"event": "waiting", "reason": "all are leased", "position": 2, "of": 2, "time": 940.0})
    screen.show({"event": "waiting", "reason": "all are leased", "position": 1, "of": 2, "time": 970.0})
    screen.show(display.Quiet(1.0))
    screen.show({"event": "leased", "uuids": ["MIG-1"], "indices": [None], "time": 988.0})
    screen.show(display.Quiet(1.0))
    assert lines == [
        "… queued, waiting for a GPU, 1 of 2 in line: all are leased for 1 min 00 s",
        "… preparing for 12.0 s",
    ]


# The proof


@pytest.mark.parametrize(
    ("proof", "line"),
    [
        (PROOF, "used: 61.5 GPU s, 40.2 s busy, mean 65.4 %, peak 99.0 %, peak memory 5.00GiB, 5.8 Wh"),
        (
            {**PROOF, "verdict": "idle", "busy_s": 0.0, "mean_percent": 0.0, "peak_percent": 0, "energy_j": None},
            "idle: 61.5 GPU s, 0.0 s busy, mean 0.0 %, peak 0.0 %, peak memory 5.00GiB",
        ),
        (
            {**PROOF, "shared": True, "energy_j": 950.4},
            "used: 61.5 GPU s, 40.2 s busy, mean 65.4 %, peak 99.0 %, peak memory 5.00GiB, 950 J, shared device",
        ),  # fmt: skip
        ({**PROOF, "verdict": "not used"}, "not used"),
        ({**PROOF, "verdict": "not used", "shared": True}, "not used: shared device"),
        ({**PROOF, "verdict": "no gpu"}, ""),
        ({**PROOF, "verdict": "unknown"}, "unknown: the driver did not tell, or the run was over too soon"),
        (
            {"verdict": "used", "gpu_s": "lots", "busy_s": float("nan")},
            "used: ? GPU s, ? s busy, mean ? %, peak ? %, peak memory unknown",
        ),  # fmt: skip
        ({}, ""),
        (None, ""),
    ],
)
def test_the_proof_in_a_line(proof, line):
    assert gpu_text.verdict(proof) == line


def test_the_loud_paragraph():
    cause = "torch 2.4.0+cpu is built without CUDA: it can only compute on the CPU"
    used = Run(state="Completed", proof=PROOF)
    assert gpu_text.accusation(used, 48) == []
    assert gpu_text.accusation(used._replace(proof={"verdict": "not used"}, cause=cause), 48) == REFUSAL
    assert gpu_text.accusation(used._replace(proof=None, cause=cause), 48) == REFUSAL
    idle = gpu_text.accusation(used._replace(proof={"verdict": "idle"}, cause="\x1b[2Jthe script\nsleeps"), 48)
    assert idle == ["THE GPU DID NOTHING", "===================", "\\x1b[2Jthe script sleeps"]


def test_the_end_of_a_run_that_used_no_gpu(jig_home, cli):
    run = Written(jig_home, gpu={"want": 1, "every_s": 1.0})
    run.event("running")
    run.event("gpu", look=look(device(0)))
    run.log("done\n")
    run.end(proof={**PROOF, "verdict": "not used"}, cause="device not moved")
    said = cli("logs", "-f", "p_1")
    assert said.code == 0
    assert said.out.splitlines() == [*block(0), "done"]
    assert said.err == "p_1: Completed\n\nNO GPU WAS USED\n===============\ndevice not moved\n"
    assert cli("logs", "p_1").out == "done\n"
    found = display.runs.fold(display.events.read(run.folder.events))
    assert display.summary(run.folder, found, {}) == (
        "\nExecution Details\n=================\nRunId: p_1\nStatus: Completed\nDuration: 3.0 s\nGPU: not used\n"
        "\nNO GPU WAS USED\n===============\ndevice not moved\n"
    ).replace("3.0 s", f"{found.duration_s:.1f} s")


def test_a_run_that_was_refused(jig_home, cli):
    run = Written(jig_home, gpu={"want": 0, "require": True, "every_s": 1.0})
    run.event("preparing", pid=1)
    run.event("failed", reason="gpu-refused", detail="torch says no", hint="install another", log_size=0)
    said = cli("logs", "p_1")
    assert (said.out, said.err) == ("", "p_1: Failed: a GPU is required: torch says no\nfix: install another\n")
