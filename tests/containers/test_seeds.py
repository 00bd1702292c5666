"""The article's walk-through, step by step, as each of its five translations has it: Docker on a machine with a GPU, over SSH."""

import re
from pathlib import Path

import pytest

from tests.conda_channel import SUBDIR, index, serve_channel
from tests.conda_package import File, write_package, write_python
from tests.conftest import ProjectFolder
from tests.engines.gpu import Driver
from tests.engines.gpu.driver import UUIDS
from tests.ssh.conftest import _archive, archive_at_hand, client, host_folder, make_host, mirror  # noqa: F401

BLOCKS = Path(__file__).parents[1] / "environments/seeds"
# How the translations attach, which image they name, and which they are.
SPELLINGS = {
    "attach remotedocker --name my_dsvm --address {a} --username {u} --password {p}": ("0.9.9", ("es", "pt", "nl")),
    "attach --name my_dsvm --address {a} --username {u} --password {p} --type remotedocker": ("0.7.91", ("ru", "it")),
}
SCRIPT = """\
import json, os, subprocess, sys, tensorflow
print(json.dumps([sys.prefix.rpartition("/")[0], os.getcwd(), os.environ["AZUREML_NATIVE_SHARE_DIRECTORY"], os.getuid()]))
subprocess.check_call(["nvidia-smi", "-L"])
open("outputs/model.txt", "w").write("trained")
"""


@pytest.fixture
def packages(tmp_path):
    """A channel with what the article lists: Python 3.5.2 (the running one, which says so) and tensorflow-gpu."""
    folder = tmp_path / "chan"
    write_python(folder, SUBDIR, "3.5.2")
    files = {"site-packages/tensorflow/__init__.py": File(b"")}
    write_package(folder, "tensorflow-gpu", "1.4", files, depends=["python 3.5.*"])
    index(folder)
    return folder


def edit(place: Path, pattern: str, text: str) -> None:
    """As a person does with an editor: the line is there once."""
    edited, count = re.subn(f"(?m)^{pattern}$", text, place.read_text())
    assert count == 1, place.read_text()
    place.write_text(edited)


@pytest.mark.usefixtures("archive_at_hand", "no_settings")
@pytest.mark.parametrize("spelling", SPELLINGS, ids=["remotedocker", "--type remotedocker"])
def test_the_article(make_docker_box, packages, tmp_path, cli, jig_home, monkeypatch, spelling):
    tag, languages = SPELLINGS[spelling]
    image = f"microsoft/mmlspark:plus-gpu-{tag}"  # gone from Docker Hub: here the machine has one of that name
    box = make_docker_box(gpu=Driver.by_gpus)
    host = box.host
    box.engine.docker("tag", "jig-test/python:1", image)
    with serve_channel(packages, host.near_address) as channel:
        for language in languages:
            project = ProjectFolder(tmp_path / f"proj-{language}")
            monkeypatch.chdir(project.path)

            # Create a new compute target
            words = [word.format(a=host.address, u=host.user, p=host.password) for word in spelling.split()]
            said = cli("computetarget", *words, "--fingerprint", host.host_fingerprint())
            assert said.code == 0, said.out + said.err

            # Open my_dsvm.compute. Change `baseDockerImage`, and add a new line `nvidiaDocker: true`.
            compute = project.path / "aml_config/my_dsvm.compute"
            edit(compute, "baseDockerImage: .*", f"baseDockerImage: {image}")
            compute.write_text(compute.read_text() + "nvidiaDocker: true\n")

            # Now, open my_dsvm.runconfig and change `Framework` from PySpark to Python.
            edit(project.path / "aml_config/my_dsvm.runconfig", "Framework: PySpark", '"Framework": "Python"')

            # Open conda_dependencies.yml: the block as it is, and the tests' own channel, for conda's is far away.
            block = (BLOCKS / f"{language}-tensorflow.yml").read_text()
            project.write("aml_config/conda_dependencies.yml", f"channels: ['{channel.url}']\n{block}")

            # Now you are ready to run.
            first = language == languages[0]
            said = cli("experiment", "prepare", "-c", "my_dsvm")
            assert said.code == 0, said.out + said.err
            assert ("installing 2 conda packages" in said.err) == first, "one image for all of them"
            project.write("my_script.py", SCRIPT)
            said = cli("experiment", "submit", "-c", "my_dsvm", "my_script.py")
            assert said.code == 0, said.out + said.err
            told = f'["/azureml-envs", "/azureml-run", "/azureml-share/", {host.home.stat().st_uid}]'
            gpus = [f"GPU {number}: Pretended K80 (UUID: {uuid})" for number, uuid in enumerate(UUIDS)]
            assert "\n".join(["", told, *gpus, ""]) in said.out, said.out
            assert (mirror(jig_home, said.run_id) / "work/outputs/model.txt").read_text() == "trained"
    assert box.engine.docker("ps", "--all", "--quiet") == ""
    assert host.run("find /home/ada ! -user ada", user="root").stdout == ""
