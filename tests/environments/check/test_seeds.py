"""The conda blocks of the five seeds, whose texts differ in language and in one file name."""

import pytest

from jig.environments.check.addresses import Answer
from jig.project import ComputeTarget
from tests.environments.check.conftest import CNTK, DSVM, GONE, NO_GPU, OLD_PYTHON, SEEDS, WHEELS, WITH_35, of_file


@pytest.mark.parametrize("language", ["es", "it", "nl", "pt", "ru"])
def test_the_seeds_tensorflow(language):
    expected = ("error", 5, "conda-forge has no `tensorflow-gpu` for Python 3.5", WITH_35)
    assert of_file(SEEDS / f"{language}-tensorflow.yml") == [OLD_PYTHON, expected]


@pytest.mark.parametrize("language", ["es", "it", "nl", "pt"])
def test_the_seeds_cntk_wheel_that_is_gone(language):
    message = f"{WHEELS}/GPU/cntk-2.1-cp35-cp35m-linux_x86_64.whl does not answer: no machine has that name"
    found = of_file(SEEDS / f"{language}-cntk.yml", answer=GONE)
    assert found == [OLD_PYTHON, ("error", 6, message, CNTK)]


def test_the_seed_with_a_wheel_for_windows():
    wrong = "`cntk-2.1-cp35-cp35m-win_amd64.whl` is a wheel for Windows, and the target `my_dsvm` runs Linux"
    gone = f"{WHEELS}/GPU/cntk-2.1-cp35-cp35m-win_amd64.whl does not answer: no machine has that name"
    found = of_file(SEEDS / "ru-cntk.yml", answer=GONE)
    assert found == [OLD_PYTHON, ("error", 6, wrong, CNTK), ("error", 6, gone, CNTK)]


@pytest.mark.parametrize("language", ["es", "it", "nl", "pt", "ru"])
def test_the_seeds_one_bit_wheel(language):
    name = "cntk-2.1-cp35-cp35m-linux_x86_64.whl"
    gone = f"{WHEELS}/GPU-1bit-SGD/{name} answers 404 Not Found"
    licence = (
        f"`{name}` holds 1-bit SGD, whose licence is stricter than CNTK's own: "
        "https://docs.microsoft.com/cognitive-toolkit/cntk-1bit-sgd-license"
    )
    today = (
        "PyTorch saves the same traffic without it: DistributedDataParallel with a hook of "
        "`torch.distributed.algorithms.ddp_comm_hooks`, such as `powerSGD_hook`"
    )
    found = of_file(SEEDS / f"{language}-one-bit.yml", answer=Answer(404))
    assert found == [OLD_PYTHON, ("error", 6, gone, CNTK), ("warning", 6, licence, today)]


def test_a_seeds_wheel_for_windows_is_right_on_windows():
    here = ComputeTarget("local", "local", user_managed_environment=False)
    facts = {"platform": "win32 AMD64", "gpus": [{"driver_version": "572.16"}]}
    assert of_file(SEEDS / "ru-cntk.yml", here, facts) == [OLD_PYTHON]


def test_the_sample_projects_list_cpu_versions(tmp_path):
    """The conda files of the two samples that the seeds start from."""
    path = tmp_path / "tf.yml"
    path.write_text(
        "name: project_environment\ndependencies:\n  - python=3.5.2\n  - pandas\n  - tensorflow\n  #- tensorflow-gpu\n"
        "  - ipykernel=4.6.1\n  - pip:\n    - azure-ml-api-sdk==0.1.0a11\n    - azureml.datacollector==0.1.0a13\n"
        "    - https://example.org/azureml.assets-1.0.0-py3-none-any.whl?sv=2017&sig=secret\n"
    )
    cpu = ("warning", 5, "`tensorflow` computes on CPUs only, and the target `my_dsvm` has GPUs", WITH_35)
    refused = (
        "error",
        11,
        "https://example.org/azureml.assets-1.0.0-py3-none-any.whl answers 403 Forbidden",
        "get a new URL: what stands after its question mark may have run out",
    )
    found = of_file(path, answer=Answer(403))
    assert found == [OLD_PYTHON, cpu, refused]

    path = tmp_path / "cntk.yml"
    path.write_text(
        "name: project_environment\nchannels: [conda-forge]\n\ndependencies:\n  - python=3.5.2\n  - jasper\n  - pip\n"
        "  - pip:\n    - https://cntk.ai/PythonWheel/CPU-Only/cntk-2.2-cp35-cp35m-linux_x86_64.whl\n"
    )
    name = "cntk-2.2-cp35-cp35m-linux_x86_64.whl"
    cpu = ("warning", 9, f"`{name}` computes on CPUs only, and the target `my_dsvm` has GPUs", CNTK)
    assert of_file(path) == [(OLD_PYTHON[0], 5, *OLD_PYTHON[2:]), cpu]
    assert of_file(path, facts=NO_GPU, target=DSVM._replace(nvidia_docker=False)) == [
        (OLD_PYTHON[0], 5, *OLD_PYTHON[2:])
    ]
