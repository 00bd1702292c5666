"""Events folded into a run: waiting for devices, the proof, and what a record makes of them."""

import pytest

from jig.store.record import record
from jig.store.runs import Run, fold

PROOF = {
    "verdict": "used",
    "shared": False,
    "gpu_s": 61.5,
    "busy_s": 40.2,
    "mean_percent": 65.4,
    "peak_percent": 99.0,
    "peak_memory_bytes": 5 << 30,
    "energy_j": 21000.0,
    "idle_s": 0.0,
    "devices": [{"uuid": "GPU-1", "name": "NVIDIA H200", "peak_memory_bytes": 5 << 30, "peak_percent": 99.0, "busy_s": 40.2}],
    "samples": 62,
    "cpu_s": 60.1,
    "peak_rss_bytes": 1 << 30,
}  # fmt: skip
LOOK = {"driver": "570.1", "cuda": "12.8", "devices": [], "error": "", "hint": ""}
PLAN = {
    "run_id": "p_1",
    "number": 1,
    "project": "p",
    "script": "a.py",
    "arguments": [],
    "target": "local",
    "run_config": "local",
    "created": 0.0,
    "parent_run_id": "",
    "origin": {"commit": ""},
    "snapshot": {"id": "ab"},
    "user": "ada",
}


def happened(*told):
    """Events one second apart, from ("waiting", {"reason": …}) or a bare word."""
    named = [(one, {}) if isinstance(one, str) else one for one in told]
    return [{"event": word, "time": 100.0 + at, "mono": float(at), **more} for at, (word, more) in enumerate(named)]


def waiting(position=2, of=3, reason="GPU 0 is leased by p_0 of eve"):
    return ("waiting", {"reason": reason, "position": position, "of": of})


def test_a_run_that_waits_is_queued():
    run = fold(happened("queued", "preparing", waiting()))
    assert run == Run(
        state="Queued",
        reason="waiting",
        why="waiting for a GPU, 2 of 3 in line: GPU 0 is leased by p_0 of eve",
    )
    assert fold(happened("queued", waiting(None, None, ""))).why == "waiting for a GPU: all are taken"
    assert not run.final


def test_after_waiting():
    past = ["queued", "preparing", waiting(), waiting(1, 1), ("leased", {"uuids": ["GPU-1"], "indices": [0]})]
    assert fold(happened(*past)) == Run(state="Preparing")
    assert fold(happened("queued", waiting(), "preparing")) == Run(state="Preparing")
    run = fold(happened(*past, "running"))
    assert (run.state, run.reason, run.why, run.started) == ("Running", "", "", 105.0)
    assert fold(happened(*past, "running", ("leased", {}))).state == "Running"
    run = fold(happened("queued", waiting(), ("canceled", {"reason": "canceled"})))
    assert (run.state, run.reason, run.why) == ("Canceled", "canceled", "canceled")


def test_the_proof():
    end = ("completed", {"reason": "exited", "exit_code": 0, "proof": PROOF})
    run = fold(happened("queued", "preparing", "running", ("gpu", {"look": LOOK}), end))
    assert (run.proof, run.driver, run.cause) == (PROOF, "570.1", "")
    found = record(PLAN, run, {"gpu_s": "a metric"}, [])
    assert found["gpu"] == {**PROOF, "driver": "570.1"}
    assert (found["gpu_s"], found["gpu_peak_memory_bytes"], found["gpu_busy_percent"]) == (61.5, 5 << 30, 65.4)
    assert found["metrics"] == {"gpu_s": "a metric"}


def test_a_gpu_that_was_not_used():
    proof = {**PROOF, "verdict": "not used", "gpu_s": 0.0, "mean_percent": None, "peak_memory_bytes": 0}
    end = ("completed", {"reason": "exited", "exit_code": 0, "proof": proof, "cause": "torch is built without CUDA"})
    found = record(PLAN, fold(happened("running", end)), {}, [])
    assert found["gpu"] == {**proof, "driver": "", "cause": "torch is built without CUDA"}
    assert (found["gpu_s"], found["gpu_peak_memory_bytes"], found["gpu_busy_percent"]) == (0.0, 0, None)


@pytest.mark.parametrize("proof", [{"proof": {**PROOF, "verdict": "no gpu"}}, {"proof": "yes"}, {}])
def test_runs_without_a_gpu_have_no_numbers(proof):
    found = record(
        PLAN, fold(happened("running", ("completed", {"reason": "exited", "exit_code": 0, **proof}))), {}, []
    )
    assert (found["gpu_s"], found["gpu_peak_memory_bytes"], found["gpu_busy_percent"]) == (None, None, None)
    none = {"verdict": "no gpu", "cpu_s": 60.1, "peak_rss_bytes": 1 << 30, "driver": ""}
    assert found["gpu"] == (none if isinstance(proof.get("proof"), dict) else None)


@pytest.mark.parametrize(
    ("reason", "more", "why"),
    [
        ("gpu-idle", {}, "stopped because the GPU did nothing for too long"),
        ("gpu-refused", {"detail": "torch says no"}, "a GPU is required: torch says no"),
    ],
)
def test_new_ends(reason, more, why):
    run = fold(happened("running", ("failed", {"reason": reason, "hint": "do this", **more})))
    assert (run.state, run.reason, run.why, run.fix) == ("Failed", reason, why, "do this")
