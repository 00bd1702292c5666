"""Several processes in a container of the real engine: torch lies in the share folder, the Python is the image's."""

import signal
import sysconfig

import pytest

from tests.conftest import spawn, until
from tests.containers.conftest import docker
from tests.ranks.conftest import TRAIN
from tests.ssh.conftest import client, key_pair

__all__ = ["client", "docker", "key_pair"]

FAILS = """
if rank == 0:
    print("written", flush=True)
    while not os.path.exists("/azureml-run/outputs/go"):
        time.sleep(0.05)
    raise ValueError("boom")
dist.barrier()
"""


@pytest.fixture
def ranked(docker, tmp_path):
    """A project whose share folder is where these tests have torch: a link, and no copies."""
    (tmp_path / "share").mkdir()
    (tmp_path / "share/proj").symlink_to(sysconfig.get_path("purelib"))
    docker.target(nativeSharedDirectory=f"{tmp_path}/share/")
    docker.runconfig("docker", Distributed={"processes": 2}, EnvironmentVariables={"PYTHONPATH": "/azureml-share"})
    docker.write("train.py", "import time\n" + TRAIN + FAILS)
    return docker


def test_its_output_is_followed_and_its_failure_told(ranked, jig_home):
    going = spawn("submit", "-c", "docker", "train.py", bufsize=0)
    try:
        said = b""
        assert going.stdout is not None
        while b"[0] written\n" not in said:
            line = going.stdout.readline()
            said += line
            assert line, said.decode()
        (folder,) = until(lambda: list((jig_home / "runs").glob("proj_*")))
        (folder / "work/outputs/go").touch()
        rest, err = going.communicate(timeout=100)
        said = (said + rest).decode()
    finally:
        going.send_signal(signal.SIGKILL)
        going.communicate()
    assert going.returncode == 1, said + err.decode()
    assert "[1] rank 1 of 2\n" in said, said
    assert "Status: Failed: rank 0 failed first, with exit code 1: ValueError: boom\n" in said
    assert said.endswith('    raise ValueError("boom")\n  ValueError: boom\n')
    assert (folder / "output.1.log").read_bytes().startswith(b"rank 1 of 2\n")
    assert ranked.containers() == []
