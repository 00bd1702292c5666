"""The proof of a run, from its samples alone."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jig.runner.gpu.proof import Proof

MIB = 1 << 20
A, B = ("GPU-a", "Pretended A100", 100 * MIB), ("GPU-b", "Pretended A100", 0)


def gpu(uuid="GPU-a", busy=0, memory=100 * MIB, ours=None, others=0, energy_j=None):
    """What a sample says of a device; `ours` is memory and percent."""
    mine = None if ours is None else {"memory_bytes": ours[0], "busy_percent": ours[1], "pids": 1}
    return {
        "uuid": uuid,
        "busy_percent": busy,
        "memory_bytes": memory,
        "energy_j": energy_j,
        "ours": mine,
        "others": others,
    }


def proof(*samples, devices=(A,), is_blind=False, dt_s=1.0, processes=1):
    proof = Proof(devices, is_blind)
    for number, gpus in enumerate(samples):
        told = {"time": float(number), "cpu_s": number * 0.5, "memory_bytes": 10 - number, "processes": processes}
        proof.add({**told, "gpus": gpus}, dt_s)
    return proof.value()


def test_a_run_that_trains():
    on = gpu(busy=80, memory=612 * MIB, ours=(512 * MIB, 80.0), energy_j=500.0)
    off = [gpu(energy_j=100.0)]
    assert proof(off, [on], [{**on, "energy_j": 700.0}], [gpu(energy_j=800.0)]) == {
        "verdict": "used",
        "shared": False,
        "gpu_s": 2.0,  # half a second to come, one to stay, half a second to go
        "busy_s": 1.6,
        "mean_percent": 80.0,
        "peak_percent": 80.0,
        "peak_memory_bytes": 512 * MIB,
        "energy_j": 450.0,
        "idle_s": 1.0,
        "devices": [
            {
                "uuid": "GPU-a",
                "name": "Pretended A100",
                "peak_memory_bytes": 512 * MIB,
                "peak_percent": 80.0,
                "busy_s": 1.6,
            }
        ],
        "samples": 4,
        "cpu_s": 1.5,
        "peak_rss_bytes": 10,
    }


@pytest.mark.parametrize(
    ("what", "verdict", "shared", "peak_percent", "idle_s"),
    [
        ("nothing of it there", "not used", False, None, 2.0),
        ("others there, and not it", "not used", False, None, 2.0),
        ("holds memory", "idle", False, 0.0, 2.0),
        ("a share too small to be work", "idle", False, 0.4, 2.0),
        ("alone, by the device", "used", False, 70.0, 0.0),
        ("idle beside one that works", "idle", True, 0.0, 2.0),
        ("works beside others", "used", True, 30.0, 0.0),
        ("beside others, not told whose work it is", "used", True, 90.0, 0.0),
        ("how busy it is is not told", "unknown", False, None, 0.0),
        ("hidden, and no more memory than before", "not used", True, None, 2.0),
        ("hidden, at work, and no more memory than before", "unknown", True, None, 0.0),
        ("hidden, with memory", "idle", True, 0.0, 2.0),
        ("hidden, at work", "used", True, 60.0, 0.0),
        ("hidden, a little at work", "unknown", True, 5.0, 0.0),
        ("lost", "unknown", False, None, 0.0),
    ],
)
def test_verdicts(what, verdict, shared, peak_percent, idle_s):
    said = {
        "nothing of it there": gpu(),
        "others there, and not it": gpu(busy=99, memory=900 * MIB, others=2),
        "holds memory": gpu(ours=(300 * MIB, None)),
        "a share too small to be work": gpu(ours=(300 * MIB, 0.4)),
        "alone, by the device": gpu(busy=70, ours=(300 * MIB, 50.0)),
        "idle beside one that works": gpu(busy=90, ours=(300 * MIB, 0.0), others=1),
        "works beside others": gpu(busy=90, ours=(300 * MIB, 30.0), others=1),
        "beside others, not told whose work it is": gpu(busy=90, ours=(300 * MIB, None), others=1),
        "how busy it is is not told": gpu(busy=None, ours=(300 * MIB, None)),
        "hidden, and no more memory than before": gpu(memory=130 * MIB, others=None),
        "hidden, at work, and no more memory than before": gpu(busy=60, memory=130 * MIB, others=None),
        "hidden, with memory": gpu(memory=400 * MIB, others=None),
        "hidden, at work": gpu(busy=60, memory=400 * MIB, others=None),
        "hidden, a little at work": gpu(busy=5, memory=400 * MIB, others=None),
        "lost": gpu(busy=None, memory=None, others=None),
    }[what]
    value = proof([said], [said])
    told = (value["verdict"], value["shared"], value["peak_percent"], value["idle_s"])
    assert told == (verdict, shared, peak_percent, idle_s)


def test_filling_memory_is_no_use_and_little_work_for_long_is():
    fill, rest, little = (gpu(busy=busy, ours=(300 * MIB, None)) for busy in (15, 0, 2))
    assert proof([rest], [fill], [rest])["verdict"] == "idle"
    assert proof(*[[little]] * 8)["verdict"] == "idle"
    assert proof(*[[little]] * 20)["verdict"] == "used"


def test_where_there_is_nothing_to_see():
    assert proof(devices=())["verdict"] == "no gpu"
    assert proof([], devices=())["verdict"] == "no gpu"
    assert proof([], devices=(), is_blind=True)["verdict"] == "unknown"
    assert proof()["verdict"] == "unknown"  # it ended before the first look


def test_memory_that_is_not_told_of_processes_is_what_the_device_has_more_than_before():
    assert proof([gpu(memory=400 * MIB, ours=(None, None))])["peak_memory_bytes"] == 300 * MIB
    assert proof([gpu(memory=400 * MIB, others=None)])["peak_memory_bytes"] == 300 * MIB


def test_energy_is_nobodys_where_others_are_on_the_device_too_or_the_driver_does_not_count():
    alone = [gpu(busy=50, ours=(MIB, 50.0), energy_j=joules) for joules in (10.0, 30.0)]
    assert proof(*[[one] for one in alone])["energy_j"] == 20.0
    assert proof([alone[0]], [{**alone[1], "others": 1}])["energy_j"] is None
    assert proof(*[[{**one, "energy_j": None}] for one in alone])["energy_j"] is None
    assert proof([gpu(energy_j=10.0)], [gpu(energy_j=30.0)])["energy_j"] is None  # it was not there


def test_two_devices_are_added_up():
    one = [gpu(busy=100, ours=(400 * MIB, 100.0)), gpu("GPU-b", busy=50, memory=300 * MIB, ours=(300 * MIB, 50.0))]
    value = proof(one, one, devices=(A, B), dt_s=2.0)
    assert (value["gpu_s"], value["busy_s"], value["mean_percent"]) == (6.0, 4.5, 75.0)
    assert (value["peak_percent"], value["peak_memory_bytes"]) == (100.0, 700 * MIB)
    assert [device["busy_s"] for device in value["devices"]] == [3.0, 1.5]


def test_idle_counts_from_the_last_work_on_any_device():
    work, rest = gpu(busy=40, ours=(MIB, 40.0)), gpu(ours=(MIB, 0.0))
    assert proof([rest], [work], [rest], [rest])["idle_s"] == 2.0
    assert proof([rest, gpu("GPU-b")], [rest, {**work, "uuid": "GPU-b"}], devices=(A, B))["idle_s"] == 0.0


LOST = gpu(busy=None, memory=None, others=None)


def test_a_device_that_does_not_answer_is_not_idle():
    work, rest = gpu(busy=80, ours=(MIB, 80.0)), gpu(ours=(MIB, 0.0))
    value = proof([work], [rest], *[[LOST]] * 1800)
    assert (value["verdict"], value["idle_s"]) == ("used", 1.0)
    assert proof([work], [LOST], [rest], [rest])["idle_s"] == 2.0  # it goes on when it answers again
    other = gpu("GPU-b")
    assert proof([work, other], [rest, other], [LOST, other], [other], devices=(A, B))["idle_s"] == 1.0
    assert proof([LOST, {**work, "uuid": "GPU-b"}], devices=(A, B))["idle_s"] == 0.0


def test_hidden_work_that_may_have_been_the_runs_stays_in_doubt():
    quiet, works = (gpu(busy=busy, memory=130 * MIB, others=None) for busy in (0, 60))
    value = proof([quiet], [works], [quiet])
    assert (value["verdict"], value["idle_s"]) == ("unknown", 1.0)
    fill, held = (gpu(busy=busy, memory=400 * MIB, others=None) for busy in (15, 0))
    assert proof([fill], [held], [held])["verdict"] == "idle"  # as where processes are told


def test_what_others_gave_back_is_not_what_the_run_takes_less():
    left, ours = gpu(memory=10 * MIB, others=None), gpu(busy=60, memory=100 * MIB, others=None)
    assert proof([ours])["verdict"] == "unknown"  # no more than before
    value = proof([left], [ours], [ours])
    assert (value["verdict"], value["peak_memory_bytes"]) == ("used", 90 * MIB)


def test_a_late_sample_does_not_count_for_all_that_passed():
    rest, work = gpu(ours=(MIB, 0.0)), gpu(busy=50, ours=(MIB, 50.0))
    assert proof([rest], dt_s=1800.0)["idle_s"] == 3.0
    value = proof([work], [work], dt_s=1800.0)
    assert (value["gpu_s"], value["busy_s"]) == (4.5, 2.25)
    slow = Proof([A], every_s=60.0)
    slow.add({"cpu_s": None, "memory_bytes": None, "processes": 1, "gpus": [rest]}, 100.0)
    assert slow.value()["idle_s"] == 100.0
    slow.every_s = 1.0
    slow.add({"cpu_s": None, "memory_bytes": None, "processes": 1, "gpus": [rest]}, 100.0)
    assert slow.value()["idle_s"] == 103.0


def test_a_run_that_was_over_before_the_first_look():
    assert proof([gpu()], processes=0)["verdict"] == "unknown"
    assert proof([gpu(ours=(0, 40.0))], processes=0)["verdict"] == "used"  # the driver still tells of its last work
    assert proof([gpu()], processes=None)["verdict"] == "not used"  # the system does not tell
    assert proof([], devices=(), processes=0)["verdict"] == "no gpu"


PERCENTS = st.none() | st.floats(0, 100)
BYTES = st.none() | st.integers(0, 80 << 30)
OURS = st.none() | st.tuples(BYTES, PERCENTS)


@st.composite
def samples(draw):
    found = []
    for _ in range(draw(st.integers(0, 12))):
        gpus = [
            gpu(uuid, draw(PERCENTS), draw(BYTES), draw(OURS), draw(st.none() | st.integers(0, 3)), draw(PERCENTS))
            for uuid in ("GPU-a", "GPU-b")
            if draw(st.booleans())
        ]
        sample = {
            "time": 0.0,
            "cpu_s": draw(PERCENTS),
            "memory_bytes": draw(BYTES),
            "processes": draw(st.integers(0, 2)),
        }
        found.append(({**sample, "gpus": gpus}, draw(st.floats(0, 100))))
    return found


@given(samples())
def test_laws(samples):
    proof, lasted_s = Proof((A, B)), 0.0
    for sample, dt_s in samples:
        before = proof.value()
        proof.add(sample, dt_s)
        lasted_s += dt_s
        now = proof.value()
        for name in ("gpu_s", "busy_s", "peak_memory_bytes", "samples"):
            assert now[name] >= before[name]
    value = proof.value()
    assert 0 <= value["busy_s"] <= value["gpu_s"] <= 2 * lasted_s + 0.001
    assert 0 <= value["idle_s"] <= lasted_s + 0.001
    if value["mean_percent"] is not None:
        assert 0 <= value["mean_percent"] <= value["peak_percent"] <= 100
    devices = value["devices"]
    assert value["busy_s"] == pytest.approx(sum(device["busy_s"] for device in devices), abs=0.002)
    peaks = [device["peak_memory_bytes"] for device in devices]
    assert max(peaks) <= value["peak_memory_bytes"] <= sum(peaks)
    assert value["peak_percent"] == max(
        (d["peak_percent"] for d in devices if d["peak_percent"] is not None), default=None
    )
    assert value["verdict"] == "used" or (value["busy_s"] <= 1.0 and (value["peak_percent"] or 0) <= 20)
    assert json.loads(json.dumps(value)) == value
