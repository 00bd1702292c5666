"""What keeps a run from using a GPU, told before it starts: findings from the facts that a machine gathered.

Pure: `runner/doctor.py` gathers, this package judges. Facts that are not there are not judged.
"""

from __future__ import annotations

from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

OK, WARN, BAD = "ok", "warn", "bad"


class Edit(Value):
    """A fix that is a line of a project file: the key at its top has this value, or is not there."""

    file: str
    key: str
    value: str | None


class Finding(Value):
    """What was looked at, what was found, how bad that is, and what to do."""

    what: str
    found: str
    status: str = OK
    fix: str = ""
    only_gpu: bool = False  # a run that needs no GPU does not mind
    edit: Edit | None = None  # the fix, where it is as simple as that


class Build(Value):
    """A build of a framework: installed, or asked for by a line of the conda file."""

    name: str
    version: str
    cuda: str | None  # "12.6"; empty: it computes on CPUs only; None: not known
    arches: tuple[str, ...] = ()  # sm_90, compute_90, …; none: not known
    where: str = ""


class Subject(Value):
    """The run that is to be: its target, and what its files ask for."""

    target: str = ""
    in_container: bool = False
    container_gpus: str = ""  # what its containers are given; empty: none
    wants_gpu: bool = False  # its files say so
    managed: bool = False  # jig builds the environment
    conda_file: str = ""
    asked: tuple[Build, ...] = ()  # by the conda file


def findings(facts: dict[str, Any], subject: Subject) -> list[Finding]:
    """Everything that can be told of these facts, in the order that a person reads it."""
    from jig.doctor.containers import findings as of_containers
    from jig.doctor.devices import findings as of_devices
    from jig.doctor.frameworks import findings as of_frameworks
    from jig.doctor.machine import about, room
    from jig.doctor.spark import findings as of_spark

    found = [*about(facts, subject), *of_devices(facts, subject), *of_frameworks(facts, subject)]
    found += of_spark(facts, subject.conda_file)
    return [*found, *of_containers(facts, subject), *room(facts, subject)]


def cheap(facts: dict[str, Any], subject: Subject) -> list[Finding]:
    """What is wrong with driver, GPUs and the builds that are asked for, of whatever facts are at hand.

    For a submit, which asks nothing for it: `{"look": …}` alone will do, also one that a machine told before.
    """
    from jig.doctor.devices import findings as of_devices
    from jig.doctor.frameworks import findings as of_frameworks

    return [found for found in (*of_devices(facts, subject), *of_frameworks(facts, subject)) if found.status != OK]


def gpu_run_works(found: Iterable[Finding]) -> bool:
    """Whether a run that uses a GPU would work."""
    return all(finding.status != BAD for finding in found)


def run_starts(found: Iterable[Finding]) -> bool:
    """Whether a run that uses no GPU would start."""
    return all(finding.status != BAD or finding.only_gpu for finding in found)
