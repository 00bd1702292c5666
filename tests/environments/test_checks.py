"""What is found in a conda file before anything is built."""

import http.server
import itertools
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, strategies

from jig.environments import checks
from jig.environments.check.addresses import Answer
from jig.environments.check.versions import fits, satisfiable
from jig.environments.checks import Finding
from jig.environments.conda_packages import Clause
from jig.project import ComputeTarget
from jig.project.dependencies import read_conda

SEEDS = Path(__file__).parent / "seeds"
DSVM = ComputeTarget("my_dsvm", "remotedocker", address="dsvm", username="me", nvidia_docker=True)
BOX = ComputeTarget("box", "remote", address="box", username="me", user_managed_environment=False)
K80 = {"platform": "linux x86_64", "gpus": [{"name": "Tesla K80", "driver_version": "470.57.02"}]}
NO_GPU = {"platform": "linux x86_64", "gpus": []}
FINE = Answer(200)
GONE = Answer(problem="no machine has that name")

OLD_PYTHON = (
    "note",
    3,
    "Python 3.5 ended in September 2020: only old versions of packages fit it",
    "write for example `python=3.11` if the script allows it",
)
CNTK = "write `cntk-gpu==2.7.post2`: PyPI has this last version, for Python 2.7, 3.5 and 3.6"
AND_CUDA = "write `tensorflow[and-cuda]` under `- pip:`"
WITH_35 = (
    "write `python=3.11`, and `tensorflow[and-cuda]` under `- pip:`; "
    "with Python 3.5, the last is `tensorflow-gpu==2.3.1` under `- pip:`"
)
KEEP = "keep one of the two lines"
WHEELS = "https://cntk.ai/PythonWheel"


def short(findings):
    return [(one.severity, one.line, one.message, one.fix) for one in findings]


def of_file(path, target=DSVM, facts=K80, answer=FINE):
    spec = read_conda(str(path), path.name, None)
    found = checks.findings(spec, target, facts, lambda urls: dict.fromkeys(urls, answer))
    assert {one.file for one in found} <= {path.name}
    return short(found)


@pytest.fixture
def check(tmp_path):
    """check("python=3.11", pip=["torch"]) → findings without the one about old Pythons' age or about pip itself."""

    def call(*packages, pip=(), target=BOX, facts=K80, answer=FINE, channels=(), ask=None, root=""):
        text = "".join(f"channels: [{', '.join(channels)}]\n" for _ in channels[:1]) + "dependencies:\n"
        text += "".join(f"  - {package}\n" for package in ("pip", *packages))
        text += "".join(["  - pip:\n", *(f"    - {line}\n" for line in pip)]) if pip else ""
        path = tmp_path / "conda.yml"
        path.write_text(text)
        ask = ask or (lambda urls: dict.fromkeys(urls, answer))
        return short(checks.findings(read_conda(str(path), "conda.yml", None), target, facts, ask, root))

    return call


def said(findings):
    return [(severity, message) for severity, _, message, _ in findings]


# The five seeds, whose texts differ in language and in one file name


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


# Wheels


@pytest.mark.parametrize(
    ("tags", "facts", "problem", "fix"),
    [
        ("cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64", {}, "", ""),
        ("cp38-abi3-linux_x86_64", {}, "", ""),
        ("py3-none-any", {}, "", ""),
        ("py2.py3-none-any", {}, "", ""),
        ("py311-none-any", {}, "", ""),
        ("cp311-abi3-linux_x86_64", {}, "", ""),
        ("pp311-pypy311_pp73-linux_x86_64", {}, "", ""),
        ("cp311-cp311-macosx_11_0_arm64", {}, "is a wheel for macOS, and the target `box` runs Linux", "name the wheel for Linux"),
        ("cp311-cp311-win32", {}, "is a wheel for Windows, and the target `box` runs Linux", "name the wheel for Linux"),
        ("cp311-cp311-linux_aarch64", {}, "is a wheel for aarch64 processors, and the target `box` has x86_64", "name the wheel for x86_64"),
        ("cp311-cp311-macosx_10_9_universal2", {"platform": "darwin arm64"}, "", ""),
        ("cp311-cp311-macosx_10_9_x86_64", {"platform": "darwin arm64"}, "is a wheel for x86_64 processors, and the target `box` has aarch64", "name the wheel for aarch64"),
        ("cp311-cp311-manylinux_2_28_x86_64", {"virtual": {"__glibc": "2.17"}}, "needs glibc 2.28, and the target `box` has glibc 2.17", "name a wheel for glibc 2.17 or older"),
        ("cp311-cp311-manylinux_2_28_x86_64", {"virtual": {"__glibc": "2.31"}}, "", ""),
        ("cp311-cp311-manylinux2014_x86_64.manylinux_2_28_x86_64", {"virtual": {"__glibc": "2.17"}}, "", ""),
        ("cp311-cp311-musllinux_1_2_x86_64", {"virtual": {"__glibc": "2.17"}}, "is a wheel for the C library musl, and the target `box` has glibc 2.17", "name a wheel for glibc 2.17 or older"),
        ("cp311-cp311-musllinux_1_2_x86_64", {}, "", ""),
    ],
)  # fmt: skip
def test_wheels_for_other_systems(check, tags, facts, problem, fix):
    name = f"some_package-1.0-{tags}.whl"
    found = check("python=3.11", pip=[f"https://example.org/{name}#sha256=00"], facts=NO_GPU | facts)
    assert found == ([("error", 5, f"`{name}` {problem}", fix)] if problem else [])


