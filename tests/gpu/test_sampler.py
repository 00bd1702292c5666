"""The sampler of a run: a child of its own, with a pretended driver and real processes."""

import contextlib
import errno
import json
import os
import select
import signal
import subprocess
import sys
import time

import pytest

from jig.runner.folder import RunFolder
from jig.runner.gpu import sampler, sampling
from tests.conftest import SOURCE, until
from tests.engines.gpu.driver import UUIDS
from tests.gpu.obedient import CHILD, obedients

MIB = 1 << 20
FIRST, SECOND = UUIDS


@pytest.fixture
def make():
    """make("words", NAME="value") → a process that does what it is told."""
    with obedients() as make:
        yield make


@pytest.fixture(autouse=True)
def often(monkeypatch):
    """The pretended driver reads files at each call; sampling is not slowed down for that."""
    monkeypatch.setattr(sampling, "OWN_SHARE", 1.0)


@pytest.fixture
def folder(tmp_path):
    return RunFolder(str(tmp_path))


@pytest.fixture
def start(folder):
    """start(guard, chosen, every_s) → the sampler's end; it is finished with the test."""
    with contextlib.ExitStack() as ends:

        def call(guard, chosen=(), every_s=0.05):
            made = Heard(sampler.start(folder, "a_1", guard.pid, chosen, every_s))
            ends.callback(made.close)
            return made

        yield call


class Heard:
    """A sampler, and all that it has said so far."""

    def __init__(self, sampler):
        self.sampler, self.said = sampler, []

    def close(self):
        self.sampler.finish(1.0)
        for descriptor in (self.sampler._orders, self.sampler._answers, self.sampler._silence):
            if descriptor >= 0:
                os.close(descriptor)

    def hear(self):
        self.said += self.sampler.messages()
        return self.said

    def all(self, kind):
        return [message[kind] for message in self.hear() if kind in message]

    def report(self):
        until(lambda: self.all("report"), what="the report")
        return self.all("report")[0]

    def next(self, count=2):
        """The proof once so many more samples are in it."""
        before = len(self.all("proof"))
        until(lambda: len(self.all("proof")) >= before + count, what="another proof")
        return self.all("proof")[-1]

    def finish(self, limit_s=5.0):
        proof = self.sampler.finish(limit_s)
        self.hear()
        return proof


def lines(folder):
    with open(f"{folder.path}/system.jsonl") as file:
        return [json.loads(line) for line in file]


def test_a_machine_without_a_driver_says_so_and_the_run_is_still_watched(make, start, folder):
    guard = make()
    guard(CHILD)
    heard = start(guard)
    assert heard.report()["devices"] == [] and "no NVIDIA driver" in heard.report()["error"]
    assert list(heard.said[0]) == ["report"]
    proof = heard.next()
    assert (proof["verdict"], proof["gpu_s"], proof["devices"]) == ("no gpu", 0, [])
    assert proof["peak_rss_bytes"] > MIB
    last = heard.finish()
    assert last == heard.all("proof")[-1] and last["samples"] == len(heard.all("proof")) == len(lines(folder))
    assert {line["processes"] for line in lines(folder)} == {1}


def test_the_report_and_a_sample_in_full(driver_here, make, start, folder):
    guard = make()
    guard(CHILD)
    (script,) = guard.children()
    driver_here.set_driver(version="570.1", cuda=12080)
    heard = start(guard, [FIRST])
    report = heard.report()
    assert (report["driver"], report["cuda"], report["error"]) == ("570.1", "12.8", "")
    assert [(device["uuid"], device["processes"]) for device in report["devices"]] == [(FIRST, [])]
    driver_here.set(
        0, busy=90, used=700, process=[(script, 512, 80), (os.getpid(), 100, 10)], power_mw=120500, energy_mj=7000,
        temperature=60, sm_mhz=800, memory_mhz=2500, throttle=4,
    )  # fmt: skip
    heard.next()
    sample = lines(folder)[-1]
    assert abs(sample.pop("time") - time.time()) < 30
    assert list(sample) == ["cpu_s", "memory_bytes", "read_bytes", "written_bytes", "processes", "gpus"]
    assert sample["gpus"] == [
        {
            "uuid": FIRST,
            "busy_percent": 90,
            "memory_bytes": 700 * MIB,
            "power_w": 120.5,
            "energy_j": 7.0,
            "temperature_c": 60,
            "sm_mhz": 800,
            "memory_mhz": 2500,
            "throttle": ["sw-power-cap"],
            "ours": {"memory_bytes": 512 * MIB, "busy_percent": 80.0, "pids": 1},
            "others": 1,
        }
    ]


