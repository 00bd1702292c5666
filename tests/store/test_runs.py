"""Events folded into a run: waiting for devices, the proof, and what a record makes of them."""

import pytest

from jig.runner.folder import RunFolder
from jig.store.record import record
from jig.store.runs import Run, attachments, fold, last_metrics
from tests.store.records import PLAN, log

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
    found = record(PLAN, run, {"values": {"gpu_s": "a metric"}}, [])
    assert found["gpu"] == {**PROOF, "driver": "570.1"}
    assert (found["gpu_s"], found["gpu_peak_memory_bytes"], found["gpu_busy_percent"]) == (61.5, 5 << 30, 65.4)
    assert found["metrics"] == {"gpu_s": "a metric"}


EXCHANGED = {"kind": "onebit", "steps": 4, "bytes_sent": 100, "bytes_uncompressed": 3000, "exchange_s": 0.5}


def test_several_processes():
    ranks = {"0": EXCHANGED, "1": {**EXCHANGED, "bytes_sent": "nonsense", "exchange_s": 2.0}}
    end = ("failed", {"reason": "out-of-memory", "exit_code": 137, "rank": 3, "said": ["Killed"], "exchange": ranks})
    run = fold(happened("running", end))
    assert (run.why, run.rank, run.said) == ("the kernel killed rank 3 for memory", 3, ("Killed",))
    exchange = record(PLAN, run, {}, [])["exchange"]
    assert exchange == {
        "kind": "onebit", "steps": 4, "bytes_sent": 100, "bytes_uncompressed": 6000, "exchange_s": 2.0,
        "codec_s": 0, "of_s": 0, "ratio": 60.0, "ranks": ranks,
    }  # fmt: skip
    told = {"reason": "rank-failed", "exit_code": 1, "rank": True, "said": "x", "exchange": [1], "detail": "rank 1 …"}
    run = fold(happened("running", ("failed", told)))
    assert (run.why, run.exchange) == ("rank 1 …", None)


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


def test_what_stands_at_the_top_of_a_record():
    said = {
        "values": {
            "loss": 1,
            "lr": 2,
            "curve": [1],
            "picture": {"image": "outputs/a.png"},
            "status": "mine",
            "none": None,
        },
        "params": {"lr": 3, "opt": "adam", "curve": 7, "shuffle": False, "sizes": [1, 2]},
        "tags": {"stage": "final", "gone": None, "mlflow.runName": "lively-cat"},
    }
    found = record({**PLAN, "params": {"opt": "sgd", "seed": 1}, "sweep": "p_0"}, Run(), said, [])
    assert list(found)[:6] == ["loss", "lr", "opt", "seed", "curve", "shuffle"]
    assert [found[name] for name in list(found)[:6]] == [1, 2, "adam", 1, 7, False]
    assert (found["status"], found["metrics"]["status"]) == ("Queued", "mine")
    assert found["params"] == {"opt": "adam", "seed": 1, "lr": 3, "curve": 7, "shuffle": False, "sizes": [1, 2]}
    assert found["tags"] == {"stage": "final", "mlflow.runName": "lively-cat"}
    assert (found["run_name"], found["sweep"]) == ("lively-cat", "p_0")
    assert (found["note"], found["archived"], found["hidden"]) == (None, False, False)
    assert not {"picture", "sizes", "none", "stage"} & set(found)


def test_last_metrics_are_those_of_the_run_itself(tmp_path):
    assert last_metrics(RunFolder(str(tmp_path))) == {}
    log(tmp_path, {"values": {"a": 1}}, {"run": "1", "values": {"a": 2, "b": 3}}, {"params": {"c": 4}})
    assert last_metrics(RunFolder(str(tmp_path))) == {"a": 1}


def test_artifacts(tmp_path):
    folder = RunFolder(str(tmp_path / "run"))
    for name in (
        "output.log",
        "events.jsonl",
        "work/outputs/b/z.txt",
        "work/outputs/a.txt",
        "work/outputs/c/d/e.txt",
        "x",
    ):
        (tmp_path / "run" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "run" / name).touch()
    outputs = tmp_path / "run/work/outputs"
    (outputs / "inside").symlink_to("a.txt")
    (outputs / "outside").symlink_to("/etc/passwd")
    (outputs / "loop").symlink_to("loop")
    (outputs / "folder").symlink_to("/etc")
    found = ["driver_log", "control_log", "outputs/a.txt", "outputs/inside", "outputs/b/z.txt", "outputs/c/d/e.txt"]
    assert attachments(folder) == found
    outputs.rename(tmp_path / "run/work/other")
    outputs.symlink_to("other")
    assert attachments(folder) == found[:2]
