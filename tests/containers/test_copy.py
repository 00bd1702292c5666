"""Where no folder is mounted the files are copied in and out, and the record is the same."""

import os

import pytest

from jig.runner.folder import Home
from tests.conftest import until

WORK = """
import os, time, jig
os.write(1, bytes(range(256)) * 400)
for step in range(3):
    jig.log("loss", 1 / (step + 1))
os.makedirs("outputs/deep")
open("outputs/deep/model.bin", "wb").write(os.urandom(3000000))
os.symlink("deep/model.bin", "outputs/best")
open("outputs/run.sh", "w").write("#!/bin/sh\\n")
os.chmod("outputs/run.sh", 0o755)
print(os.getcwd(), open("data.txt").read(), os.environ["HOME"], "AZUREML_NATIVE_SHARE_DIRECTORY" in os.environ)
"""


@pytest.fixture
def copied(docker):
    docker.target(sharedVolumes=False)
    return docker


def test_the_same_record(copied, cli, jig_home):
    copied.write("work.py", WORK)
    copied.write("data.txt", "from the project")
    said = cli("submit", "-c", "docker", "work.py")
    assert said.code == 0, said.out + said.err
    folder = Home(str(jig_home)).run(said.run_id)
    with open(folder.log, "rb") as file:
        assert file.read() == bytes(range(256)) * 400 + b"/azureml-run from the project /jig/home False\n"
    outputs = os.path.join(folder.outputs, "")
    assert os.path.getsize(outputs + "deep/model.bin") == 3000000
    assert os.readlink(outputs + "best") == "deep/model.bin"
    assert os.stat(outputs + "run.sh").st_mode & 0o777 == 0o755
    assert cli("history", "info", "-r", said.run_id, "-o", "json").json()["loss"] == pytest.approx(1 / 3)
    assert copied.containers() == []


def test_nothing_of_this_machine_is_mounted(copied, cli):
    copied.write("nap.py", "import time\nprint('here', flush=True)\ntime.sleep(600)\n")
    run = cli("submit", "-a", "-c", "docker", "nap.py").run_id
    until(lambda: cli("logs", run).out == "here\n", what="the log while it runs")
    assert copied.engine.docker("inspect", "--format", "{{len .Mounts}}", f"jig-{run}") == "0\n"
    assert cli("cancel", run).out == f"{run}: Canceled\n"
    assert copied.containers() == []


def test_links_that_lead_out_of_the_outputs_are_not_followed(copied, cli, jig_home, tmp_path):
    (tmp_path / "precious").mkdir()
    copied.write(
        "evil.py",
        "import os\n"
        f"os.symlink({str(tmp_path / 'precious')!r}, 'outputs/out')\n"
        "os.makedirs('outputs/fine')\n"
        "open('outputs/fine/a', 'w').write('a')\n",
    )
    said = cli("submit", "-c", "docker", "evil.py")
    assert said.code == 0, said.out + said.err
    outputs = Home(str(jig_home)).run(said.run_id).outputs
    assert os.listdir(tmp_path / "precious") == []
    assert sorted(os.listdir(outputs)) == ["fine", "out"]


def test_a_long_log_while_the_engine_is_cut_off(copied, cli):
    """The docker program that watches is killed: the run is not lost with it, or ends with its reason."""
    copied.write("count.py", "import time\nfor n in range(40):\n    print(n, flush=True)\n    time.sleep(0.05)\n")
    said = cli("submit", "-c", "docker", "count.py")
    assert said.code == 0
    assert cli("logs", said.run_id).out == "".join(f"{n}\n" for n in range(40))
