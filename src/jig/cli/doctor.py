"""`jig doctor`: whether a run that uses a GPU would work on a target, and what to do where not."""

from __future__ import annotations

import os
import sys
import time

from jig.cli.grammar import Command, Option
from jig.cli.options import CONFIG, FOR_PROGRAMS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from jig.cli.grammar import Args
    from jig.doctor import Finding, Subject
    from jig.errors import ProjectError
    from jig.machines import Machine
    from jig.project import ComputeTarget, Project, RunConfig

DEFAULT = "local"
WORKS, WORKS_NOT = "a GPU run would work here", "a GPU run would not work here"


def doctor(args: Args) -> int:
    """Every check of a target, with what to do; exit code 1 when a run that uses a GPU would not work."""
    from jig import machines
    from jig.cli.show import show
    from jig.doctor import gpu_run_works
    from jig.errors import JigError

    project, config, target, faults = _chosen(args.text("config"))
    preflight = Preflight(project, config, target)
    if sys.platform == "win32" and target.address is None:
        raise JigError(
            "this version of jig does not run scripts on Windows itself", "name a machine:  jig doctor -c NAME"
        )
    found = faults + preflight.findings(machines.for_target(target))
    works = gpu_run_works(found)
    output, query = args.text("output"), args.text("query")
    if output is not None or query is not None:
        told = [{key: value for key, value in finding._asdict().items() if key != "edit"} for finding in found]
        show(told, output=output, query=query)
    else:
        report(found, wants_gpu=True)
        print(verdict(found))
    return 0 if works else 1


def _chosen(name: str | None) -> tuple[Project | None, RunConfig | None, ComputeTarget, list[Finding]]:
    """The run configuration that is meant: the one that was named, else `local`; this computer where there is none.

    One with faults cannot say where it runs: the target of the same name is taken, else this computer.
    """
    from jig.errors import ProjectError, UsageError
    from jig.project import ComputeTarget, Project

    try:
        project = Project.find(os.getcwd())
    except UsageError:
        if name is not None:
            raise
        return None, None, ComputeTarget(DEFAULT, DEFAULT), []
    name = (name or DEFAULT).removesuffix(".runconfig")
    if name == DEFAULT and name not in project.run_config_names():
        return project, None, ComputeTarget(DEFAULT, DEFAULT), []
    try:
        config = project.run_config(name)
    except ProjectError as error:
        known = name in project.target_names()
        target = project.compute_target(name, to_run=True) if known else ComputeTarget(DEFAULT, DEFAULT)
        return project, None, target, list(_of_faults(error))
    return project, config, project.compute_target(config.target, to_run=True), []


def configuration(project: Project, name: str) -> tuple[RunConfig | None, list[Finding]]:
    """The run configuration of this name, if there is one; its faults are findings like others."""
    from jig.errors import ProjectError

    if name not in project.run_config_names():
        return None, []
    try:
        return project.run_config(name), []
    except ProjectError as error:
        return None, list(_of_faults(error))


def _of_faults(error: ProjectError) -> Iterator[Finding]:
    """Faults in the project's files, as findings like others."""
    from jig.doctor import BAD, Finding

    for fault in error.faults:
        place = f"{fault.file}:{fault.line}" if fault.line else fault.file
        yield Finding(place, fault.message, BAD, fault.fix)


