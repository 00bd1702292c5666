"""An environment that uv builds from `python` and pip packages."""

from __future__ import annotations

import os
import sys

from jig.environments import Environment, conda_packages
from jig.environments.pip_list import PipList
from jig.environments.requirement import LineRefused
from jig.errors import Fault, ProjectError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jig.project import ComputeTarget, CondaSpec

FORMAT = "jig environment 1"  # a change of what is built for the same lines changes this, and so every fingerprint


def decide(target: ComputeTarget, conda: CondaSpec, prepare: bool) -> Environment:
    """What to build for the conda file; raises ProjectError with every line that uv cannot serve."""
    python, faults = _python(conda)
    pip = PipList()
    for entry in conda.pip:
        try:
            pip.add(entry.text)
        except LineRefused as refused:
            faults.append(Fault(conda.file, entry.line, "pip", refused.message, refused.fix))
    if faults:
        raise ProjectError(sorted(faults, key=lambda fault: fault.line))
    return Environment(
        "uv",
        fingerprint=fingerprint(python, pip.requirements, pip.options),
        python=python,
        requirements=pip.requirements,
        options=pip.options,
        prepare=prepare,
    )


def _python(conda: CondaSpec) -> tuple[str, list[Fault]]:
    """The Python to ask uv for, and a fault for every conda entry that is neither `python` nor `pip`."""
    request, asked, faults = "", "", []
    for entry in conda.packages:
        package = conda_packages.parse(entry.text)
        try:
            if package is None or package.name not in ("python", "pip"):
                raise conda_packages.unbuildable(entry.text, package)
            if package.name == "python":
                if asked:
                    raise LineRefused(
                        f"`{entry.text}` asks for Python again, after `{asked}`", "keep one of the two lines"
                    )
                request, asked = conda_packages.python_request(entry.text, package), entry.text
        except LineRefused as refused:
            faults.append(Fault(conda.file, entry.line, "dependencies", refused.message, refused.fix))
    return request, faults


def fingerprint(python: str, requirements: tuple[str, ...], options: tuple[str, ...]) -> str:
    """The name of an environment: the same for the same Python, requirements and options."""
    from hashlib import sha256

    # No line is empty or holds a line break, so that nothing can move from one part to the next unseen.
    text = "\n".join((FORMAT, "uv", python, *requirements, "", *options))
    return sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:32]


def find_uv() -> str:
    """The uv program on this machine: the one installed with jig, else one in PATH, else an empty string."""
    program = "uv.exe" if sys.platform == "win32" else "uv"
    beside = os.path.join(os.path.dirname(sys.executable), program)
    if os.access(beside, os.X_OK):
        return beside
    try:
        from uv import find_uv_bin  # knows where pip puts programs that are not beside the interpreter

        return str(find_uv_bin())
    except (ImportError, FileNotFoundError):
        from shutil import which

        found = which("uv")
        return os.path.abspath(found) if found else ""
