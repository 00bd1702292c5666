"""An environment of conda packages: solved here for the machine, put together there; pip packages go in afterwards."""

from __future__ import annotations

import re

from jig.environments import Environment, conda_packages, fingerprint, without_secrets
from jig.environments.channels import Settings
from jig.environments.pip_list import read_pip
from jig.environments.requirement import LineRefused
from jig.errors import Fault, ProjectError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jig.project import ComputeTarget, CondaSpec

# channel::name, then a version and a build in one of conda's forms, or conditions in brackets.
_SPEC = re.compile(
    r"(?:(?P<channel>\S+)::)?(?P<name>[A-Za-z0-9_][A-Za-z0-9_.-]*)\s*"
    r"(?P<rest>(?:[=<>!~0-9*][^\[\]]*)?)(?P<inside>\[[^\[\]]+\])?"
)
_REST = re.compile(r"[\w.*+!=<>~,|()\s-]*", re.ASCII)


def decide(target: ComputeTarget, conda: CondaSpec, prepare: bool, root: str = "") -> Environment:
    """What to solve and build for the conda file; ProjectError names every line that cannot be read."""
    settings, faults, packages = Settings(), [], set()
    for entry in conda.packages:
        try:
            packages.add(normalize(entry.text, settings))
        except LineRefused as refused:
            faults.append(Fault(conda.file, entry.line, "dependencies", refused.message, refused.fix))
    pip, pip_faults = read_pip(conda, root)
    if faults or pip_faults:
        raise ProjectError(sorted(faults + pip_faults, key=lambda fault: fault.line))
    environment = Environment(
        "conda",
        requirements=pip.requirements,
        options=pip.options,
        prepare=prepare,
        channels=settings.addresses(conda.channels),
        packages=tuple(sorted(packages)),
        files=tuple(sorted(pip.files.items())),
    )
    return environment._replace(fingerprint=fingerprint(environment))


def reason(conda: CondaSpec) -> str:
    """Why uv alone cannot build what the file asks for; empty when it can."""
    for entry in conda.packages:
        package, text = conda_packages.parse(entry.text), without_secrets(entry.text)
        if package is None or package.name not in ("python", "pip"):
            return f"{package.name if package else text} is a conda package"
        if "::" in entry.text:
            return f"{text} names a channel"
        if package.build:
            return f"{text} names a build"
        try:
            if package.name == "python":
                conda_packages.python_request(entry.text, package)
        except LineRefused:
            return f"uv has no {text}"
    return ""


def normalize(text: str, settings: Settings) -> str:
    """The entry in one way of writing, its channel as an address; LineRefused when conda could not read it."""
    found = _SPEC.fullmatch(text.strip())
    if found is None or not _REST.fullmatch(found["rest"]):
        raise LineRefused(f"`{text}` is not a package that can be read", "write a name, and a version after it")
    rest = re.sub(r"\s*([=<>!~,|]+)\s*", r"\1", " ".join(found["rest"].split()))
    if rest and rest[0].isalnum():
        rest = f" {rest}"
    channel = f"{settings.address(found['channel'])}::" if found["channel"] else ""
    return channel + found["name"].lower() + rest + (found["inside"] or "")
