"""Several processes on this machine under the real torchrun: their output, who failed, how all of them end."""

import os
import re
import signal
import subprocess
import sys

from jig.runner import events
from tests.conftest import alive, call, spawn, until
from tests.control_group import limited
from tests.ranks.conftest import TRAIN, ranks_of

WHOLE = (
    TRAIN
    + """
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
model = DDP(torch.nn.Linear(32, 32, bias=False))
if rank == 0:
    with torch.no_grad():
        model.module.eval(), model(torch.ones(1, 32))  # one rank alone looks at its model
model.train()
print("mean", round(train(model), 3))
print("hooks", [hook.__module__ for hook, _ in model._comm_hooks])
own = DDP(torch.nn.Linear(32, 32, bias=False))
own.register_comm_hook(None, allreduce_hook)
print("own", train(own), len(own._comm_hooks))
scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
from jig_ranks.scaler import Newest
print("scale", Newest().is_enabled(), Newest().get_scale())
import sitecustomize, subprocess
print("mine", sitecustomize.MINE, flush=True)
subprocess.run([sys.executable, "-c", "import sys; print('child', 'jig_ranks.hook' in sys.modules, flush=True)"])
sys.stdout.buffer.write(b"\\xff raw\\r50%\\r100%" + b"\\n" * (rank == 0))
jig.log(rank=rank)
open("outputs/%d.txt" % rank, "w").write(os.environ["JIG_BACKEND"] + os.environ["MASTER_ADDR"])
dist.destroy_process_group()
"""
)


def test_a_whole_run(ranked, jig_home, cli, monkeypatch, tmp_path):
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text("MINE = 'sitecustomize of the user'\n")
    monkeypatch.setenv("PYTHONPATH", str(site))
    ranked.runconfig(
        Distributed={"processes": 2}, GradientCompression={"kind": "onebit", "warmup_steps": 1, "block": 128}
    )
    ranked.write("train.py", WHOLE)
    said = cli("submit", "-c", "local", "train.py")
    assert said.code == 0, said.out + said.err
    folder = jig_home / "runs" / said.run_id
    # 32 outputs, 4 examples of 32 numbers, 1 and 2 on the two ranks: 32 * 32 * 4 * 1.5
    lines = [
        *("rank {0} of 2", "mean 6144.0", "hooks ['onebit.attach']", "own 6144.0 1"),
        *("scale True 8.0", "mine sitecustomize of the user", "child False"),
    ]
    hint = "jig: the script has a communication hook of its own for a model, which is left alone: not compressed"
    for rank in (0, 1):
        told = [line.format(rank) for line in lines]
        if rank == 0:
            told.insert(3, hint)
        log = (folder / f"output.{rank}.log").read_bytes()
        assert log == "\n".join(told).encode() + b"\n\xff raw\r50%\r100%" + b"\n" * (rank == 0)
        for line in told:
            assert f"[{rank}] {line}\n" in said.out
        assert f"[{rank}] 100%\n" in said.out
        assert f"[{rank}] 100%\n" in cli("logs").out
        assert cli("logs", "--rank", str(rank)).raw == log
        assert cli("history", "info", "-a", f"output.{rank}.log").raw.rstrip(b"\n") == log.rstrip(b"\n")
        assert (folder / f"work/outputs/{rank}.txt").read_text() == "gloo127.0.0.1"
    assert "jig: 2 processes under torchrun, gloo, torch " in said.out
    assert re.search(r"^Exchange: onebit: \S+ kB sent instead of 24.6 kB \(\S+x\), ", said.out, re.MULTILINE)
    assert sorted(path.name for path in folder.glob("metrics*")) == ["metrics.1.jsonl", "metrics.jsonl"]
    assert (folder / "output.log").read_bytes() == b""
    assert not (folder / "torchrun").exists()
    last = events.read(str(folder / "events.jsonl"))[-1]
    assert last["exchange"]["1"]["steps"] == 3 and last["exchange"]["1"]["bytes_uncompressed"] == 12288
    no = cli("logs", "--rank", "2")
    assert (no.code, "has no output of rank 2" in no.err, "it has that of 0, 1" in no.err) == (2, True, True)


DIES = """
if os.environ["TORCHELASTIC_RESTART_COUNT"] == "0" and rank == 1:
    raise ValueError("boom")
if os.environ["TORCHELASTIC_RESTART_COUNT"] == "1" and rank == 0:
    print("going", flush=True)
    os.kill(os.getpid(), 9)
dist.barrier()
"""