def test_used_and_then_idle(driver_here, make, start):
    guard = make()
    guard(CHILD)
    (script,) = guard.children()
    heard = start(guard)
    assert heard.next()["verdict"] == "not used"
    driver_here.set(1, used=512, process=[(script, 512, 0)])
    assert heard.next(3)["verdict"] == "idle"
    driver_here.set(1, busy=75, process=[(script, 512, 75)])
    proof = heard.next(3)
    assert (proof["verdict"], proof["shared"], proof["peak_percent"]) == ("used", False, 75.0)
    assert proof["idle_s"] == 0 and proof["energy_j"] == 0
    assert [(one["uuid"], one["peak_memory_bytes"]) for one in proof["devices"]] == [(FIRST, 0), (SECOND, 512 * MIB)]
    driver_here.set(1, busy=0, process=[(script, 512, 0)])
    assert heard.next(4)["idle_s"] > 0


def test_work_that_ended_between_two_samples_is_seen_in_the_last(driver_here, make, start):
    guard = make()
    guard(f"child = {CHILD}")
    (script,) = guard.children()
    heard = start(guard, every_s=60.0)
    until(lambda: heard.all("proof"), what="the first sample")
    assert heard.all("proof")[-1]["verdict"] == "not used"
    driver_here.set(0, ghost=[(script, 512, 40)])
    guard("child.kill(); child.wait()")
    guard.end()
    proof = heard.finish()
    assert (proof["verdict"], proof["peak_percent"], proof["samples"]) == ("used", 40.0, 2)


def test_only_the_report_where_sampling_is_off(driver_here, make, start, folder):
    heard = start(make(), every_s=0.0)
    assert len(heard.report()["devices"]) == 2
    assert heard.finish() is None
    assert len(heard.said) == 1 and not os.path.exists(f"{folder.path}/system.jsonl")


def test_a_run_that_is_over_before_anything_was_heard(driver_here, make, start):
    guard = make()
    heard = start(guard, every_s=60.0)
    guard.end()
    proof = heard.finish()
    assert [list(message) for message in heard.said] == [["report"], ["proof"]]
    assert (proof["verdict"], proof["samples"]) == ("unknown", 1)


def test_others_hidden_processes_and_memory_that_is_not_told(driver_here, make, start):
    guard = make()
    guard(CHILD)
    (script,) = guard.children()
    driver_here.set(0, used=100)
    heard = start(guard)
    heard.report()
    driver_here.set(0, used=500, process=[(script, "-", "-")], busy=30)
    proof = heard.next(3)
    assert (proof["verdict"], proof["shared"], proof["peak_memory_bytes"]) == ("used", False, 400 * MIB)
    driver_here.set(
        0, error=[("nvmlDeviceGetComputeRunningProcesses", 3), ("nvmlDeviceGetMPSComputeRunningProcesses", 3)]
    )
    assert heard.next(3)["shared"] is True


def test_a_device_that_is_lost(driver_here, make, start, folder):
    heard = start(make())
    heard.next()
    driver_here.lose(0)
    heard.next(3)
    lost = "a GPU is lost: it no longer answers on its bus"
    assert heard.all("error") == [f"{UUIDS[0]}: {lost}"]  # there is another one
    driver_here.lose(1)
    proof = heard.next(3)
    assert heard.all("error")[1:] == [lost] and proof["verdict"] == "unknown"
    assert [gpu["busy_percent"] for gpu in lines(folder)[-1]["gpus"]] == [None, None]


def test_a_device_that_fails_from_the_start_beside_one_that_does_not(driver_here, make, start):
    driver_here.set(0, error=[("nvmlDeviceGetMemoryInfo", 15)])
    guard = make()
    guard(CHILD)
    heard = start(guard)
    assert "lost" in heard.report()["error"]
    assert heard.next()["verdict"] == "unknown" and heard.all("error") == []
    driver_here.set(1, busy=75, process=[(guard.children()[0], 512, 75)])
    assert heard.next(3)["verdict"] == "used"


