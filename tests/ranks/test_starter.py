"""What the launcher decides before torchrun is started: how many, by what, with which variables."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import jig

SCRIPT = Path(jig.__file__).parent / "script"
WORDS = ["--nproc-per-node", "{processes}", "--rdzv-id", "{id}", "{local}", "--log-dir", "{logs}", "{rank}"]
# `prepare`, as if torch were here and had so many devices; what it refuses, tells and sets.
ASK = """
import json, os, sys
orders, devices, cores = json.loads(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
import jig_ranks.__main__ as launcher
launcher.find_torch, launcher.count_devices = lambda orders: "2.0", lambda: devices
launcher.local_words, launcher.cores = lambda: ["--local-addr", "127.0.0.1"], lambda: cores
told = []
class Record:
    def write(self, **fields):
        told.append(fields)
try:
    argv = launcher.prepare(orders, "/run", Record())
except launcher.Refused as refused:
    print(json.dumps([refused.detail, refused.hint]))
else:
    names = ("JIG_BACKEND", "JIG_DEFAULT_BACKEND", "OMP_NUM_THREADS", "GLOO_SOCKET_IFNAME", "JIG_GRADIENT_COMPRESSION")
    print(json.dumps({"argv": argv, "told": told, "variables": [os.environ.get(name) for name in names]}))
"""


def ask(processes, devices, cores=8, backend="auto", compression=(), **variables):
    orders = {
        "processes": processes, "backend": backend, "compression": dict(compression), "restarts": 0, "words": WORDS,
        "script": ["python", "train.py"], "files": ["aml_config/x.runconfig"], "managed": True,
    }  # fmt: skip
    command = [sys.executable, "-c", ASK, json.dumps(orders), str(devices), str(cores)]
    env = {"PYTHONPATH": str(SCRIPT), "JIG_RUN_ID": "proj_1", **variables}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("wanted", "devices", "cores", "count", "backend", "forced", "threads"),
    [
        (4, 0, 8, 4, "gloo", None, "2"),
        (4, 4, 8, 4, "nccl", None, "2"),
        (4, 2, 8, 4, "gloo", "gloo", "2"),  # NCCL would refuse to put two on one device
        (0, 4, 64, 4, "nccl", None, "16"),
        (16, 0, 8, 16, "gloo", None, "1"),
    ],
)
def test_how_many_and_by_what(wanted, devices, cores, count, backend, forced, threads):
    said = ask(wanted, devices, cores)
    rank = [sys.executable, "-I", "-S", str(SCRIPT / "jig_ranks/rank.py")]
    assert said["argv"] == [
        *("--nproc-per-node", str(count), "--rdzv-id", "proj_1", "--local-addr", "127.0.0.1", "--log-dir"),
        *("/run/torchrun", *rank, "python", "train.py"),
    ]
    assert said["variables"] == [backend, forced, threads, "lo", None]
    assert said["told"][0] == {"processes": count, "backend": backend, "devices": devices, "torch": "2.0"}
    notes = [{"note": "4 processes share 2 GPUs: they exchange by gloo"}] if forced else []
    assert said["told"][1:] == notes


def test_what_the_person_says_is_left():
    compression = {"kind": "onebit", "warmup_steps": 2, "block": 128}
    said = ask(2, 2, backend="gloo", compression=compression, OMP_NUM_THREADS="3", GLOO_SOCKET_IFNAME="eth0")
    assert said["variables"][:4] == ["gloo", "gloo", "3", "eth0"]
    assert json.loads(said["variables"][4]) == compression


@pytest.mark.parametrize(
    ("processes", "devices", "backend", "detail", "hint"),
    [
        (0, 0, "auto", "a process for each GPU is wanted, and the run sees none", "`Distributed: {processes: 4}`"),
        (4, 1, "nccl", "`backend: nccl` wants a GPU for each of 4 processes, and the run sees 1", "`backend: gloo`"),
    ],
)
def test_refused(processes, devices, backend, detail, hint):
    said = ask(processes, devices, backend=backend)
    assert said[0] == detail and hint in said[1] and "aml_config/x.runconfig" in said[1]


OLD = """
import jig_ranks.__main__ as launcher
try:
    print(launcher.find_torch({}))
except launcher.Refused as refused:
    print(refused.detail, refused.hint, sep="; ")
"""


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("2.0.1+cu118", "torch 2.0.1+cu118 is too old to be launched so; install torch 2.1 or newer"),
        ("2.1.0a0+git1", "2.1.0a0+git1"),
        ("2.13.0", "2.13.0"),
    ],
)
def test_how_old_a_torch_may_be(tmp_path, version, said):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch/__init__.py").write_text(f"__version__ = {version!r}\n")
    (tmp_path / "torch/distributed.py").write_text("def is_available():\n    return True\n")
    env = {"PYTHONPATH": f"{tmp_path}:{SCRIPT}"}
    done = subprocess.run([sys.executable, "-c", OLD], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == said + "\n"


START = SCRIPT / "jig_ranks/start"


@pytest.mark.parametrize("theirs", [None, "raise ImportError('mine')", "import gone", "MINE = 1"])
def test_the_start_up_file_steps_aside(tmp_path, theirs):
    """Python tells of a fault in the user's own as it always does, and goes on; nothing is left for children."""
    if theirs is not None:
        (tmp_path / "sitecustomize.py").write_text(theirs)
    code = (
        "import os, sys; print(os.environ['PYTHONPATH'], 'jig_ranks.hook' in sys.modules, "
        "[p for p in sys.path if p.endswith('start')], 'torch' in sys.modules, getattr(sys.modules.get('sitecustomize'), 'MINE', 0))"
    )
    before = f"{tmp_path}:{SCRIPT}"
    env = {
        "PYTHONPATH": f"{START}:{before}",
        "JIG_GRADIENT_COMPRESSION": "{}",
        "JIG_RUN_DIR": str(tmp_path),
        "RANK": "0",
    }
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == f"{before} True [] False {int(theirs == 'MINE = 1')}\n"
    plain = subprocess.run([sys.executable, "-c", ""], env={"PYTHONPATH": before}, capture_output=True, text=True)
    assert done.stderr == plain.stderr


ENDS = """
import os, sys, threading, time
from jig_ranks import hook
sys.modules[hook.GROUPS] = sys
hook.install()
last = threading.Lock()
last.acquire()
def let_go():
    last.acquire()
    time.sleep(0.02)
    os.write(1, b"let go")
threading.Thread(target=let_go, daemon=True).start()
last.release()
"""


def test_a_thread_that_still_has_a_collective_is_waited_for():
    """Else Python would end gloo's thread within C++, which is SIGABRT for the process."""
    done = subprocess.run([sys.executable, "-c", ENDS], env={"PYTHONPATH": str(SCRIPT)}, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("let go", "")
