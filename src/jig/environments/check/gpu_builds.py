"""Builds for CPUs that are aimed at a target with GPUs: they work, slowly, without a word."""

from __future__ import annotations

import re

from jig.environments.check import WARNING, Remark, tensorflow, wheels
from jig.environments.check.versions import exact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jig.environments.check.aim import Aim
    from jig.environments.check.lines import Content, Line

_CONDA = {
    "faiss-cpu": "faiss-gpu",
    "py-xgboost-cpu": "py-xgboost-gpu",
    "pytorch-cpu": "pytorch-gpu",
}
_PIP = {
    "cntk": "cntk-gpu",
    "faiss-cpu": "faiss-gpu-cu12",
    "mxnet": "mxnet-cu112",
    "mxnet-mkl": "mxnet-cu112",
    "onnxruntime": "onnxruntime-gpu",
    "paddlepaddle": "paddlepaddle-gpu",
    "xgboost-cpu": "xgboost",
}
_TENSORFLOW = ("intel-tensorflow", "tensorflow-cpu", "tensorflow-eigen", "tensorflow-mkl")
_CPU_INDEX = re.compile(r"/whl/(nightly/)?cpu(/|$)")
_CPU_PLACE = re.compile(r"/(CPU-Only|whl/(nightly/)?cpu)/", re.IGNORECASE)


def remarks(content: Content, aim: Aim) -> Iterator[Remark]:
    """Every line that gets a build for CPUs."""
    if not aim.has_gpu:
        return
    for line in content.lines:
        fix = _fix(content, aim, line)
        if fix and not line.has_marker:
            what = f"`{line.file}`" if line.url else f"`{line.text}`"
            message = f"{what} computes on CPUs only, and the target `{aim.name}` has GPUs"
            yield Remark(WARNING, line.number, message, fix)
    for option in content.options:
        if _CPU_INDEX.search(option.text):
            message = f"`{option.text}` holds builds for CPUs only, and the target `{aim.name}` has GPUs"
            yield Remark(WARNING, option.number, message, _index_fix(aim))


def _index_fix(aim: Aim) -> str:
    if aim.system == "linux" and aim.machine in ("", "x86_64"):
        return "remove the line: PyPI's own wheels of PyTorch for Linux are for GPUs"
    return "name an index of GPU builds: `https://download.pytorch.org/whl/` and for example `cu126`"


def _fix(content: Content, aim: Aim, line: Line) -> str:
    """What to write instead; empty when the line gets no build for CPUs."""
    if line.name in _TENSORFLOW:
        return tensorflow.instead(content, aim)
    if line.url and _CPU_PLACE.search(line.shown_url):
        if line.name == "cntk":
            return wheels.CNTK
        return f"write `{line.name}`, which PyPI has for GPUs" if line.name else "name the build for GPUs"
    if any(clause.version.endswith("+cpu") for clause in line.clauses or ()):
        version = (line.clauses or ())[0].version.removesuffix("+cpu")
        return f"write `{line.name}=={version}`"
    if not line.is_pip:
        return _conda_fix(line)
    if line.name == "jax":
        has_cuda = any(extra.startswith("cuda") for extra in line.extras) or any(
            other.name.startswith("jax-cuda") for other in content.lines
        )
        return "" if has_cuda or aim.system != "linux" else "write `jax[cuda12]`"
    other = "" if line.url and line.name == "cntk" else _PIP.get(line.name, "")
    return "" if not other or content.named(other) else f"write `{other}`"


def _conda_fix(line: Line) -> str:
    if line.name == "cpuonly":
        return "remove the line"
    if "cpu" in line.build.lower() or (line.name == "tensorflow" and line.build.startswith(("mkl", "eigen"))):
        return f"write `{line.name}={exact(line.clauses) or '*'}=*cuda*`"
    other = _CONDA.get(line.name, "")
    return f"write `{other}`" if other else ""
