"""Runs on a machine with a driver: what is told before, during and after; required devices; the idle policy."""

import json
import os
import subprocess
import sys
import time

import pytest

import jig
from jig.runner import events
from jig.runner.folder import Home
from tests.conftest import until
from tests.engines.gpu.driver import UUIDS
from tests.runner.wheels import make_wheel

# The script says in the driver's file that it is on a device, as a framework would by using it.
ON = "import os, time\nwith open({place!r}, 'a') as file:\n    file.write('process %d 512 {busy}\\n' % os.getpid())\n"
WAIT = "time.sleep({seconds})\n"
TORCH = (
    "__version__ = {version!r}\n"
    "class version: cuda = {cuda!r}\n"
    "class cuda:\n"
    "    is_available = staticmethod(lambda: {count} > 0)\n"
    "    device_count = staticmethod(lambda: {count})\n"
    "def zeros(*_, **__): raise RuntimeError({error!r})\n"
)


def past(jig_home, run_id: str) -> "list[dict]":
    return events.read(Home(str(jig_home)).run(run_id).events)


def the(kind: str, found: "list[dict]") -> dict:
    chosen = [event for event in found if event["event"] == kind]
    assert len(chosen) == 1, found
    return chosen[0]


def submit_two(cli, jig_home) -> "tuple[str, str]":
    """One run that has the devices, and one that waits for them."""
    first = cli("submit", "-a", "-c", "local", "train.py").run_id
    until(lambda: any(event["event"] == "leased" for event in past(jig_home, first)))
    second = cli("submit", "-a", "-c", "local", "train.py").run_id
    until(lambda: any(event["event"] == "waiting" for event in past(jig_home, second)))
    return first, second


def write_torch(
    project, count: int = 0, version: str = "2.4.0", cuda: "str | None" = "12.4", error: str = "", folder: str = ""
) -> None:
    text = TORCH.format(version=version, cuda=cuda, count=count, error=error)
    project.write(folder + "torch/__init__.py", text)


@pytest.fixture
def busy(project, driver_here):
    """A script that is on the first device."""
    project.write("train.py", ON.format(place=str(driver_here.device(0)), busy=90) + WAIT.format(seconds=1.5))
    driver_here.set(0, busy=90, used=512)
    return driver_here


def test_a_run_that_uses_the_gpu(project, busy, cli, jig_home):
    said = cli("submit", "-c", "local", "train.py")
    assert said.code == 0, said.out + said.err
    found = past(jig_home, said.run_id)
    report = the("gpu", found)["look"]
    assert [device["name"] for device in report["devices"]] == ["Pretended K80", "Pretended K80"]
    proof = found[-1]["proof"]
    assert (proof["verdict"], proof["peak_memory_bytes"]) == ("used", 512 << 20)
    assert 0 < proof["busy_s"] <= proof["gpu_s"] <= 3
    assert "cause" not in found[-1]
    assert said.out.index("Pretended K80") < said.out.index("Execution Details")
    samples = (Home(str(jig_home)).run(said.run_id).path + "/system.jsonl").encode()
    assert os.path.getsize(samples) > 0


def test_one_that_holds_memory_and_does_nothing(project, driver_here, cli, jig_home):
    project.write("train.py", ON.format(place=str(driver_here.device(0)), busy=0) + WAIT.format(seconds=1.5))
    said = cli("submit", "-c", "local", "train.py")
    assert past(jig_home, said.run_id)[-1]["proof"]["verdict"] == "idle"


@pytest.mark.parametrize(
    "torch, cause",
    [
        ({"count": 2}, "Torch 2.4.0 can use the GPU, and the script never put anything there."),
        (
            {"version": "2.4.0+cpu", "cuda": None},
            "Torch 2.4.0+cpu is built without CUDA: it can only compute on the CPU.",
        ),
        ({"error": "driver too old"}, "Torch 2.4.0 cannot use the GPU: driver too old."),
    ],
)
def test_why_none_was_used(project, driver_here, cli, jig_home, torch, cause):
    write_torch(project, **torch)
    project.runconfig("local", Gpus=1)
    project.write("train.py", "import time\ntime.sleep(0.5)\n")
    said = cli("submit", "-c", "local", "train.py")
    assert said.code == 0, said.out + said.err
    last = past(jig_home, said.run_id)[-1]
    assert last["proof"]["verdict"] == "not used"
    assert last["cause"].startswith(cause)
    assert cause in " ".join(said.out.split())