@pytest.mark.parametrize(
    ("python", "tag", "problem"),
    [
        ("python=3.11", "cp35-cp35m", "3.5, and the file asks for Python 3.11"),
        ("python>=3.9,<3.12", "cp38-cp38", "3.8, and the file asks for Python 3.11"),
        ("python>=3.9,<3.12", "cp310-cp310", ""),
        ("python=3.11", "cp38.cp39-none", "3.8 and 3.9, and the file asks for Python 3.11"),
        ("python=3.7", "cp38-abi3", "3.8, and the file asks for Python 3.7"),
        ("python=3.11", "py2-none", "2, and the file asks for Python 3.11"),
        ("numpy", "cp35-cp35m", ""),
    ],
)
def test_wheels_for_other_pythons(check, python, tag, problem):
    found = check(python, pip=[f"some @ https://example.org/some-1.0-1a-{tag}-linux_x86_64.whl"])
    errors = [finding for finding in found if finding[0] == "error"]
    wanted = problem[-4:].strip().replace(".", "")
    fix = f"name the wheel for it, with `cp{wanted}` in its name, or ask for another Python"
    message = f"`some-1.0-1a-{tag}-linux_x86_64.whl` is a wheel for Python {problem}"
    assert errors == ([("error", 5, message, fix)] if problem else [])


def test_a_condition_may_keep_a_wheel_for_its_system(check):
    line = "'some @ https://example.org/some-1.0-cp311-cp311-win_amd64.whl ; sys_platform == \"win32\"'"
    assert check("python=3.11", pip=[line]) == []
    assert [severity for severity, *_ in check("python=3.11", pip=[line], answer=Answer(404))] == ["warning"]


def test_a_name_that_no_wheel_can_have(check):
    message = "`some.whl` does not name its Python and its system, as the name of a wheel must"
    fix = "give the file its whole name, as it was when it was made"
    assert check("python=3.11", pip=["https://example.org/some.whl"]) == [("error", 5, message, fix)]


def test_an_unknown_machine_is_not_judged(check):
    pip = ["https://example.org/some-1.0-cp311-cp311-win_amd64.whl"]
    assert check("python=3.11", pip=pip, facts={}) == []
    expected = "`some-1.0-cp311-cp311-win_amd64.whl` is a wheel for Windows, and the target `my_dsvm` runs Linux"
    assert said(check("python=3.11", pip=pip, facts={}, target=DSVM)) == [("error", expected)]


# Python


@pytest.mark.parametrize(
    ("text", "severity", "message", "fix"),
    [
        ("python=3.5.12", "error", "`python=3.5.12`: there is no such Python; the last 3.5 is 3.5.10", "write `python=3.5`"),
        ("python=3.3", "error", "`python=3.3`: neither conda-forge nor uv has a Python that old", "write for example `python=3.11`"),
        ("python<2.7", "error", "`python<2.7`: neither conda-forge nor uv has a Python that old", "write for example `python=3.11`"),
        ("python=3.111", "warning", "`python=3.111`: the newest Python that this version of jig knows is 3.15", "write for example `python=3.11`"),
        ("python>=3.16", "warning", "`python>=3.16`: the newest Python that this version of jig knows is 3.15", "write for example `python=3.11`"),
        ("python=2.7", "warning", "Python 2 ended in January 2020, and a script's `import jig` and `import azureml` need 3.5 or newer", "write for example `python=3.11`, and bring the script's syntax up to it"),
        ("python=2", "warning", "Python 2 ended in January 2020, and a script's `import jig` and `import azureml` need 3.5 or newer", "write for example `python=3.11`, and bring the script's syntax up to it"),
        ("python=3.6.*", "note", "Python 3.6 ended in December 2021: only old versions of packages fit it", "write for example `python=3.11` if the script allows it"),
        ("python>=3.9,<3.5", "error", "no version can be `python>=3.9,<3.5`", "widen the versions"),
    ],
)  # fmt: skip
def test_pythons_to_know_of(check, text, severity, message, fix):
    assert check(text) == [(severity, 3, message, fix)]


