"""`jig environment check`: what is wrong with a conda file, as far as it can be told without building."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    from jig.cli.grammar import Args
    from jig.environments.checks import Finding
    from jig.project import ComputeTarget, CondaSpec, RunConfig

    Read = TypeVar("Read")

# conda's names, by what a machine says of itself.
_PLATFORMS = {
    "darwin arm64": "osx-arm64",
    "darwin x86_64": "osx-64",
    "linux aarch64": "linux-aarch64",
    "linux x86_64": "linux-64",
}


def check_environment(args: Args) -> int:
    """What cannot work, without building anything; exit code 1 when something is wrong."""
    from jig.cli.show import show

    report = _Report((args.text("config") or "local").removesuffix(".runconfig"))
    report.fill()
    found = report.found
    if args.output is not None or args.query is not None:
        show([finding._asdict() for finding in found], output=args.output, query=args.query)
    else:
        from jig.cli.terminal import printable

        for finding in found:
            print(printable(str(finding), "\n"))
        print(f"{report.subject}: {_counted(found)}")
    return 1 if any(finding.severity == "error" for finding in found) else 0


def _counted(found: list[Finding]) -> str:
    counts = {word: sum(finding.severity == word for finding in found) for word in ("error", "warning")}
    parts = [f"{count} {word}{'' if count == 1 else 's'}" for word, count in counts.items() if count]
    return ", ".join(parts) or "nothing wrong was found"


class _Report:
    """The findings for one run configuration; a file that cannot be read is a finding, and the others are read."""

    def __init__(self, name: str) -> None:
        from jig.project import Project

        self.found: list[Finding] = []
        self.subject = f"aml_config/{name}.runconfig"
        self._project = Project.find(os.getcwd())
        self._name = name

    def fill(self) -> None:
        """Read the files one after the other, and look them over."""
        from jig.project import ComputeTarget

        config = self._read(lambda: self._project.run_config(self._name))
        if config is None:
            return
        self.subject = config.conda_file
        target = self._read(lambda: self._project.compute_target(config.target)) or ComputeTarget(config.target, "")
        facts, unknown = facts_of(target)
        place = f"aml_config/{target.name}.compute"
        if not target.managed:
            text = f"`{target.name}` runs scripts with its own Python: {config.conda_file} is not used there"
            self._add("note", place, text)
        if unknown:
            self._add("note", place, unknown)
        conda = self._read(lambda: self._project.conda(config.conda_file, config.conda_file_named))
        if conda is not None:
            self._look(config, target, conda, facts)

    def _look(self, config: RunConfig, target: ComputeTarget, conda: CondaSpec, facts: dict[str, Any]) -> None:
        from jig import environments
        from jig.environments import checks

        root = self._project.root
        if not os.path.lexists(os.path.join(root, config.conda_file)):
            self._add("note", config.conda_file, "there is no such file: any Python will do, and no package is needed")
        found = checks.findings(conda, target, facts, checks.ask, root)
        before = len(self.found)
        managed = target._replace(user_managed_environment=False)
        environment = self._read(lambda: environments.decide(managed, conda, True, root))
        faults = self.found[before:]
        # What a submit refuses is said in its words, and not once more.
        told = {(fault.line, fault.fix) for fault in faults}
        found = [finding for finding in found if (finding.line, finding.fix) not in told]
        self.found[before:] = sorted(faults + found, key=lambda finding: finding.line)
        if environment is not None:
            self._look_at_lock(environment, config.conda_file)

    def _look_at_lock(self, environment: Any, conda_file: str) -> None:
        from jig import environments
        from jig.environments import lock
        from jig.errors import PackagesError

        shown = environments.lock_path(conda_file)
        try:
            found = lock.read(os.path.join(self._project.root, shown))
        except PackagesError as error:
            self._add("error", shown, error.message, error.hint)
            return
        if found is not None and not found.fits(environment):
            self._add("warning", shown, f"this lock does not fit {conda_file} any more and is not used", lock.AGAIN)

    def _read(self, read: Callable[[], Read]) -> Read | None:
        """What was read, or None and its faults as findings."""
        from jig.environments import without_secrets
        from jig.errors import ProjectError

        try:
            return read()
        except ProjectError as error:
            for fault in error.faults:
                message, fix = without_secrets(fault.message), without_secrets(fault.fix)
                self._add("error", fault.file, message, fix, fault.line)
            return None

    def _add(self, severity: str, file: str, message: str, fix: str = "", line: int = 0) -> None:
        from jig.environments.checks import Finding

        self.found.append(Finding(severity, file, line, message, fix))


def facts_of(target: ComputeTarget) -> tuple[dict[str, Any], str]:
    """What is known of the target's machine without asking it; and what to say when that is nothing."""
    from jig.errors import UsageError

    if target.address is None:
        return (_facts_here() if target.kind else {}), ""
    from jig.machines import ssh

    try:
        facts = ssh.machine(target).facts()
    except UsageError as error:
        return {}, error.message
    return facts, "" if facts else f"`{target.name}` is not attached on this computer, and what it has is not known"


def platform_of(target: ComputeTarget) -> str:
    """conda's name for the target's platform, as far as it is known without asking; else empty."""
    return _PLATFORMS.get(str(facts_of(target)[0].get("platform")), "")


def _facts_here() -> dict[str, Any]:
    """What the checks need to know of this computer; a whole probe would take seconds."""
    import platform

    facts: dict[str, Any] = {"platform": f"{sys.platform} {platform.machine()}"}
    if sys.platform != "win32":
        from jig.runner.probe import gpus
        from jig.runner.virtual_packages import machine_platform

        facts |= {"gpus": gpus(), "virtual": machine_platform()["virtual"]}
    return facts