def test_a_variable_that_hides_them(project, driver_here, cli, jig_home):
    project.runconfig("local", IdleGpu={"warn": "1h"}, EnvironmentVariables={"CUDA_VISIBLE_DEVICES": "-1"})
    project.write("train.py", "import time\ntime.sleep(0.5)\n")
    said = cli("submit", "-c", "local", "train.py")
    assert past(jig_home, said.run_id)[-1]["cause"].startswith(
        "The run's variables hide every GPU: `CUDA_VISIBLE_DEVICES=-1`. Fix: remove it from EnvironmentVariables."
    )


def test_a_gpu_is_required_and_the_framework_has_it(project, driver_here, cli):
    write_torch(project, count=1)
    project.runconfig("local", RequireGpu=True)
    project.write("train.py", "import sys\nprint('trains', sys.argv[1:])\nraise SystemExit(3)\n")
    said = cli("submit", "-c", "local", "train.py", "--rate", "a b")
    assert "trains ['--rate', 'a b']" in said.out
    assert said.code == 3


def test_a_gpu_is_required_and_the_build_is_without(project, driver_here, cli, jig_home):
    write_torch(project, version="2.4.0+cpu", cuda=None)
    project.runconfig("local", RequireGpu=True)
    project.write("train.py", "print('trains')\n")
    began = time.monotonic()
    said = cli("submit", "-c", "local", "train.py")
    assert time.monotonic() - began < 20
    last = past(jig_home, said.run_id)[-1]
    assert (last["event"], last["reason"]) == ("failed", "gpu-refused")
    assert last["detail"] == "torch 2.4.0+cpu is built without CUDA: it can only compute on the CPU"
    assert "trains" not in said.out
    assert said.code != 0


def test_a_script_may_end_with_the_code_of_a_refusal(project, driver_here, cli, jig_home):
    write_torch(project, count=1)
    project.runconfig("local", RequireGpu=True)
    project.write("train.py", "raise SystemExit(93)\n")
    said = cli("submit", "-c", "local", "train.py")
    assert (said.code, past(jig_home, said.run_id)[-1]["reason"]) == (93, "exited")


@pytest.mark.parametrize("key", [{"Gpus": 1}, {"RequireGpu": True}])
def test_no_driver_is_told_before_there_is_a_run(project, cli, jig_home, key):
    project.runconfig("local", **key)
    project.write("train.py", "print('trains')\n")
    said = cli("submit", "-c", "local", "train.py")
    assert said.code == 125
    assert "error: the run wants a GPU, and there is no NVIDIA driver on this machine" in said.err


def test_a_run_gets_its_device_by_number(project, driver_here, cli, jig_home):
    project.runconfig("local", Gpus=1)
    project.write("train.py", "import os\nprint(os.environ['CUDA_VISIBLE_DEVICES'], os.environ['CUDA_DEVICE_ORDER'])\n")
    said = cli("submit", "-c", "local", "train.py")
    assert "0 PCI_BUS_ID\n" in said.out
    assert the("leased", past(jig_home, said.run_id))["indices"] == [0]


def test_two_that_want_all_run_one_after_the_other(project, driver_here, cli, jig_home):
    project.runconfig("local", Gpus=2)
    project.write("train.py", "import time\nprint('trains', flush=True)\ntime.sleep(2)\n")
    first, second = submit_two(cli, jig_home)
    assert first in the("waiting", past(jig_home, second))["reason"]
    assert '"Queued"' in cli("status", second, "-o", "json").out
    until(lambda: past(jig_home, second)[-1]["event"] in events.FINAL, timeout=60)
    assert [event["event"] for event in past(jig_home, second)][-1] == "completed"
    assert the("leased", past(jig_home, second))["time"] >= the("running", past(jig_home, first))["time"] + 2


def test_a_waiting_run_is_canceled(project, driver_here, cli, jig_home):
    project.runconfig("local", Gpus=2)
    project.write("train.py", "import time\ntime.sleep(60)\n")
    first, second = submit_two(cli, jig_home)
    assert cli("cancel", second).code == 0
    assert past(jig_home, second)[-1]["event"] == "canceled"
    assert cli("cancel", first).code == 0


