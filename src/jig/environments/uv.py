"""An environment that uv builds from `python` and pip packages."""

from __future__ import annotations

import os
import sys

from jig.environments import Environment, conda_packages, fingerprint
from jig.environments.pip_list import read_pip
from jig.environments.requirement import LineRefused
from jig.errors import Fault, ProjectError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jig.project import ComputeTarget, CondaSpec


def decide(target: ComputeTarget, conda: CondaSpec, prepare: bool, root: str = "") -> Environment:
    """What to build for the conda file; raises ProjectError with every line that uv cannot serve."""
    python, faults = _python(conda)
    pip, pip_faults = read_pip(conda, root)
    if faults or pip_faults:
        raise ProjectError(sorted(faults + pip_faults, key=lambda fault: fault.line))
    environment = Environment(
        "uv",
        python=python,
        requirements=pip.requirements,
        options=pip.options,
        prepare=prepare,
        files=tuple(sorted(pip.files.items())),
    )
    return environment._replace(fingerprint=fingerprint(environment))


def serves(conda: CondaSpec) -> bool:
    """Whether uv alone can build it: nothing but `python`, in a version that uv serves, and pip packages."""
    for entry in conda.packages:
        package = conda_packages.parse(entry.text)
        if package is None or package.name not in ("python", "pip") or "::" in entry.text:
            return False
        try:
            if package.name == "python":
                conda_packages.python_request(entry.text, package)
        except LineRefused:
            return False
    return True


def _python(conda: CondaSpec) -> tuple[str, list[Fault]]:
    """The Python to ask uv for, and a fault for every entry that contradicts another."""
    request, asked, faults = "", "", []
    for entry in conda.packages:
        package = conda_packages.parse(entry.text)
        try:
            if package is not None and package.name == "python":
                if asked:
                    raise LineRefused(
                        f"`{entry.text}` asks for Python again, after `{asked}`", "keep one of the two lines"
                    )
                request, asked = conda_packages.python_request(entry.text, package), entry.text
        except LineRefused as refused:
            faults.append(Fault(conda.file, entry.line, "dependencies", refused.message, refused.fix))
    return request, faults


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
