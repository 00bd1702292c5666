"""What a target is like now: the doctor's findings, from what the command line asks."""

from __future__ import annotations

from jig import machines
from jig.cli import doctor, spark
from jig.doctor import Finding
from jig.project import ComputeTarget, Project, RunConfig
from jig.values import Value


class Seen(Value):
    """A target that answered."""

    findings: tuple[Finding, ...]
    wants_gpu: bool
    verdict: str
    free_disk: str
    can_prepare: bool


def look(project: Project, name: str) -> Seen:
    """Ask the target's machine; any JigError says why that cannot be."""
    target = project.compute_target(name, to_run=True)
    config = _config(project, target)
    preflight = doctor.Preflight(project, config, target)
    machine = machines.for_target(target)
    found = preflight.findings(machine)
    if target.kind == "cluster" and target.address is None:
        found = [spark.finding(target), *found]
    return Seen(
        tuple(found),
        preflight.subject.wants_gpu,
        doctor.verdict(found),
        next((finding.found for finding in found if finding.what == "disk"), ""),
        target.managed and config is not None,
    )


def _config(project: Project, target: ComputeTarget) -> RunConfig | None:
    """The run configuration of the same name, if it is one of this target."""
    if target.name not in project.run_config_names():
        return None
    config = project.run_config(target.name)
    return config if config.target == target.name else None
