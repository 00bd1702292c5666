"""Several processes in a container that nothing of this machine is mounted into: torch is in the image."""

import sysconfig

import pytest

from tests.conftest import call
from tests.containers.conftest import BASE, docker
from tests.ranks.conftest import TRAIN

__all__ = ["docker"]

LIBRARIES = "/opt/libraries"
TELLS = """
print("mean", train(DDP(torch.nn.Linear(32, 4, bias=False))), flush=True)
jig.log("loss", 0.5 + rank)
with open(f"outputs/{rank}.txt", "w") as file:
    file.write("kept")
dist.barrier()
if rank == 1:
    raise ValueError("boom")
os.read(0, 1)
"""


@pytest.fixture
def image(docker):
    """The name of an image with torch: most of a gigabyte, which is copied twice."""
    name, made = "jig-test/torch:1", docker.engine.docker("create", BASE, "true").strip()
    docker.engine.docker("cp", sysconfig.get_path("purelib"), f"{made}:{LIBRARIES}")
    docker.engine.docker("commit", made, name)
    docker.engine.docker("rm", made)
    yield name
    docker.engine.docker("rmi", name)


@pytest.mark.soak
def test_logs_metrics_outputs_and_the_first_failure_come_back(docker, image, jig_home):
    docker.target(image, sharedVolumes=False)
    docker.runconfig(
        "docker",
        Distributed={"processes": 2},
        GradientCompression="onebit",
        EnvironmentVariables={"PYTHONPATH": LIBRARIES},
    )
    docker.write("train.py", TRAIN + TELLS)
    said = call("submit", "-c", "docker", "train.py")
    assert said.code == 1, said.out + said.err
    assert "rank 1 failed first, with exit code 1: ValueError: boom" in said.out
    for rank in (0, 1):
        folder = jig_home / "runs" / said.run_id
        log = (folder / f"output.{rank}.log").read_text()
        assert log.startswith(f"rank {rank} of 2\n") and "\nmean " in log
        assert ("no C compiler" in log) == (rank == 0)  # the image has none, which is said once
        assert (folder / f"work/outputs/{rank}.txt").read_text() == "kept"
    record = call("history", "info", "-r", said.run_id, "-o", "json").json()
    assert record["loss"] == 0.5
    assert sorted(record["exchange"]) == ["0", "1"]
    assert docker.containers() == []