@pytest.mark.parametrize(
    "text", ["python", "python=*", "python=3", "python=3.11", "python>=3.5", "python=3.15.0rc1", "python[build=x]"]
)
def test_pythons_to_be_quiet_about(check, text):
    assert check(text) == []


def test_what_another_channel_has_is_not_known(check):
    assert check("python=3.3", channels=["old-things"]) == []


def test_old_pythons_for_new_macs(check):
    message = "`python=3.7`: there is none for Macs with Apple's processors, where 3.8 is the oldest"
    assert said(check("python=3.7", facts={"platform": "darwin arm64"})) == [("error", message)]


# Repeats and contradictions


@pytest.mark.parametrize(
    ("packages", "pip", "severity", "message"),
    [
        (["numpy=1.26", "numpy=2.0"], [], "error", "`numpy=2.0` contradicts `numpy=1.26` on line 4"),
        (["numpy=1.26", "NumPy"], [], "warning", "`NumPy` stands here again, after `numpy=1.26` on line 4"),
        (["python=3.9"], [], "error", "`python=3.9` contradicts `python=3.11` on line 3"),
        (["numpy>=1.20"], ["numpy==1.26"], "warning", "`numpy==1.26` comes from pip, over what `numpy>=1.20` on line 4 has conda install"),
        (["numpy=1.26"], ["numpy>=2"], "error", "`numpy>=2` contradicts `numpy=1.26` on line 4"),
        (["scikit-learn"], ["Scikit_Learn"], "warning", "`Scikit_Learn` comes from pip, over what `scikit-learn` on line 4 has conda install"),
        (["pytorch=2.1"], ["torch==2.2"], "error", "`torch==2.2` contradicts `pytorch=2.1` on line 4"),
        ([], ["numpy~=1.25", "numpy<1.25"], "error", "`numpy<1.25` contradicts `numpy~=1.25` on line 5"),
        ([], ["scipy==1.0", "scipy==1.0.0"], "warning", "`scipy==1.0.0` stands here again, after `scipy==1.0` on line 5"),
        ([], ["torch==2.1.0+cu118", "torch==2.1.0+cu117"], "error", "`torch==2.1.0+cu117` contradicts `torch==2.1.0+cu118` on line 5"),
        ([], ["https://e.org/a/x-1-py3-none-any.whl?k=s", "https://e.org/b/x-1-py3-none-any.whl"], "error", "`x-1-py3-none-any.whl` contradicts `x-1-py3-none-any.whl` on line 5"),
    ],
)  # fmt: skip
def test_packages_that_stand_there_twice(check, packages, pip, severity, message):
    found = check("python=3.11", *packages, pip=pip, facts=NO_GPU)
    assert [finding for finding in found if finding[0] == severity][0][2:] == (message, KEEP)
    assert len(found) == 1


def test_conditions_tell_two_lines_apart(check):
    pip = ["'numpy==1.0 ; python_version < \"3\"'", "'numpy==2.0 ; python_version >= \"3\"'"]
    assert check("python=3.11", pip=pip) == []


@pytest.mark.parametrize(
    ("line", "possible"),
    [
        ("a>1,<2,!=1.5", True),
        ("a>=2,<2", False),
        ("a>2,<=2", False),
        ("a~=1.4.2,>=1.5", False),
        ("a==1.*,!=1.*", False),
    ],
)
def test_versions_that_no_version_can_be(check, line, possible):
    expected = [] if possible else [("error", 5, f"no version can be `{line}`", "widen the versions")]
    assert check("python=3.11", pip=[line]) == expected


CONDITIONS = strategies.builds(
    Clause,
    strategies.sampled_from(["=", "==", "!=", "~=", ">=", "<=", ">", "<"]),
    strategies.lists(strategies.integers(0, 3), min_size=2, max_size=3).map(lambda parts: ".".join(map(str, parts))),
)
VERSIONS = list(itertools.product(range(5), repeat=3))


@given(strategies.lists(CONDITIONS, max_size=4))
def test_conditions_that_a_version_meets_are_possible(conditions):
    assert satisfiable(conditions) or not any(fits(conditions, version) for version in VERSIONS)


