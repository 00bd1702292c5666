"""The article's walk-through, step by step, in both of its spellings: a script on the GPU of another machine, in Docker."""

import re
from pathlib import Path

import pytest

from tests.engines.gpu import Driver
from tests.engines.gpu.driver import UUIDS

IMAGE = "microsoft/mmlspark:plus-gpu-0.9.9"  # gone from Docker Hub: here the machine has one of that name
ATTACH = {
    "seeds 000, 001, 003": "attach remotedocker --name my_dsvm --address {a} --username {u} --password {p}",
    "seeds 002, 004": "attach --name my_dsvm --address {a} --username {u} --password {p} --type remotedocker",
}
SCRIPT = """\
import os, subprocess, sys
print(subprocess.run(["nvidia-smi", "-L"], stdout=subprocess.PIPE).stdout.decode(), end="")
print(sys.version_info[:2], os.getcwd(), os.environ["AZUREML_NATIVE_SHARE_DIRECTORY"], os.getuid())
open("outputs/model.txt", "w").write("trained")
"""


def edit(place: Path, pattern: str, text: str) -> None:
    """As a person does with an editor: the line is there once."""
    edited, count = re.subn(f"(?m)^{pattern}$", text, place.read_text())
    assert count == 1, place.read_text()
    place.write_text(edited)


@pytest.mark.parametrize("spelling", ATTACH)
def test_the_article(make_docker_box, project, cli, spelling):
    box = make_docker_box(gpu=Driver.by_gpus)
    host = box.host
    box.engine.docker("tag", "jig-test/python:1", IMAGE)

    # Create a new compute target
    words = [word.format(a=host.address, u=host.user, p=host.password) for word in ATTACH[spelling].split()]
    said = cli("computetarget", *words, "--fingerprint", host.host_fingerprint())
    assert said.code == 0, said.out + said.err

    # Open my_dsvm.compute. Change `baseDockerImage`, and add a new line `nvidiaDocker: true`.
    compute = project.path / "aml_config/my_dsvm.compute"
    edit(compute, "baseDockerImage: .*", f"baseDockerImage: {IMAGE}")
    compute.write_text(compute.read_text() + "nvidiaDocker: true\n")

    # Now, open my_dsvm.runconfig, change the value of `Framework` from PySpark to Python.
    edit(project.path / "aml_config/my_dsvm.runconfig", "Framework: PySpark", '"Framework": "Python"')

    # Open conda_dependencies.yml, and list the packages.
    project.write("aml_config/conda_dependencies.yml", "name: project_environment\ndependencies:\n  - python=3.11\n")

    # Now you are ready to run.
    project.write("my_script.py", SCRIPT)
    said = cli("experiment", "submit", "-c", "my_dsvm", "my_script.py")
    assert said.code == 0, said.out + said.err
    user_id = host.run("id -u").stdout.strip()
    for index, uuid in enumerate(UUIDS):
        assert f"GPU {index}: Pretended K80 (UUID: {uuid})\n" in said.out
    assert f"(3, 11) /azureml-run /azureml-share/ {user_id}\n" in said.out
    assert cli("history", "info", "-r", said.run_id, "-a", "outputs/model.txt").out == "trained"
    assert box.engine.docker("ps", "--all", "--quiet") == ""
