"""Builds for CPUs aimed at GPUs, an empty tensorflow-gpu, CUDA that the driver does not serve."""

import pytest

from jig.project import ComputeTarget
from tests.environments.check.conftest import AND_CUDA, DSVM, NO_GPU, OLD_PYTHON, said

# tensorflow-gpu


@pytest.mark.parametrize("line", ["tensorflow-gpu", "TensorFlow_GPU", "tensorflow-gpu>=2", "tensorflow-gpu==2.12.0"])
def test_tensorflow_gpu_from_pypi_is_an_error_stub(check, line):
    message = f"`{line}` gets version 2.12.0 from PyPI, which is empty and only raises an error when it is installed"
    assert check("python=3.11", pip=[line]) == [("error", 5, message, AND_CUDA)]


@pytest.mark.parametrize(
    ("python", "line", "message"),
    [
        ("3.5", "tensorflow-gpu==1.4.0", ""),
        ("3.8", "tensorflow-gpu==2.2", ""),
        ("3.10", "tensorflow-gpu<2.12", ""),
        ("3.10", "tensorflow-gpu==2.11", ""),
        (
            "3.8",
            "tensorflow-gpu==1.15",
            "`tensorflow-gpu==1.15`: PyPI has versions 2.2.0 to 2.11.0 of it for Python 3.8",
        ),
        ("3.11", "tensorflow-gpu==2.11.0", "`tensorflow-gpu==2.11.0`: PyPI has no wheel of it for Python 3.11"),
    ],
)
def test_tensorflow_gpu_has_wheels_for_some_pythons(check, python, line, message):
    found = [pair for pair in said(check(f"python={python}", pip=[line])) if pair[0] == "error"]
    assert found == ([("error", message)] if message else [])


def test_tensorflow_gpu_of_another_channel_or_python_is_left_to_the_solver(check):
    assert check("python=3.11", "tensorflow-gpu") == []
    assert said(check("python=3.5.4", "tensorflow-gpu", channels=["defaults"])) == [("note", OLD_PYTHON[2])]


def test_what_to_write_depends_on_the_system(check):
    windows = ComputeTarget("here", "local", user_managed_environment=False)
    found = check("python=3.11", pip=["tensorflow-gpu"], target=windows, facts={"platform": "win32 AMD64"})
    assert (
        found[0][3] == "write `tensorflow-gpu==2.10.1` under `- pip:`, the last for GPUs on Windows, and `python=3.10`"
    )
    found = check("python=3.11", pip=["tensorflow-gpu"], target=windows, facts={"platform": "darwin arm64"})
    assert found[0][3] == "write `tensorflow` under `- pip:`"


# Builds for CPUs


@pytest.mark.parametrize(
    ("section", "line", "fix"),
    [
        ("conda", "cpuonly", "remove the line"),
        ("conda", "pytorch-cpu", "write `pytorch-gpu`"),
        ("conda", "pytorch=2.1=py3.11_cpu_0", "write `pytorch=2.1=*cuda*`"),
        ("conda", "pytorch 2.1 *cpu*", "write `pytorch=2.1=*cuda*`"),
        ("conda", "tensorflow=2.4.1=mkl_py39h4683426_0", "write `tensorflow=2.4.1=*cuda*`"),
        ("conda", "tensorflow=1.15", AND_CUDA),
        ("conda", "tensorflow-mkl", AND_CUDA),
        ("conda", "faiss-cpu", "write `faiss-gpu`"),
        ("pip", "tensorflow-cpu==2.15", AND_CUDA),
        ("pip", "tensorflow==1.4.0", AND_CUDA),
        ("pip", "tensorflow<2.1,!=1.15.*", AND_CUDA),
        ("pip", "torch==2.1.0+cpu", "write `torch==2.1.0`"),
        ("pip", "https://download.pytorch.org/whl/cpu/torch-2.1.0%2Bcpu-cp311-cp311-linux_x86_64.whl", "write `torch`, which PyPI has for GPUs"),
        ("pip", "jax", "write `jax[cuda12]`"),
        ("pip", "jax[cpu]", "write `jax[cuda12]`"),
        ("pip", "onnxruntime", "write `onnxruntime-gpu`"),
        ("pip", "faiss_cpu", "write `faiss-gpu-cu12`"),
        ("pip", "cntk==2.7", "write `cntk-gpu`"),
    ],
)  # fmt: skip
def test_a_cpu_build_aimed_at_gpus(check, section, line, fix):
    asked = {"pip": [line]} if section == "pip" else {}
    packages = ["python=3.11", *([line] if section == "conda" else [])]
    what = line.rpartition("/")[2].replace("%2B", "+")
    message = f"`{what}` computes on CPUs only, and the target `box` has GPUs"
    place = 5 if asked else 4
    assert check(*packages, **asked) == [("warning", place, message, fix)]
    assert check(*packages, **asked, facts=NO_GPU) == []


