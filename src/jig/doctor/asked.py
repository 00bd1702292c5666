"""The builds that a conda file asks for, before anything is installed."""

from __future__ import annotations

import re

from jig.doctor import Build
from jig.doctor.releases import TENSORFLOW, TORCH
from jig.environments.check import cuda
from jig.environments.check.versions import exact, fits, numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from jig.environments.check.lines import Content, Line

_CPU_INDEX = re.compile(r"/whl/(nightly/)?cpu(/|$)")
_TOOLKITS = ("cudatoolkit", "cuda-toolkit", "cuda-version", "pytorch-cuda", "cuda")
_CUPY = re.compile(r"cupy-cuda(\d\d)(\d*)x?$")
_TENSORFLOW = ("tensorflow", "tensorflow-gpu", "tensorflow-cpu", "intel-tensorflow", "tf-nightly")


def builds(content: Content, file: str) -> tuple[Build, ...]:
    """Each framework that is asked for, with the CUDA that it will bring as far as the file tells."""
    lines = [line for line in content.lines if not line.has_marker]
    return tuple(build for line in lines for build in _builds(content, line, f"{file}:{line.number}"))


def _builds(content: Content, line: Line, where: str) -> Iterator[Build]:
    version = exact(line.clauses)
    if line.name == "torch" and line.is_pip:
        yield _torch(content, line, where)
    elif line.name in ("pytorch", "pytorch-gpu", "pytorch-cpu"):
        conda = "" if line.name == "pytorch-cpu" or content.named("cpuonly") or "cpu" in line.build else _shown(line)
        yield Build("torch", version, conda, where=where)
    elif line.name in _TENSORFLOW:
        yield Build("tensorflow", version, _tensorflow(line), where=where)
    elif line.name == "jax":
        yield Build("jax", version, _jax(content, line), where=where)
    elif line.name in _TOOLKITS and not line.is_pip:
        yield Build(line.name, version, _shown(line), where=where)
    elif line.name == "cuda-compat":
        yield Build(line.name, version, None, where=where)
    elif _CUPY.match(line.name):
        found = _CUPY.match(line.name)
        yield Build("cupy", version, f"{found[1]}.{found[2] or 0}" if found else None, where=where)


def _shown(line: Line) -> str | None:
    """The CUDA that the line itself names."""
    found = cuda.asked(line)
    return f"{found[0]}.{found[1]}" if found else None


def _torch(content: Content, line: Line, where: str) -> Build:
    """By its local version, by the index, or else what PyPI has of that version."""
    version = exact(line.clauses)
    named = _shown(line)
    indexes = [found for found in map(cuda.of_index, content.options) if found]
    if named is None and version.endswith("+cpu"):
        named = ""
    elif named is None and indexes:
        named = f"{indexes[0][0]}.{indexes[0][1]}"
    elif named is None and any(_CPU_INDEX.search(option.text) for option in content.options):
        named = ""
    known = [release for release in TORCH if fits(line.clauses or (), _within(line, release.version))]
    if named is None and known and not line.url:
        named = f"{known[0].cuda[0]}.{known[0].cuda[1]}"
    newest = f"{known[0].version[0]}.{known[0].version[1]}" if known else ""
    return Build("torch", version or newest, named, where=where)


def _within(line: Line, release: tuple[int, int]) -> tuple[int, ...]:
    """A version of that release: the one that the line names, when it is of it."""
    wanted = numbers(exact(line.clauses)) or ()
    return wanted if wanted[:2] == release else release


def _tensorflow(line: Line) -> str | None:
    if line.name in ("tensorflow-cpu", "intel-tensorflow"):
        return ""
    version = numbers(exact(line.clauses))
    if version is None or not line.is_pip:
        return _shown(line) if not line.is_pip else None
    if line.name == "tensorflow" and version[:2] < (2, 1) and version[:2] != (1, 15):  # the first to hold both
        return ""
    return next((cuda for first, cuda in reversed(TENSORFLOW) if first <= version[:2]), None)


def _jax(content: Content, line: Line) -> str | None:
    if not line.is_pip:
        return None
    for extra in line.extras:
        if extra.startswith("cuda") and extra[4:6].isdigit():
            return f"{extra[4:6]}.0"
    plugins = [other.name for other in content.lines if other.name.startswith("jax-cuda")]
    return f"{plugins[0][8:10]}.0" if plugins else ""
