"""A conda file in a line, and what is found in it."""

from pathlib import Path

import pytest

from jig.environments import checks
from jig.environments.check.addresses import Answer
from jig.project import ComputeTarget
from jig.project.dependencies import read_conda

SEEDS = Path(__file__).parents[1] / "seeds"
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