def test_an_idle_run_is_warned_and_stopped(project, driver_here, cli, jig_home):
    project.runconfig("local", IdleGpu={"warn": "1s", "stop": "3s"})
    project.write(
        "train.py",
        ON.format(place=str(driver_here.device(0)), busy=0)
        + "import signal\nsignal.signal(signal.SIGTERM, lambda *_: (print('saved', flush=True), os._exit(0)))\n"
        + WAIT.format(seconds=60),
    )
    said = cli("submit", "-c", "local", "train.py")
    found = past(jig_home, said.run_id)
    assert the("gpu-idle", found)["stop_s"] == 3
    assert (found[-1]["event"], found[-1]["reason"]) == ("canceled", "gpu-idle")
    assert "saved\n" in said.out


def test_a_busy_run_is_left_alone(project, busy, cli, jig_home):
    project.runconfig("local", IdleGpu={"warn": "1s", "stop": "2s"})
    project.write("train.py", ON.format(place=str(busy.device(0)), busy=90) + WAIT.format(seconds=4))
    said = cli("submit", "-c", "local", "train.py")
    found = past(jig_home, said.run_id)
    assert found[-1]["event"] == "completed"
    assert not [event for event in found if event["event"] == "gpu-idle"]


def test_one_that_reads_its_data_first_is_waited_for(project, driver_here, cli, jig_home):
    """Two seconds without the GPU, work, and two seconds without it again: never as long as its patience."""
    project.runconfig("local", IdleGpu={"warn": "1s", "stop": "4s"}, GpuSampling=0.2)
    place = str(driver_here.device(0))
    work = ON.format(place=place, busy=90) + "time.sleep(1)\n"
    done = f"with open({place!r}) as file:\n    text = file.read().partition('process')[0]\nopen({place!r}, 'w').write(text)\n"
    project.write("train.py", f"import time\ntime.sleep(2.5)\n{work}{done}time.sleep(2.5)\n{work}")
    driver_here.set(0, busy=90, used=512)
    said = cli("submit", "-c", "local", "train.py")
    found = past(jig_home, said.run_id)
    assert found[-1]["event"] == "completed", found
    assert len([event for event in found if event["event"] == "gpu-idle"]) == 2
    assert found[-1]["proof"]["verdict"] == "used"


def test_a_driver_that_goes_away_in_the_middle_takes_no_run_with_it(project, busy, cli, jig_home):
    project.runconfig("local", IdleGpu={"stop": "2s"}, GpuSampling=0.2)
    project.write(
        "train.py",
        ON.format(place=str(busy.device(0)), busy=90)
        + "time.sleep(1)\nopen('outputs/now', 'w').close()\ntime.sleep(4)\nprint('trained')\n",
    )
    run_id = cli("submit", "-a", "-c", "local", "train.py").run_id
    until((jig_home / "runs" / run_id / "work/outputs/now").exists)
    busy.lose(0)
    until(lambda: past(jig_home, run_id)[-1]["event"] in events.FINAL)
    found = past(jig_home, run_id)
    assert (found[-1]["event"], found[-1]["exit_code"]) == ("completed", 0)
    assert found[-1]["proof"]["verdict"] == "used"  # as far as anybody could see
    (told,) = [event["text"] for event in found if event["event"] == "note"]
    assert told == f"the GPU cannot be watched: {UUIDS[0]}: a GPU is lost: it no longer answers on its bus"


def test_a_driver_that_hangs_hangs_no_run(project, driver_here, cli, jig_home):
    driver_here.set_driver(hang=["nvmlInit"])
    project.write("train.py", "print('trains')\n")
    began = time.monotonic()
    said = cli("submit", "-c", "local", "train.py")
    assert said.code == 0 and "trains\n" in said.out
    assert time.monotonic() - began < 10


def test_no_driver_is_in_the_record(project, cli, jig_home):
    project.write("train.py", "print('trains')\n")
    said = cli("submit", "-c", "local", "train.py")
    assert the("gpu", past(jig_home, said.run_id))["look"]["error"] == "there is no NVIDIA driver on this machine"
    assert "GPU" not in said.out