@given(strategies.lists(CONDITIONS, max_size=4))
def test_possible_conditions_are_met_when_each_version_is_tried(conditions):
    between = [*VERSIONS, *((*version, 0, 1) for version in VERSIONS)]
    assert any(fits(conditions, version) for version in between) or not satisfiable(conditions)


@pytest.mark.parametrize("number", ["9" * 5000, "1." * 3000 + "1"])
def test_numbers_without_end(check, number):
    check(
        f"python={number}", f"cudatoolkit={number}", f"a=1=cuda{number}", pip=[f"b=={number}", f"torch==1+cu{number}"]
    )
    check("python=3.11", pip=[f"https://e.org/c-1-cp{number}-cp3-manylinux_{number}_1_x86_64.whl"])


# What cannot be read, and secrets


def test_lines_that_cannot_be_read(check):
    found = check("python=3.11", "==1", pip=["what is this", "--upgrade", "x @ https://me:secret@e.org/x?sig=secret y"])
    assert [(severity, line) for severity, line, _, _ in found] == [
        ("error", 4),
        ("error", 6),
        ("error", 7),
        ("error", 8),
    ]
    assert "secret" not in str(found)


def test_files_of_requirements_are_read_too(check, tmp_path):
    (tmp_path / "more.txt").write_text("numpy==1.0\ntensorflow-gpu\n")
    found = check("python=3.11", "numpy=2", pip=["-r more.txt"], root=str(tmp_path))
    assert said(found) == [
        ("error", "`tensorflow-gpu` gets version 2.12.0 from PyPI, which is empty and only raises an error when it is installed"),
        ("error", "`numpy==1.0` contradicts `numpy=2` on line 4"),
    ]  # fmt: skip


def test_every_url_is_asked_for_once_and_in_one_call(check):
    calls = []

    def ask(urls):
        calls.append(urls)
        return {}

    one, two = "https://e.org/x-1-py3-none-any.whl", "http://e.org/y.tar.gz?k=v"
    pip = [one, f"y @ {two}", "git+https://e.org/z", "https://${TOKEN}@e.org/w.zip", "file:///tmp/v.zip", "numpy"]
    check("python=3.11", pip=pip, ask=ask)
    assert calls == [[one, two]]
    check("python=3.11", pip=["numpy"], ask=ask)
    assert len(calls) == 1


def test_a_finding_reads_as_one_line_and_its_fix():
    finding = Finding("error", "conda.yml", 3, "it is so", "do this")
    assert str(finding) == "conda.yml:3: error: it is so\n    fix: do this"


# Asking


