"""Settings changed in the text of a file: only the line of their key, or not at all."""

import pytest

from jig.errors import UsageError
from jig.project import compute
from jig.project.compute import ComputeTarget
from jig.project.write import _COMPUTE_REST
from jig.workbench.files import settings

COMPUTE = """\
# Where to run
type: remotedocker   # over SSH
address: "box"
baseDockerImage: 'a/b:1'  # the old one
# true: GPUs
# nvidiaDocker: true

sharedVolumes: true
"""


def test_a_value_is_replaced_and_all_else_stays():
    after = settings.with_value(COMPUTE, "baseDockerImage", "nvidia/cuda:12.6.3-base-ubuntu24.04")
    assert after == COMPUTE.replace("'a/b:1'", "nvidia/cuda:12.6.3-base-ubuntu24.04")
    assert settings.value(after, "baseDockerImage") == "nvidia/cuda:12.6.3-base-ubuntu24.04"


def test_an_example_in_a_comment_becomes_the_setting():
    assert settings.with_value(COMPUTE, "nvidiaDocker", "true") == COMPUTE.replace("# nvidiaDocker", "nvidiaDocker")
    off = settings.with_value(COMPUTE, "nvidiaDocker", "false")
    assert off == COMPUTE.replace("# nvidiaDocker: true\n", "# nvidiaDocker: true\nnvidiaDocker: false\n")


def test_a_new_key_goes_to_the_end_and_a_key_can_go():
    assert settings.with_value("a: 1\n\n", "Gpus", "2") == "a: 1\nGpus: 2\n"
    assert settings.with_value("", "Gpus", "2") == "Gpus: 2\n"
    assert settings.with_value("a: 1\nGpus: 2 # two\nb: 3\n", "Gpus", None) == "a: 1\nb: 3\n"


@pytest.mark.parametrize("new", ["a: b", "x # y", "null", "- a", "[a", '"', "é", "", "a\nb"])
def test_any_text_is_read_back_as_it_is(new):
    assert settings.value(settings.with_value(COMPUTE, "address", new), "address") == new


@pytest.mark.parametrize(
    "text",
    ["{type: remote}", "type: |\n  remote\n", "type:\n  - a\n", "type: [a,\n b]\n", "a: 1\ntype: >-\n  x\n"],
)
def test_where_it_is_not_safe_nothing_is_changed(text):
    with pytest.raises(UsageError):
        settings.with_value(text, "type", "local")


def test_the_file_that_an_attach_writes_can_be_changed(tmp_path):
    text = "type: localdocker\n" + _COMPUTE_REST["localdocker"].format(image="a", gpu_mark="# ", cuda="c")
    text = settings.with_value(settings.with_value(text, "nvidiaDocker", "true"), "baseDockerImage", "b:2")
    (tmp_path / "x").write_text(text)
    found = compute.read(str(tmp_path / "x"), "x", "x", None)
    assert isinstance(found, ComputeTarget) and found.nvidia_docker and found.base_docker_image == "b:2"


CONDA = """\
name: project_environment
dependencies:
  # the interpreter
  - python=3.12
  - numpy  # for all
  - pip:
    # from PyPI
    - torch==2.4  # with CUDA
"""


def test_packages_come_and_go():
    more = settings.with_package(settings.with_package(CONDA, "scipy", False), "jax[cuda12]>=0.4", True)
    assert settings.packages(more) == (["python=3.12", "numpy", "scipy"], ["torch==2.4", "jax[cuda12]>=0.4"])
    back = settings.without_package(settings.without_package(more, "scipy", False), "jax[cuda12]>=0.4", True)
    assert back == CONDA
    assert "pip:" not in settings.without_package(CONDA, "torch==2.4", True)


@pytest.mark.parametrize("text", ["", "name: x\n", "dependencies:\n", "dependencies:\n- a\n", "# only this\n"])
def test_a_package_finds_its_place(text):
    for is_pip in (True, False):
        assert "b" in settings.packages(settings.with_package(text, "b", is_pip))[is_pip]


def test_a_list_that_is_written_otherwise_is_left_alone():
    with pytest.raises(UsageError):
        settings.with_package("dependencies: [a, b]\n", "c", False)
