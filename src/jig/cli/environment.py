"""`jig environment`: what a run has installed."""

from __future__ import annotations

import os
import sys

from jig.cli.environment_check import check_environment
from jig.cli.grammar import Command, Group, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from jig.cli.grammar import Args
    from jig.environments import Environment
    from jig.environments.lock import Lock
    from jig.machines import Machine
    from jig.project import ComputeTarget, CondaSpec, Project, RunConfig

COLUMNS = ("id", "kind", "python", "packages", "size", "used", "in_use")
SIZES = {"B": 1, "kB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
TIMES = {"s": 1, "min": 60, "h": 3600, "d": 86400, "w": 7 * 86400}  # no `m`: it may be minutes or months
DEFAULT = "local"


class _Chosen:
    """The environment of a run configuration, and where its files lie."""

    def __init__(self, args: Args) -> None:
        from jig import environments
        from jig.project import Project

        self.project: Project = Project.find(os.getcwd())
        self.name = (args.text("config") or DEFAULT).removesuffix(".runconfig")
        self.config: RunConfig = self.project.run_config(self.name)
        self.target: ComputeTarget = self.project.compute_target(self.config.target)
        self.conda: CondaSpec = self.project.conda(self.config.conda_file, self.config.conda_file_named)
        # What jig would build is worth knowing also where the target uses a Python of its own.
        managed = self.target._replace(user_managed_environment=False)
        self.environment: Environment = environments.decide(managed, self.conda, True, self.project.root)
        self.lock_file = environments.lock_path(os.path.join(self.project.root, self.conda.file))
        self.lock_shown = os.path.relpath(self.lock_file)

    @property
    def note(self) -> str:
        """What to tell when the target does not use the conda file; else empty."""
        return "" if self.target.managed else f"{self.target.name} runs scripts with its own Python, and not with this"

    @property
    def container(self) -> dict[str, Any] | None:
        """The container that it is built for, if any."""
        if not self.target.in_container or not self.target.base_docker_image:
            return None
        from jig.targets.container import of

        return of(self.target, self.config)._asdict()

    def lock(self, warn: Callable[[str], None]) -> Lock | None:
        """The lock, if there is one that can be read."""
        from jig.environments import lock
        from jig.errors import PackagesError

        try:
            return lock.read(self.lock_file)
        except PackagesError as error:
            warn(error.message)
            return None


def show_environment(args: Args) -> int:
    """What the file asks for, which engine builds it, and where it is kept."""
    from jig import machines
    from jig.cli.show import show
    from jig.cli.terminal import human_bytes
    from jig.errors import JigError

    chosen = _Chosen(args)
    asked = chosen.environment.shown()
    found: dict[str, Any] = {"file": chosen.conda.file, "engine": _engine(chosen)}
    if asked.kind == "conda":
        found |= {"channels": list(asked.channels), "packages": list(asked.packages)}
    else:
        found["python"] = asked.python or "any"
    found["pip"] = list(asked.requirements)
    if asked.options:
        found["options"] = list(asked.options)
    environment, found["lock"] = _locked(chosen)
    found |= {"fingerprint": environment.fingerprint, "target": chosen.target.name}
    if chosen.note:
        found["note"] = chosen.note
    try:
        machine = machines.for_target(chosen.target)
        there = machine.ask("environment", environment=environment.to_json(), container=chosen.container)
    except JigError as error:  # the machine is off, not attached, or of a kind that does not run yet
        found |= {"prepared": None, "unknown": error.message}
    else:
        found |= {key: there[key] for key in ("folder", "image", "prepared") if key in there}
        if there["prepared"]:
            found["size"] = human_bytes(there["bytes"]) if _is_table(args) else there["bytes"]
    show(found, output=args.output, query=args.query)
    return 0


def _engine(chosen: _Chosen) -> str:
    """What builds it, and why that."""
    from jig.environments.conda import reason

    why = reason(chosen.conda)
    if not why:
        return "uv alone"
    return f"{'rattler, then uv' if chosen.environment.requirements else 'rattler alone'}: {why}"


def _locked(chosen: _Chosen) -> tuple[Environment, str]:
    """The environment with the lock's exact versions, when there is one that fits; and what to say about the lock."""
    said: list[str] = []
    lock = chosen.lock(said.append)
    if lock is None:
        return chosen.environment, said[0] if said else "none"
    if not lock.fits(chosen.environment):
        return chosen.environment, f"{chosen.lock_shown} does not fit the file any more"
    return lock.applied(chosen.environment), chosen.lock_shown


def _is_table(args: Args) -> bool:
    """Whether people read the result, and not programs."""
    from jig.cli.terminal import is_terminal

    return args.output == "table" or (args.output is None and is_terminal(sys.stdout))


def lock_environment(args: Args) -> int:
    """Write the exact versions and hashes beside the conda file."""
    from jig import machines
    from jig.cli.terminal import StatusLine
    from jig.environments import lock
    from jig.errors import UsageError

    if args.flag("check"):
        if args.flag("upgrade"):
            raise UsageError("--check changes nothing, and --upgrade changes versions", "give one of them")
        return _check_lock(_Chosen(args))
    chosen, line = _Chosen(args), StatusLine(sys.stderr)

    def warn(text: str) -> None:
        line.clear()
        print(f"jig: {text}", file=sys.stderr)

    if chosen.note:
        warn(chosen.note)
    there: dict[str, Any] = {"platform": "", "virtual": {}}
    if chosen.environment.kind == "conda":
        there = machines.for_target(chosen.target).ask("platform")
    before, upgrade = chosen.lock(warn), args.flag("upgrade")
    try:
        made = lock.make(
            chosen.environment, there["platform"], there["virtual"], before, line.show, warn, upgrade=upgrade
        )
    finally:
        line.clear()
    lock.write(chosen.lock_file, made)
    records = made.conda.get(there["platform"], {}).get("records", ())
    parts = [f"{_counted(len(records), 'conda package')} for {there['platform']}"] if records else []
    names = {line.split(" ")[0].partition("==")[0] for line in made.pip}  # a package may have a line for each Python
    parts += [_counted(len(names), "pip package")] if names or not records else []
    print(f"wrote {chosen.lock_shown}: {', '.join(parts)}")
    return 0


def _check_lock(chosen: _Chosen) -> int:
    """Say whether a submit would use the lock: 0 when it would, else 1. No machine is asked."""
    from jig.cli.environment_check import platform_of

    again = f"jig environment lock -c {chosen.name}"
    said: list[str] = []
    lock = chosen.lock(said.append)
    platform = platform_of(chosen.target) if chosen.environment.kind == "conda" else ""
    if lock is None:
        print(f"{said[0] if said else f'there is no {chosen.lock_shown}'}; make it:  {again}")
    elif not lock.fits(chosen.environment):
        print(f"{chosen.lock_shown} does not fit {chosen.conda.file} any more; make it again:  {again}")
    elif platform and platform not in lock.conda:
        print(f"{chosen.lock_shown} holds no conda packages for {platform}; add them:  {again}")
    else:
        print(f"{chosen.lock_shown} fits {chosen.conda.file}")
        return 0
    return 1


def list_environments(args: Args) -> int:
    """The environments that are kept on a machine."""
    import time

    from jig.cli.show import show
    from jig.cli.terminal import human_bytes, human_duration

    answer = _machine(args).ask("environments")
    rows = answer["environments"]
    _tell_of_engine(answer)
    if _is_table(args):
        now = time.time()
        for row in rows:
            row |= {"size": human_bytes(row["bytes"]), "used": f"{human_duration(max(0.0, now - row['used']))} ago"}
    show(rows, output=args.output, query=args.query, columns=COLUMNS)
    return 0


def prune(args: Args) -> int:
    """Remove environments that no run uses."""
    from jig.cli.terminal import human_bytes
    from jig.errors import UsageError

    older, keep = args.text("older_than"), args.text("keep")
    if older is None and keep is None:
        raise UsageError(
            "nothing says which environments may go",
            "those not used for a while:  jig environment prune --older-than 30d\n"
            "the least used, beyond a size:  jig environment prune --keep 20GB  (0GB: every one that no run uses)",
        )
    limits = {
        "older_than_s": None if older is None else _measure("--older-than", older, TIMES, "30d"),
        "keep_bytes": None if keep is None else int(_measure("--keep", keep, SIZES, "20GB")),
    }
    done = _machine(args).ask("prune", **limits)
    shared = f"; {human_bytes(done['shared'])} more are in package caches too, and stay" if done["shared"] else ""
    _tell_of_engine(done)
    print(f"removed {_counted(len(done['removed']), 'environment')}, {human_bytes(done['freed'])}{shared}")
    return 0


def _tell_of_engine(answer: dict[str, Any]) -> None:
    if answer.get("unknown"):
        print(f"jig: images are left out: {answer['unknown']}", file=sys.stderr)


def _counted(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"


def _machine(args: Args) -> Machine:
    from jig import machines
    from jig.machines import local
    from jig.project import Project

    name = args.text("config")
    if name is None:
        return local.machine()
    project = Project.find(os.getcwd())
    config = project.run_config(name.removesuffix(".runconfig"))
    return machines.for_target(project.compute_target(config.target))


def _measure(option: str, text: str, units: Mapping[str, int], example: str) -> float:
    """A number with its unit; UsageError when it is none."""
    import re

    from jig.errors import UsageError

    found = re.fullmatch(r"(\d{1,15}(?:\.\d{1,15})?)\s*([a-z]+)", text.strip(), re.IGNORECASE | re.ASCII)
    scales = {name.lower(): scale for name, scale in units.items()}
    if found is None or found[2].lower() not in scales:
        hint = f"write for example {option} {example}; the units are {', '.join(units)}"
        raise UsageError(f"{option} {text!r} is not a number with a unit", hint)
    return float(found[1]) * scales[found[2].lower()]


def _config(help: str) -> Option:
    names = ("-c", "--run-configuration", "--runconfig")
    return Option(names, "config", help, "NAME", complete="runconfig")


CONFIG = _config("The run configuration; `local` when not given.")
MACHINE = _config("The run configuration whose machine is meant; this computer when not given.")
GROUP = Group(
    "environment",
    "What a run has installed: the conda_dependencies.yml file and what is built from it.",
    (
        Command(
            "show",
            "Show what the file asks for, what builds it, and where it is kept.\n\n"
            "A machine that cannot be reached is said to be so; the rest is shown all the same.",
            show_environment,
            (CONFIG,),
            listing=True,
        ),
        Command(
            "check",
            "Look for what cannot work, without building; exit code 1 when something is wrong.\n\n"
            "No machine is asked: what it has is known from when it was attached. Packages by URL are looked at from "
            "this computer. Without --output each finding is a line: file, line number, how bad it is, what is found.",
            check_environment,
            (CONFIG,),
            listing=True,
        ),
        Command(
            "lock",
            "Write the exact versions and hashes beside the conda file.\n\n"
            "A lock is used for as long as it fits the file: commit it with the project. Versions that are locked "
            "already stay where they can. Conda packages are locked for the platform of the configuration's machine; "
            "lock once for each platform. No password or token of a URL is written into it.",
            lock_environment,
            (
                CONFIG,
                Option(("--upgrade",), "upgrade", "Find the newest versions again."),
                Option(("--check",), "check", "Write nothing; exit code 1 when there is no lock that fits the file."),
            ),
        ),
        Command(
            "list",
            "List the environments that are kept on a machine, in folders and in Docker images.",
            list_environments,
            (MACHINE,),
            listing=True,
        ),
        Command(
            "prune",
            "Remove environments that no run uses.\n\n"
            "One of the two limits must be given; with both, an environment that is beyond either goes. Those that a "
            "script has changed go in any case, and so does what killed builds left behind. Those of runs that are "
            "going stay. What is removed is built again when a run needs it. Docker images go by --older-than, and all "
            "of them with --keep 0GB.",
            prune,
            (
                MACHINE,
                Option(
                    ("--older-than",), "older_than", "Those not used for this long: 30d, 12h (s, min, h, d, w).", "TIME"
                ),
                Option(
                    ("--keep",),
                    "keep",
                    "The least recently used, until no more than this is left: 20GB, 1.5TB (B, kB, MB, GB, TB).",
                    "SIZE",
                ),
            ),
            examples=("jig environment prune --older-than 30d", "jig environment prune -c box --keep 20GB"),
        ),
    ),
)