def test_a_library_may_use_what_no_file_names(project, driver_here, cli):
    """The file names a framework that cannot, and another one that is installed can."""
    write_torch(project, count=1)
    project.write("tensorflow/__init__.py", "raise ImportError('broken')\n")
    project.runconfig("local", RequireGpu=True)
    project.write("train.py", "try:\n    import tensorflow\nexcept ImportError:\n    print('trains')\n")
    assert "trains\n" in cli("submit", "-c", "local", "train.py").out


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_files_that_cannot_be_read_say_nothing(project, tmp_path, kind):
    """Links that lead nowhere, as editors leave them, and pipes that nobody writes to."""
    (tmp_path / "train.py").write_text("import torch\n")
    write_torch(project, count=1, folder="../")
    if kind == "link":
        os.symlink("nowhere", tmp_path / "lock.py")
    else:
        os.mkfifo(tmp_path / "pipe.py")
    script = os.path.join(os.path.dirname(jig.__file__), "script", "jig_gpu.py")
    done = subprocess.run(
        [sys.executable, script, "ask", str(tmp_path)], stdin=subprocess.DEVNULL, capture_output=True, timeout=30
    )
    answer = json.loads(done.stdout.decode().rpartition("jig-gpu:")[2])
    assert answer == {"torch": {"version": "2.4.0", "built": "12.4", "devices": 1, "error": ""}}


def test_a_script_that_fails_is_not_accused(project, driver_here, cli, jig_home):
    write_torch(project, count=1)
    project.runconfig("local", Gpus=1)
    project.write("train.py", "import time\ntime.sleep(0.5)\nraise SystemExit(2)\n")
    said = cli("submit", "-c", "local", "train.py")
    assert said.code == 2
    assert "cause" not in past(jig_home, said.run_id)[-1]
    assert "NO GPU" not in said.out


def test_one_that_idles_is_told(project, driver_here, cli, jig_home):
    project.runconfig("local", Gpus=1)
    project.write("train.py", ON.format(place=str(driver_here.device(0)), busy=0) + WAIT.format(seconds=1.5))
    said = cli("submit", "-c", "local", "train.py")
    assert past(jig_home, said.run_id)[-1]["proof"]["verdict"] == "idle"
    assert "THE GPU DID NOTHING" in said.out


def test_a_pipe_in_the_place_of_a_refusal_hangs_nobody(project, driver_here, cli, jig_home):
    write_torch(project, count=1)
    project.runconfig("local", RequireGpu=True)
    place = "os.path.join(os.environ['JIG_RUN_DIR'], 'gpu-refused.json')"
    project.write("train.py", f"import os\nos.mkfifo({place})\nraise SystemExit(93)\n")
    said = cli("submit", "-c", "local", "train.py")
    assert (said.code, past(jig_home, said.run_id)[-1]["reason"]) == (93, "exited")


def test_the_report_comes_without_sampling_too(project, driver_here, cli, jig_home):
    project.runconfig("local", GpuSampling=0)
    project.write("train.py", "import time\ntime.sleep(0.5)\n")
    said = cli("submit", "-c", "local", "train.py")
    found = past(jig_home, said.run_id)
    assert len(the("gpu", found)["look"]["devices"]) == 2
    assert not os.path.exists(Home(str(jig_home)).run(said.run_id).path + "/system.jsonl")


def test_a_build_that_the_driver_is_too_old_for_is_told_at_the_start(project, driver_here, cli):
    """What of the doctor costs nothing, with the look that the run took anyway."""
    driver_here.set_driver(version="470.82.01", cuda=11040)
    wheels = project.path / "wheels"
    make_wheel(wheels, "torch", "2.4.0")
    lines = ("--no-index", f"--find-links {wheels}", "torch==2.4.0")
    project.write(
        "aml_config/conda_dependencies.yml", "dependencies:\n  - pip:\n" + "".join(f"    - {line}\n" for line in lines)
    )
    project.write("aml_config/local.compute", "type: local\nuserManagedEnvironment: false\n")
    project.runconfig("local", Gpus=1, CondaDependenciesFile="aml_config/conda_dependencies.yml")
    project.write("train.py", "print('trains')")
    said = cli("submit", "-c", "local", "train.py")
    assert said.code == 0, said.err
    (told,) = [line for line in said.out.splitlines() if "WARNING" in line]
    assert told.startswith(
        "jig: WARNING: torch 2.4.0: made with CUDA 12.1 (aml_config/conda_dependencies.yml:5), which needs driver "
        "525.60.13 or newer; the machine has 470.82.01 (fix: in aml_config/conda_dependencies.yml, under `- pip:`, write"
    )