@pytest.mark.parametrize("option", ["--index-url", "--extra-index-url", "-f"])
def test_torch_from_an_index_of_cpu_builds(check, option):
    found = check("python=3.11", pip=[f"{option} https://me:secret@download.pytorch.org/whl/cpu?key=secret", "torch"])
    name = "--find-links" if option == "-f" else option
    message = (
        f"`{name} https://***@download.pytorch.org/whl/cpu` holds builds for CPUs only, and the target `box` has GPUs"
    )
    fix = "remove the line: PyPI's own wheels of PyTorch for Linux are for GPUs"
    assert found == [("warning", 5, message, fix)]


@pytest.mark.parametrize(
    "lines",
    [
        ["torch"],
        ["torch==2.1.0+cu118"],
        ["--extra-index-url https://download.pytorch.org/whl/cu118", "torch"],
        ["jax[cuda12]"],
        ["jax", "jax-cuda12-plugin"],
        ["onnxruntime", "onnxruntime-gpu"],
        ["tensorflow[and-cuda]"],
        ["tensorflow==2.4", "nvidia-cudnn-cu11"],
        ["tensorflow-cpu ; sys_platform == 'darwin'"],
        ["https://example.org/GPU/cntk-2.1-cp311-cp311-linux_x86_64.whl"],
    ],
)
def test_gpu_builds_are_left_alone(check, lines):
    assert check("python=3.11", pip=[f'"{line}"' for line in lines]) == []


def test_tensorflow_without_cuda_libraries(check):
    message = "`tensorflow` brings no CUDA libraries: where the machine has none, it computes on CPUs"
    assert check("python=3.11", pip=["tensorflow"]) == [("warning", 5, message, AND_CUDA)]
    assert check("python=3.11", pip=["tensorflow"], target=DSVM) == [("note", 5, message, AND_CUDA)]
    assert check("python=3.8", "cudatoolkit=11.2", pip=["tensorflow==2.4"]) == []
    conda = "add the conda packages `cudatoolkit` and `cudnn` in the versions that this TensorFlow needs"
    assert check("python=3.8", pip=["tensorflow==2.4"])[0][3] == conda


def test_a_container_without_its_gpus_is_no_gpu_target(check):
    assert check("python=3.11", "cpuonly", target=DSVM._replace(nvidia_docker=False)) == []


# CUDA and the driver


@pytest.mark.parametrize(
    ("packages", "pip", "driver", "text", "cuda", "needed", "served"),
    [
        (["cudatoolkit=12.1"], [], "470.57.02", "cudatoolkit=12.1", "12.1", "525.60.13", "11"),
        (["cudatoolkit=10.2"], [], "418.87", "cudatoolkit=10.2", "10.2", "440.33", "10.1"),
        (["pytorch-cuda=11.8"], [], "440.33.01", "pytorch-cuda=11.8", "11.8", "450.80.02", "10.2"),
        (["cuda-version>=12,<13"], [], "470.57.02", "cuda-version>=12,<13", "12.0", "525.60.13", "11"),
        (["cudnn=8.9=cuda12.1_0"], [], "470.57.02", "cudnn=8.9=cuda12.1_0", "12.1", "525.60.13", "11"),
        (["jaxlib=0.4=cuda120py311h1"], [], "470.57.02", "jaxlib=0.4=cuda120py311h1", "12.0", "525.60.13", "11"),
        ([], ["torch==1.5.0+cu92"], "384.81", "torch==1.5.0+cu92", "9.2", "396.26", "9.0"),
        ([], ["--index-url https://x.org/whl/cu130"], "570.1", "--index-url https://x.org/whl/cu130", "13.0", "580.65.06", "12"),
    ],
)  # fmt: skip
def test_cuda_newer_than_the_driver(check, packages, pip, driver, text, cuda, needed, served):
    facts = {"platform": "linux x86_64", "gpus": [{"driver_version": driver}]}
    message = f"`{text}` brings CUDA {cuda}, which needs driver {needed}; the target `box` has {driver}"
    fix = f"ask for CUDA {served} or older, or update the driver"
    found = check("python=3.11", *packages, pip=pip, facts=facts)
    assert found == [("error", 5 if pip else 4, message, fix)]


@pytest.mark.parametrize(
    "package", ["cudatoolkit", "cudatoolkit=11.8", "cudatoolkit<12", "cudatoolkit=latest", "cuda-nvcc=13"]
)
def test_cuda_that_the_driver_serves_or_that_nobody_can_tell(check, package):
    assert check("python=3.11", package) == []


@pytest.mark.parametrize(("cuda", "driver"), [("10.2", "440.33"), ("12.4", "525.60.13"), ("13.0", "580.65.06")])
def test_the_oldest_driver_that_will_do_does(check, cuda, driver):
    facts = {"platform": "linux x86_64", "gpus": [{"driver_version": driver}]}
    assert check("python=3.11", f"cudatoolkit={cuda}", facts=facts) == []


def test_forward_compatibility_is_believed(check):
    assert check("python=3.11", "cudatoolkit=12.1", "cuda-compat") == []