@pytest.mark.parametrize(
    ("code", "word"), [(18, "mismatch"), (9, "not loaded"), (4, "may not use"), (999, "Unknown Error")]
)
def test_a_driver_that_does_not_start(driver_here, make, start, code, word):
    driver_here.set_driver(error=[("nvmlInit", code)])
    heard = start(make())
    assert word in heard.report()["error"] and heard.report()["hint"]
    proof = heard.next()
    assert proof["verdict"] == "unknown" and proof["peak_rss_bytes"] == 0 and heard.all("error") == []


def test_a_driver_that_hangs_from_the_start(driver_here, make, start, monkeypatch):
    monkeypatch.setattr(sampler, "ANSWER_S", 0.2)
    driver_here.set_driver(hang=["nvmlInit"])
    heard = start(make())
    assert "does not answer" in heard.report()["error"] and heard.report()["devices"] == []
    assert heard.all("error") == [heard.report()["error"]]
    before = time.monotonic()
    assert heard.finish(0.3) is None and time.monotonic() - before < 10
    assert len(heard.all("error")) == 1
    assert not os.path.exists(f"/proc/{heard.sampler.pid}")


@pytest.mark.parametrize(
    ("has_driver", "hangs", "late"),
    [
        (True, sampler.HANGS, sampler.LATE),
        (False, *["the process that watches the run does not answer"] * 2),
    ],
)
def test_only_a_driver_that_is_there_is_blamed(monkeypatch, make, start, has_driver, hangs, late):
    monkeypatch.setattr("jig.runner.environment.has_nvidia", lambda: has_driver)
    monkeypatch.setattr(sampler, "ANSWER_S", 0.1)
    monkeypatch.setattr(sampling.Sampling, "run", lambda *_: time.sleep(60))
    heard = start(make())
    assert heard.report()["error"] == hangs and ("driver" in heard.report()["hint"] + hangs) is has_driver
    assert heard.all("error") == [hangs]
    monkeypatch.setattr(sampler, "ANSWER_S", 60.0)
    heard = start(make())
    assert heard.finish(0.1) is None and heard.all("error") == [late]


def test_a_driver_that_hangs_and_goes_on(driver_here, make, start, monkeypatch):
    monkeypatch.setattr(sampler, "ANSWER_S", 0.5)
    heard = start(make())
    heard.next()
    driver_here.set(0, hang=["nvmlDeviceGetUtilizationRates"])
    until(lambda: heard.all("error"), what="the word that it hangs")
    driver_here.set(0, hang=None)
    heard.next(3)
    told = len(heard.all("error"))
    driver_here.set(0, hang=["nvmlDeviceGetUtilizationRates"])
    until(lambda: len(heard.all("error")) > told, what="the same again")
    assert set(heard.all("error")) == {"the NVIDIA driver does not answer"}
    assert heard.finish(0.2) == heard.all("proof")[-1]


def test_a_sampler_that_is_killed_says_so_once_and_is_silent(make, start):
    heard = start(make())
    proof = heard.next()
    os.kill(heard.sampler.pid, signal.SIGKILL)
    until(lambda: heard.all("error"), what="the word that it was killed")
    assert heard.all("error") == ["the process that watches the GPU was killed by signal 9"]
    assert select.select([heard.sampler], [], [], 0.1)[0] == [] and heard.sampler.messages() == []
    assert heard.finish() == heard.all("proof")[-1] and heard.all("proof")[-1]["samples"] >= proof["samples"]
    assert len(heard.all("error")) == 1


def test_it_is_readable_when_there_is_something_to_hear_and_not_after_the_end(make, start):
    heard = start(make())
    assert select.select([heard.sampler], [], [], 10)[0] == [heard.sampler]
    heard.finish()
    assert select.select([heard.sampler], [], [], 0.1)[0] == []
    assert heard.finish() == heard.all("proof")[-1] and heard.sampler.messages() == []


def test_it_holds_nothing_of_the_supervisors_and_ends_only_when_wanted(make, start, tmp_path):
    with open(tmp_path / "lock", "w") as held:
        os.set_inheritable(held.fileno(), True)
        heard = start(make())
        heard.next()
        mine = f"/proc/{heard.sampler.pid}/fd"
        places = [os.readlink(f"{mine}/{name}") for name in os.listdir(mine) if int(name) > 2]
        assert sorted(place.split(":")[0] for place in places) == ["pipe", "pipe", str(tmp_path / "system.jsonl")][::-1]
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        os.kill(heard.sampler.pid, number)
    assert heard.next()["samples"] > 1


