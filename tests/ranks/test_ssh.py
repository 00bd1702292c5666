"""Several processes on a machine over SSH: their files come home, also when the line is cut."""

import subprocess
import sysconfig
from pathlib import Path

from tests.conftest import spawn, until
from tests.ranks.conftest import TRAIN
from tests.ssh.conftest import box, client, host, host_folder, key_pair, make_host, mirror

__all__ = ["box", "client", "host", "host_folder", "key_pair", "make_host"]

TALKS = """
import time
for number in range(40):
    print("line", number, flush=True)
    time.sleep(0.05)
dist.barrier()
jig.log(rank=rank)
if rank == 1:
    sys.exit(5)
"""


# PyTorch, and what it imports.
NEEDS = ("torch", "torchgen", "functorch", "typing_extensions.py", "sympy", "mpmath", "numpy", "numpy.libs", "networkx")


def bring_torch(home: Path) -> str:
    """The PyTorch of these tests in a folder of the machine: second names of the same files, where the disk is the same."""
    (home / "torch").mkdir()
    packages = Path(sysconfig.get_path("purelib"))
    places = [packages / name for name in NEEDS if (packages / name).exists()]
    if subprocess.run(["cp", "-al", *places, home / "torch"], capture_output=True).returncode:
        subprocess.run(["cp", "-a", *places, home / "torch"], check=True)
    return "/home/ada/torch"


def test_all_of_it_comes_home(box, project, jig_home, client, cli):
    config = {"Distributed": {"processes": 2}, "EnvironmentVariables": {"PYTHONPATH": bring_torch(box.host.home)}}
    project.runconfig("box", **config)
    project.write("train.py", TRAIN + TALKS)
    going = spawn("submit", "-c", "box", "train.py", bufsize=0)
    try:
        assert going.stdout is not None
        said = b""
        while b"[1] line 9\n" not in said:
            piece = going.stdout.read(4096)
            assert piece, said.decode()
            said += piece
        client.hang_up()
        out, err = going.communicate(timeout=120)
        said += out
    finally:
        going.kill()
        going.communicate()
    assert going.returncode == 5, said.decode() + err.decode()
    assert b"jig: the connection to box is lost" in said
    for rank in (0, 1):
        mine = [line for line in said.splitlines() if line.startswith(b"[%d] line" % rank)]
        assert mine == [b"[%d] line %d" % (rank, number) for number in range(40)]
    assert b"Status: Failed: rank 1 failed first, with exit code 5: line 39\n" in said
    (there,) = box.runs.glob("proj_*")
    here = until(lambda: mirror(jig_home, there.name))
    for name in ("output.0.log", "output.1.log", "metrics.1.jsonl", "ranks.jsonl"):
        assert (here / name).read_bytes() == (there / name).read_bytes(), name
    assert cli("logs", "--rank", "1").raw == (there / "output.1.log").read_bytes()