def test_the_first_to_fail_is_the_reason(ranked, jig_home, cli):
    ranked.runconfig(Distributed={"processes": 2, "restarts": 1})
    ranked.write("train.py", TRAIN + DIES)
    said = cli("submit", "-c", "local", "train.py")
    assert said.code == 137, said.out + said.err
    assert "jig: rank 1 failed first, with exit code 1: ValueError: boom; all are started again (1 of 1)\n" in said.out
    assert "Status: Failed: rank 0 failed first, killed by SIGKILL: going\n" in said.out
    assert said.out.endswith("\nRank 0 failed first. It said last:\n  rank 0 of 2\n  going\n")
    past = events.read(str(jig_home / "runs" / said.run_id / "events.jsonl"))
    (restart,) = [event for event in past if event["event"] == "rank-restart"]
    assert (restart["restart"], restart["rank"], restart["said"][-1]) == (1, 1, "ValueError: boom")
    assert (past[-1]["reason"], past[-1]["exit_code"], past[-1]["rank"]) == ("rank-failed", 137, 0)
    assert cli("status").out.count("rank 0 failed first, killed by SIGKILL") == 1


def test_a_rank_that_leaves_without_a_word(ranked, cli):
    """Its peer is heard of at the same moment, and loudly. The script names no back-end, and gets the run's."""
    ranked.runconfig(Distributed={"processes": 2, "backend": "gloo"})
    ranked.write(
        "train.py", TRAIN + 'print("by", dist.get_backend())\nif rank == 1:\n    os._exit(7)\ndist.barrier()\n'
    )
    said = cli("submit", "-c", "local", "train.py")
    assert said.code == 7, said.out + said.err
    assert "Failed: rank 1 failed first, with exit code 7: by gloo\n" in said.out


HANGS = """
import subprocess, time
subprocess.Popen(["sleep", "1234.5"], start_new_session=True)
print("here", flush=True)
dist.barrier()
if rank == 0:
    print("saving", flush=True)
time.sleep(600)
"""


def test_a_cancel_ends_all_of_them(ranked, jig_home, cli):
    ranked.write("train.py", TRAIN + HANGS)
    process = spawn("submit", "-c", "local", "train.py", stdin=subprocess.DEVNULL)
    try:
        (folder,) = until(lambda: list((jig_home / "runs").glob("proj_*")))
        log = folder / "output.0.log"
        until(lambda: log.exists() and b"saving" in log.read_bytes(), 120)
        pids = [line["pid"] for line in ranks_of(folder) if "pid" in line]
        assert len(pids) == 2 and len(alive("sleep 1234.5")) == 2
        assert b"saving\n" in call("logs", "--rank", "0").raw
        assert cli("cancel").code == 0
        out, _ = process.communicate(timeout=60)
        assert b"[1] here\n" in out and process.returncode == 143
        assert not alive("sleep 1234.5")
        for pid in pids:
            assert not os.path.exists(f"/proc/{pid}")
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()


def test_without_torch(ranked, cli, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "plain"], check=True)
    python = tmp_path / "plain/bin/python"
    ranked.write("aml_config/local.compute", f"type: local\npythonLocation: {python}\n")
    ranked.write("train.py", "")
    said = cli("submit", "-c", "local", "train.py")
    assert said.code == 125
    assert (
        "Status: Failed: the processes could not be started: several processes are started by torchrun, and this "
        "Python has no torch\n" in said.out
    )
    assert f"Fix: install it there:  {python} -m pip install torch\n" in said.out


def test_a_process_for_each_gpu_where_there_is_none(ranked, cli, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    ranked.runconfig(Distributed={"processes": "gpus"})
    ranked.write("train.py", "")
    said = cli("submit", "-c", "local", "train.py")
    assert said.code == 125
    assert "the processes could not be started: a process for each GPU is wanted, and the run sees none\n" in said.out


HOG = """
import os, time
hold = []
while os.environ["RANK"] == "1":
    hold.append(bytearray(b"x" * (1 << 20)))
time.sleep(600)
"""


def test_a_rank_that_the_kernel_killed_for_memory(ranked):
    ranked.write("hog.py", HOG)
    with limited(900 << 20) as enter:
        said = call("submit", "-c", "local", "hog.py", preexec_fn=enter)
    assert said.code == 137, said.out + said.err
    assert "Status: Failed: the kernel killed rank 1 for memory\n" in said.out


def test_what_one_process_does_before_torch_is_there(ranked, cli):
    """A script that never imports torch runs as well: each process ends by itself."""
    ranked.write("plain.py", "import os, sys; print('rank', os.environ['RANK'], 'torch' in sys.modules)")
    said = cli("submit", "-c", "local", "plain.py")
    assert said.code == 0, said.out + said.err
    assert "[0] rank 0 False\n" in said.out and "[1] rank 1 False\n" in said.out
    assert "Exchange" not in said.out


def test_two_runs_at_once_do_not_meet(ranked):
    trains = "print('mean', train(DDP(torch.nn.Linear(32, 1, bias=False))), flush=True)\n"
    ranked.write("train.py", TRAIN + "dist.barrier()\n" + trains)
    both = [spawn("submit", "-c", "local", "train.py") for _ in range(2)]
    ended = [(*process.communicate(timeout=200), process.returncode) for process in both]
    for out, err, code in ended:
        assert code == 0 and out.count(b" mean 192.0\n") == 2, out + err