SUPERVISOR = """
import sys, time
sys.path.insert(0, sys.argv[1])
from jig.runner.folder import RunFolder
from jig.runner.gpu import sampler
started = sampler.start(RunFolder(sys.argv[2]), "a_1", int(sys.argv[3]), [], 0.05)
print(started.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("hangs", [False, True])
def test_it_ends_with_the_supervisor_also_while_the_driver_hangs(driver_here, make, tmp_path, hangs):
    if hangs:
        driver_here.set_driver(hang=["nvmlInit"])
    argv = [sys.executable, "-c", SUPERVISOR, str(SOURCE), str(tmp_path), str(make().pid)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as supervisor:
        child = int(supervisor.stdout.readline())
        time.sleep(0.3)
        assert os.path.exists(f"/proc/{child}")
        supervisor.kill()
    until(lambda: not os.path.exists(f"/proc/{child}"), what="the end of the sampler")


def test_a_full_disk_leaves_lines_out_whole(make, start, small_disk, folder):
    disk = small_disk("64k")
    folder.path = str(disk)
    filler = disk / "filler"
    heard = start(make())
    heard.next(3)
    with pytest.raises(OSError), open(filler, "wb", buffering=0) as file:
        while True:
            file.write(b"x" * 512)
    full = len(lines(folder))
    samples = heard.next(60)["samples"]
    assert len(lines(folder)) < samples - 20 and len(lines(folder)) - full < 40  # what was left of the file's last page
    filler.unlink()
    heard.next(3)
    assert heard.finish()["samples"] > samples and lines(folder)[-1]["time"] > time.time() - 5


def test_lines_that_cannot_be_written_are_told_once_and_samples_go_on(make, start, folder):
    place = f"{folder.path}/system.jsonl"
    os.mkdir(place)
    heard = start(make())
    heard.next(4)
    assert heard.all("note") == [f"no more samples are kept in {place}: Is a directory"]
    assert heard.finish()["samples"] >= 4 and heard.all("error") == [] and len(heard.all("note")) == 1


@pytest.mark.parametrize("call", ["open", "fstat", "write", "ftruncate"])
@pytest.mark.parametrize("code", [errno.EROFS, errno.EIO, errno.ESTALE, errno.EFBIG, errno.EACCES])
def test_each_way_in_which_a_line_fails(monkeypatch, tmp_path, call, code):
    def fail(*_):
        raise OSError(code, os.strerror(code))

    place = tmp_path / "system.jsonl"
    lines = sampling.Lines(str(place))
    monkeypatch.setattr(os, call, fail)
    if call == "ftruncate":
        monkeypatch.setattr(os, "write", lambda *_: 1)
    told = [lines.write({"time": 1}) for _ in range(3)]
    monkeypatch.undo()
    assert told == [f"no more samples are kept in {place}: {os.strerror(code)}", "", ""]
    assert lines.write({"time": 2}) == "" and (not place.exists() or place.read_bytes() == b"")


def test_samples_that_cost_much_are_taken_less_often(make, start, monkeypatch):
    monkeypatch.setattr(sampling, "OWN_SHARE", 1e-6)
    heard = start(make(), every_s=0.01)
    until(lambda: heard.all("proof"), what="the first sample")
    time.sleep(0.5)
    assert len(heard.all("proof")) == 1 and heard.all("error") == []


def test_a_long_run_has_fewer_lines(make, start, monkeypatch, folder):
    monkeypatch.setattr(sampling, "THINNED_AFTER_S", 10.0)
    heard = start(make(), every_s=0.01)
    until(lambda: len(heard.all("proof")) > 80, what="samples")
    heard.finish()
    times = [line["time"] for line in lines(folder)]
    assert len(times) < 50
    assert times[-2] - times[-3] > 0.05  # by now a tenth of the time so far


def test_the_supervisor_imports_nothing_that_takes_time():
    code = "import sys; sys.path.insert(0, sys.argv[1]); import jig.runner.gpu.sampler; print(sorted(set(sys.modules) & set(sys.argv[2:])))"
    heavy = [
        "ctypes",
        "json",
        "re",
        "typing",
        "subprocess",
        "collections",
        "jig.runner.gpu.nvml",
        "jig.runner.gpu.sampling",
    ]
    said = subprocess.run([sys.executable, "-I", "-S", "-c", code, str(SOURCE), *heavy], capture_output=True, text=True)
    assert said.stdout == "[]\n", said.stderr