class Preflight:
    """What a run of a configuration would need, asked of its machine in one question."""

    def __init__(self, project: Project | None, config: RunConfig | None, target: ComputeTarget) -> None:
        from jig.cli.container import question

        self.target = target
        self.container = question(target, config)
        self.faults: list[Finding] = list(_hidden(config))
        self.environment: dict[str, Any] | None = None
        self.spark: dict[str, Any] | None = None
        self.subject = self._subject(config)
        self._read(project, config)

    def findings(self, machine: Machine) -> list[Finding]:
        """Ask the machine, and judge what it says."""
        from jig.doctor import findings

        before = time.time()
        asked = {"container": self.container, "environment": self.environment, "spark": self.spark}
        facts = machine.ask("doctor", **asked)["doctor"]
        if machine.remote:
            from jig.machines.ssh import SshMachine

            facts["skew_s"] = _outside(facts["time"], before, time.time())
            if isinstance(machine, SshMachine):
                machine.remember(facts)
        return self.faults + findings(facts, self.subject)

    def _subject(self, config: RunConfig | None) -> Subject:
        from jig.doctor import Subject

        target = self.target
        given = (self.container or {}).get("gpus", "")
        asks = config is not None and (bool(config.gpus) or config.require_gpu)
        return Subject(
            target=target.name,
            in_container=target.in_container,
            container_gpus=given,
            wants_gpu=bool(given) or asks,
            managed=target.managed,
        )

    def _read(self, project: Project | None, config: RunConfig | None) -> None:
        """The environment that the files ask for; faults in them are findings like others."""
        from jig import machines
        from jig.doctor import BAD, Finding
        from jig.errors import PackagesError, ProjectError

        if self.target.kind not in machines.KINDS:
            return
        try:
            if project is not None and config is not None:
                self._decide(project, config)
            elif not self.target.managed:
                self.environment = {"kind": "user", "python": self.target.python_location}
        except ProjectError as error:
            self.faults += _of_faults(error)
        except PackagesError as error:
            self.faults.append(Finding("environment", error.message, BAD, error.hint))

    def _decide(self, project: Project, config: RunConfig) -> None:
        from jig import environments
        from jig.doctor import asked
        from jig.environments import lock
        from jig.environments.check.lines import read
        from jig.project import CondaSpec

        managed = self.target.managed
        conda = project.conda(config.conda_file, config.conda_file_named) if managed else CondaSpec(config.conda_file)
        environment = environments.decide(self.target, conda, True, project.root)
        if managed:
            builds = asked.builds(read(conda, project.root), conda.file)
            self.subject = self.subject._replace(conda_file=conda.file, asked=builds)
            found = lock.read(environments.lock_path(os.path.join(project.root, conda.file)))
            environment = found.applied(environment) if found and found.fits(environment) else environment
        self.environment = environment.to_json()
        if config.framework == "PySpark" and not self.target.in_container:
            from jig.targets.spark import question

            settings = project.spark(config.spark_file, config.spark_file_named)
            lines = [*conda.packages, *conda.pip] if managed else []
            brought = any(line.text.lower().startswith("pyspark") for line in lines)
            self.spark = question(self.target, config, settings, brought)


def _hidden(config: RunConfig | None) -> Iterator[Finding]:
    """What in a run configuration keeps every GPU from its script."""
    from jig.doctor import BAD, Edit, Finding
    from jig.runner.gpu import VISIBLE
    from jig.runner.gpu.cause import hidden

    if config is None:
        return
    place = f"aml_config/{config.name}.runconfig"
    if config.gpus == 0:
        fix = "remove the line (the run then sees every GPU), or write the number that it wants"
        edit = Edit(place, "Gpus", None)
        yield Finding("Gpus", f"{place} says `Gpus: 0`, which hides every GPU", BAD, fix, only_gpu=True, edit=edit)
    variables = dict(config.environment_variables)
    if hidden(variables):
        found = f"{place} sets it to {variables[VISIBLE]!r}, which hides every GPU"
        fix = "remove it from `EnvironmentVariables` there"
        yield Finding(VISIBLE, found, BAD, fix, only_gpu=True)


def _outside(there: float, before: float, after: float) -> float:
    """How far a clock there is off, when it was read between two looks at the clock here."""
    return there - after if there > after else min(0.0, there - before)


def report(found: Sequence[Finding], wants_gpu: bool) -> None:
    """Print the findings; what only a GPU run minds is a note where no GPU is asked for."""
    from jig.cli.terminal import coloured, printable
    from jig.doctor import BAD, OK, WARN

    colours = {OK: "green", WARN: "yellow", BAD: "red", "note": "dim"}
    for finding in found:
        mark = "note" if finding.status == BAD and finding.only_gpu and not wants_gpu else finding.status
        shown = coloured(mark, colours[mark], sys.stdout) + " " * (5 - len(mark))
        print(f"{shown}{printable(finding.what)}: {printable(finding.found)}")
        first, *rest = finding.fix.splitlines() or [""]
        if first:
            print(f"     fix: {printable(first)}")
        for line in rest:
            print(f"       {printable(line)}")


def verdict(found: Sequence[Finding]) -> str:
    """Whether a GPU run would work, in a sentence."""
    from jig.cli.terminal import printable
    from jig.doctor import BAD

    against = dict.fromkeys(finding.what for finding in found if finding.status == BAD)
    return f"{WORKS_NOT}: {printable(', '.join(against))}" if against else WORKS


COMMAND = Command(
    "doctor",
    "Tell whether a run that uses a GPU would work, and what to do where not.\n\n"
    "Looks at the driver and the GPUs, at the frameworks that are installed or that the conda file names, at "
    "containers, disk, shared memory and clock of a configuration's target: what was found, and its fix. Exit code 1 "
    "when a GPU run would not work. Nothing is installed or changed.",
    doctor,
    (
        Option(
            CONFIG.names,
            "config",
            "The run configuration to look at; `local`, this computer, when not given.",
            "NAME",
            complete="runconfig",
        ),
        *FOR_PROGRAMS,
    ),
    (),
    ("jig doctor", "jig doctor -c my_dsvm", "jig doctor -c my_dsvm -o json"),
)
