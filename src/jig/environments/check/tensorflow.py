"""TensorFlow, whose packages changed their names and meanings more than once."""

from __future__ import annotations

from jig.environments.check import ERROR, NOTE, WARNING, Remark
from jig.environments.check.python import named, series
from jig.environments.check.versions import exact, fits, numbers, satisfiable
from jig.environments.conda_packages import Clause

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jig.environments.check.aim import Aim
    from jig.environments.check.lines import Content, Line
    from jig.environments.check.python import Series

# What PyPI has of `tensorflow-gpu` for each Python. 2.12.0 is the newest, for every Python, and only raises an error.
_STUB = (2, 12, 0)
_GPU_WHEELS = {
    (2, 7): ("0.12.0", "2.1.0"),
    (3, 5): ("0.12.0", "2.3.1"),
    (3, 6): ("0.12.1", "2.6.2"),
    (3, 7): ("1.13.1", "2.11.0"),
    (3, 8): ("2.2.0", "2.11.0"),
    (3, 9): ("2.5.0", "2.11.0"),
    (3, 10): ("2.8.0", "2.11.0"),
}
_CUDA_LIBRARIES = ("cuda", "cudatoolkit", "cudnn")


def remarks(content: Content, aim: Aim) -> Iterator[Remark]:
    """`tensorflow-gpu` where there is none any more, and `tensorflow` that computes on CPUs unasked."""
    pythons = series(content)
    for line in content.named("tensorflow-gpu"):
        if not line.url and line.clauses is not None and not line.has_marker:
            problem = _no_wheel(line, pythons) if line.is_pip else _no_conda_package(content, pythons)
            if problem:
                yield Remark(ERROR, line.number, problem, instead(content, aim))
    for line in content.named("tensorflow") if aim.has_gpu and not content.named("tensorflow-gpu") else ():
        if line.clauses is None or line.url or line.build or line.has_marker:
            continue
        if _is_for_cpus(line, pythons):
            message = f"`{line.text}` computes on CPUs only, and the target `{aim.name}` has GPUs"
            yield Remark(WARNING, line.number, message, instead(content, aim))
        elif line.is_pip and aim.system == "linux" and not _brings_cuda(content, line):
            # An image for GPUs has the libraries; a bare machine seldom does.
            severity = NOTE if aim.in_container else WARNING
            message = f"`{line.text}` brings no CUDA libraries: where the machine has none, it computes on CPUs"
            yield Remark(severity, line.number, message, _libraries(content, line, pythons, aim))


def instead(content: Content, aim: Aim) -> str:
    """What to write for a TensorFlow that uses GPUs."""
    pythons = series(content)
    if aim.system == "win32":
        return "write `tensorflow-gpu==2.10.1` under `- pip:`, the last for GPUs on Windows, and `python=3.10`"
    if aim.system == "darwin":
        return "write `tensorflow` under `- pip:`"
    if not pythons or pythons[-1] >= (3, 9):
        return "write `tensorflow[and-cuda]` under `- pip:`"
    fix = "write `python=3.11`, and `tensorflow[and-cuda]` under `- pip:`"
    last = _GPU_WHEELS.get(pythons[-1])
    kept = f"; with Python {named(pythons[-1])}, the last is `tensorflow-gpu=={last[1]}` under `- pip:`" if last else ""
    return fix + kept


def _no_wheel(line: Line, pythons: tuple[Series, ...]) -> str:
    """Why pip cannot install this; empty when it can, or when it is not known."""
    if fits(line.clauses or (), _STUB):
        return (
            f"`{line.text}` gets version 2.12.0 from PyPI, which is empty and only raises an error when it is installed"
        )
    wanted = numbers(exact(line.clauses))
    if wanted is None or not pythons:
        return ""
    ranges = [_GPU_WHEELS[one] for one in pythons if one in _GPU_WHEELS]
    if any(fits((Clause(">=", first), Clause("<=", last)), wanted) for first, last in ranges):
        return ""
    python = named(pythons[-1])
    if len(ranges) == 1:
        return f"`{line.text}`: PyPI has versions {ranges[0][0]} to {ranges[0][1]} of it for Python {python}"
    return f"`{line.text}`: PyPI has no wheel of it for Python {python}" if not ranges else ""


def _no_conda_package(content: Content, pythons: tuple[Series, ...]) -> str:
    # conda-forge left Python 3.5 behind in October 2018, and built TensorFlow for GPUs from November 2021 on.
    if pythons and pythons[-1] < (3, 6) and content.is_from_conda_forge:
        return f"conda-forge has no `tensorflow-gpu` for Python {named(pythons[-1])}"
    return ""


def _is_for_cpus(line: Line, pythons: tuple[Series, ...]) -> bool:
    clauses = line.clauses or ()
    if line.is_pip:  # 1.15 and 2.1 were the first to hold both
        return not satisfiable((*clauses, Clause(">=", "2.1"))) and not satisfiable((*clauses, Clause("=", "1.15")))
    # No conda channel has TensorFlow 2 for Python 3.5, and of 1.x the plain name is the CPU build.
    return not satisfiable((*clauses, Clause(">=", "2"))) or bool(pythons and pythons[-1] < (3, 6))


def _brings_cuda(content: Content, line: Line) -> bool:
    names = [other.name for other in content.lines]
    listed = any(name in _CUDA_LIBRARIES or name.startswith(("cuda-", "nvidia-cu")) for name in names)
    return "and-cuda" in line.extras or listed


def _libraries(content: Content, line: Line, pythons: tuple[Series, ...], aim: Aim) -> str:
    if satisfiable((*(line.clauses or ()), Clause(">=", "2.14"))) and (not pythons or pythons[-1] >= (3, 9)):
        return instead(content, aim)
    return "add the conda packages `cudatoolkit` and `cudnn` in the versions that this TensorFlow needs"