class Server:
    """Answers by the path; remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, str, str]] = []
        self.release = threading.Event()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                headers = self.headers
                outer.asked.append(
                    (self.command, self.path, headers.get("Range", ""), headers.get("Authorization", ""))
                )
                self.close_connection = True
                outer.answer(self)

            do_GET = do_HEAD = answer

            def log_message(self, *_: object) -> None:
                pass

        class Many(http.server.ThreadingHTTPServer):
            request_queue_size = 128
            daemon_threads = True

        self.http = Many(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, args=(0.02,), daemon=True).start()
        self.place = f"127.0.0.1:{self.http.server_port}"
        self.url = f"http://{self.place}"

    def answer(self, request: http.server.BaseHTTPRequestHandler) -> None:
        path = request.path.partition("?")[0]
        if path == "/slow.whl":
            self.release.wait(30)
        if path == "/garbage.whl":
            request.wfile.write(b"\x00\xffnot http at all\r\n\r\n")
            return
        status = {"/gone.whl": 404, "/broken.whl": 503, "/moved.whl": 302, "/round.whl": 302, "/away.whl": 302}.get(
            path, 200
        )
        if path == "/no-head.whl" and request.command == "HEAD":
            status = 405
        if path == "/secret.whl" and not request.path.endswith("?sig=right&x=%2F"):
            status = 403
        request.send_response(status, "\x1b[31mred" if status == 503 else None)
        target = {"/moved.whl": f"{self.url}/fine.whl", "/round.whl": "/round.whl", "/away.whl": "file:///etc/passwd"}
        if path in target:
            request.send_header("Location", target[path])
        if path == "/page.whl":
            request.send_header("Content-Type", "text/html; charset=utf-8")
        request.send_header("Content-Length", "0" if status >= 300 else "1000000000")
        request.end_headers()


@pytest.fixture
def server(monkeypatch) -> Iterator[Server]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    one = Server()
    yield one
    one.release.set()
    one.http.shutdown()
    one.http.server_close()


def test_asking_a_server(server):
    expected = {
        "fine.whl": Answer(200),
        "gone.whl": Answer(404),
        "broken.whl": Answer(503),
        "no-head.whl": Answer(200),
        "page.whl": Answer(200, is_page=True),
        "moved.whl": Answer(200),
        "round.whl": Answer(problem="it leads round in a circle, or away from the web"),
        "away.whl": Answer(problem="it leads round in a circle, or away from the web"),
        "garbage.whl": Answer(problem="it is no address, or what came back was not HTTP"),
        "secret.whl?sig=right&x=%2F": Answer(200),
        "secret.whl?sig=wrong": Answer(403),
        "with space%20and-ü.whl#sha256=00": Answer(200),
    }
    urls = [f"{server.url}/{path}" for path in expected]
    found = checks.ask(urls, deadline_s=20)
    assert found == dict(zip(urls, expected.values(), strict=True))
    assert [asked[:3] for asked in server.asked if asked[1] == "/no-head.whl"] == [
        ("HEAD", "/no-head.whl", ""),
        ("GET", "/no-head.whl", "bytes=0-0"),
    ]
    assert ("HEAD", "/with%20space%20and-%C3%BC.whl", "", "") in server.asked
    assert [asked[0] for asked in server.asked if asked[1] == "/fine.whl"] == ["HEAD", "HEAD"]


def test_a_login_goes_in_a_header_and_to_nobody_else(server):
    checks.ask([f"http://me:pass%20word@{server.place}/moved.whl"], deadline_s=20)
    assert server.asked == [("HEAD", "/moved.whl", "", "Basic bWU6cGFzcyB3b3Jk"), ("HEAD", "/fine.whl", "", "")]


def test_a_slow_server_does_not_keep_us(server):
    urls = [f"{server.url}/slow.whl", f"{server.url}/fine.whl"]
    started = time.monotonic()
    found = checks.ask(urls, deadline_s=0.5)
    assert 0.4 < time.monotonic() - started < 5
    assert found[urls[0]].status == 0 and found[urls[0]].may_pass
    assert found[urls[1]] == Answer(200)


def test_many_urls_are_asked_together(server):
    urls = [f"{server.url}/{number}.whl" for number in range(100)]
    assert checks.ask(urls, deadline_s=20) == dict.fromkeys(urls, Answer(200))
    assert checks.ask([]) == {}


def test_nobody_there_and_no_address(server):
    with socket.socket() as taken:  # bound, but nobody listens
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        urls = [f"http://127.0.0.1:{port}/x.whl", "http://127.0.0.1:port/x.whl", "http://[::bad/x.whl", "http:///x.whl"]
        found = list(checks.ask(urls, deadline_s=20).values())
    assert found[0] == Answer(problem="the connection was refused")
    no_address = Answer(problem="it is no address, or what came back was not HTTP")
    assert found[1:3] == [no_address, no_address]
    assert found[3].status == 0


def test_the_proxy_of_the_environment_is_used(server, monkeypatch):
    monkeypatch.setenv("http_proxy", server.url)
    assert checks.ask(["http://wheels.example/fine.whl"], deadline_s=20) == {
        "http://wheels.example/fine.whl": Answer(200)
    }
    assert [asked[:2] for asked in server.asked] == [("HEAD", "http://wheels.example/fine.whl")]


def test_what_a_server_says_becomes_findings(server, check):
    paths = ["fine-1-py3-none-any.whl", "gone.whl?sig=secret", "broken.whl", "page.whl", "slow.whl"]
    pip = [f"p{number} @ http://me:secret@{server.place}/{path}" for number, path in enumerate(paths)]
    with socket.socket() as taken:  # bound, but nobody listens
        taken.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{taken.getsockname()[1]}/q.tar.gz"
        found = check("python=3.11", pip=[*pip, f"q @ {nobody}"], ask=lambda urls: checks.ask(urls, 2))
    assert "secret" not in str(found)
    asked = [(severity, line, message) for severity, line, message, _ in found if "://" in message]
    place = f"http://***@{server.place}"
    assert asked[:3] == [
        ("error", 6, f"{place}/gone.whl answers 404 Not Found"),
        ("warning", 7, f"{place}/broken.whl answers 503 Service Unavailable"),
        ("error", 8, f"{place}/page.whl answers with a web page instead of a file"),
    ]
    assert asked[3][:2] == ("warning", 9) and asked[3][2].startswith(f"{place}/slow.whl does not answer: nothing came")
    assert asked[4:] == [("error", 10, f"{nobody} does not answer: the connection was refused")]
