"""Submitting a run: one function that reads top to bottom, from the project's files to a handle."""

from __future__ import annotations

import os

from jig import machines
from jig.errors import SnapshotError, UsageError, nearest
from jig.machines import Machine, Pipe, Refusal, RunnerMissing
from jig.project import ComputeTarget, CondaSpec, Project, RunConfig, SparkSpec
from jig.runner.folder import Home, default_home
from jig.spec import RunSpec, command_line
from jig.store.reserve import Reserved, reserve
from jig.values import Value

# What is imported inside functions below is imported while the runner, already started, does the same on another core.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from jig import environments, snapshot, targets
    from jig.environments.lock import Lock
    from jig.handover import HeldCtrlC
    from jig.plan import Origin, Plan, Reproduces
    from jig.runner.blobs import BlobStore

DRY_RUN_ID = "(none: dry run)"
KERNEL_ORDER = "JIG_KERNEL"


class Source(Value):
    """Where code came from that is submitted from a frozen copy: the person's folder, and what git said there."""

    root: str
    origin: Origin
    attachments: tuple[tuple[str, str], ...] = ()

    def itself(self) -> Source:
        """What is known need not be asked."""
        return self


class Wanted(Value):
    """The command line of a submit."""

    folder: str
    run_config: str
    script: str | None = None
    arguments: tuple[str, ...] = ()
    target: str | None = None
    conda_file: str | None = None
    spark_file: str | None = None
    large: bool = False
    followed: bool = True
    hold: bool = False  # not a script: a place that is held open for shells
    kernel: str = ""  # not a script: a notebook's kernel, which gets this, and is there while somebody is connected
    params: tuple[tuple[str, str | float | int | bool], ...] = ()
    sweep: str = ""  # the run of the sweep that this one belongs to
    point: int = 0  # which of the sweep's points it is, from 1
    variables: tuple[tuple[str, str], ...] = ()  # beside those of the run configuration
    source: Source | None = None  # None: `folder` is the person's own


class Decided(Value):
    """Everything but the code: what `decide` made of the command line and the project's files."""

    spec: RunSpec
    environment: environments.Environment
    lock: Lock | None
    secrets: dict[str, str]
    code: snapshot.Snapshot | None = None  # None: the project's folder is frozen
    reproduces: Reproduces | None = None


class Handle(Value):
    """Enough for any later process to find the run."""

    run_id: str
    folder: str
    plan: Plan


class Submitted(Value):
    """A run that was taken in, and the machine that has it; `held` is to be released once the person knows its id.

    `pipe` is the conversation with a machine elsewhere when it goes on with the run's files as they grow.
    """

    handle: Handle
    machine: Machine
    held: HeldCtrlC
    pipe: Pipe | None


class Teller(Value):
    """How a submit speaks while it works: warnings, what it is doing, and bytes read of bytes to read."""

    warn: Callable[[str], None] = lambda text: None
    note: Callable[[str], None] = lambda text: None
    progress: Callable[[int, int], None] = lambda done, total: None


def decide(wanted: Wanted) -> Decided:
    """Weigh command line against files; every mistake that can be found without work is found here."""
    project = Project.find(wanted.folder)
    config, target, environment, lock = _environment(project, wanted)
    if wanted.spark_file is not None:
        config = config._replace(spark_file=_in_project(project, wanted.spark_file), spark_file_named=True)
    spark = project.spark(config.spark_file, config.spark_file_named) if config.framework == "PySpark" else None
    script, arguments = "", wanted.arguments
    if wanted.hold:
        config = config._replace(tracked_run=False)
    elif wanted.kernel:
        arguments = ()
    else:
        script, arguments = command_line(config, wanted.script, wanted.arguments)
        script = _find_script(project, script, wanted.folder)
    secrets = {}
    for name in config.client_variables:
        if name not in os.environ:
            raise UsageError(
                f"{config.name}.runconfig takes the variable {name} from this computer, where it is not set",
                f"set it for this command:  {name}=… jig experiment submit -c {config.name} …",
            )
        secrets[name] = os.environ[name]
    if wanted.kernel:
        secrets[KERNEL_ORDER] = wanted.kernel
    secrets.update(hidden_settings(spark))
    config = config._replace(environment_variables=config.environment_variables + wanted.variables)
    spec = RunSpec(
        project.name, project.root, config, target, script, arguments, wanted.params, spark, bool(wanted.kernel)
    )
    return Decided(spec, environment, lock, secrets)


def hidden_settings(spark: SparkSpec | None) -> dict[str, str]:
    """The values of Spark's settings that are secrets, as the run's process gets them; nothing where there are none."""
    if spark is None:
        return {}
    import json

    from jig.runner.spark import HIDDEN
    from jig.targets.spark import hidden_values

    try:
        hidden = hidden_values(spark, dict(os.environ))
    except KeyError as error:
        name = error.args[0]
        raise UsageError(
            f"{spark.file} takes a setting from the variable {name} of this computer, where it is not set",
            f"set it for this command:  {name}=… jig experiment submit …",
        ) from None
    return {HIDDEN: json.dumps(hidden)} if hidden else {}


def _environment(
    project: Project, wanted: Wanted
) -> tuple[RunConfig, ComputeTarget, environments.Environment, Lock | None]:
    """Run configuration, target, environment and its lock: what `submit` and `prepare` decide alike."""
    config = project.run_config(wanted.run_config.removesuffix(".runconfig"))
    if wanted.conda_file is not None:
        config = config._replace(conda_file=_in_project(project, wanted.conda_file), conda_file_named=True)
    from jig import environments

    target = project.compute_target(wanted.target or config.target, to_run=True)
    # Where the person manages the environment the conda file has no say, as in the original.
    managed = target.managed
    conda = project.conda(config.conda_file, config.conda_file_named) if managed else CondaSpec(config.conda_file)
    environment = environments.decide(target, conda, config.prepare_environment, project.root)
    locked = environments.lock_path(os.path.join(project.root, config.conda_file))
    if not managed or not os.path.exists(locked):
        return config, target, environment, None
    from jig.environments.lock import read

    lock = read(locked)
    fits = lock is not None and lock.fits(environment)
    return config, target, lock.applied(environment) if lock is not None and fits else environment, lock


def _in_project(project: Project, path: str) -> str:
    """A dependency file named on the command line, as a path from the project's root."""
    for base in (os.getcwd(), project.root):
        place = os.path.join(base, path)
        if os.path.isfile(place):
            return os.path.relpath(place, project.root)
    raise UsageError(f"there is no file {path}", f"paths are looked up in {os.getcwd()} and in {project.root}")


def _find_script(project: Project, script: str, folder: str) -> str:
    """The script as a path from the project's root: named from where the person stands, or from the root."""
    for base in (folder, project.root):
        place = os.path.normpath(os.path.join(base, script))
        if os.path.isfile(place):
            relative = os.path.relpath(place, project.root)
            if relative.split(os.sep)[0] == os.pardir:
                raise UsageError(
                    f"the script {script} is outside the project {project.root}", "move it into the project"
                )
            return relative
    beside = [name for name in os.listdir(project.root) if name.endswith(".py")]
    guess = nearest(os.path.basename(script), beside)
    raise UsageError(
        f"there is no script {script} in {project.root}",
        f"did you mean {guess}?" if guess else "name a file of the project",
    )


def dry_run(wanted: Wanted, teller: Teller) -> tuple[Plan, list[list[Any]]]:
    """The plan that a submit would make, and its files; nothing is reserved, sent or started."""
    from jig import snapshot, targets

    decided = decide(wanted)
    _tell_of_spark(decided.spec, teller.warn)
    home = Home(default_home())
    frozen, plan_with = freeze(decided, home, snapshot.Hasher(), wanted, teller)
    ticket = targets.Ticket(DRY_RUN_ID, 0, 0.0, user())
    return plan_with(ticket), frozen.entries


def submit(wanted: Wanted, teller: Teller, decided: Decided | None = None) -> Submitted:
    """Freeze the code, hand the plan to a runner on the machine, and return the run's handle.

    Nothing is left when it fails, or when Ctrl-C comes before the whole plan is handed over. What is `decided` already
    need not be in the project's files.
    """
    decided = decided or decide(wanted)
    _tell_of_lock(decided.environment, decided.lock, teller.warn)
    _tell_of_spark(decided.spec, teller.warn)
    home = Home(default_home())
    machine = machines.for_target(decided.spec.target)
    while True:
        reserved = reserve(home, machine.runs_folder(), decided.spec.project)
        try:
            pipe = machine.open("supervise", reserved.run_id)  # it starts up while we read the files
            kept = None
            try:
                plan, held = _hand_over(pipe, decided, machine, wanted, teller, reserved)
                kept = pipe if machine.remote and wanted.followed else None
            finally:
                if kept is None:
                    pipe.close()
        except Refusal as refusal:
            reserved.release()
            if refusal.code == "taken":
                continue  # another computer has a run of this name there
            if refusal.code == "not-prepared":
                given = (("-t", wanted.target), ("-d", wanted.conda_file))
                also = "".join(f" {option} {value}" for option, value in given if value)
                refusal.hint = f"build it once:  jig experiment prepare -c {wanted.run_config}{also}"
            raise
        except RunnerMissing:
            reserved.release()
            if not machine.forget_runner():
                raise
            continue  # somebody removed it there; the next try brings it again
        except BaseException:
            reserved.release()
            raise
        return Submitted(Handle(reserved.run_id, reserved.folder, plan), machine, held, kept)


def prepare(wanted: Wanted, tell: Callable[[str], None]) -> tuple[bool, str]:
    """Build the environment of a run configuration now; returns whether there was one to build, and its interpreter."""
    project = Project.find(wanted.folder)
    config, target, environment, lock = _environment(project, wanted)
    _tell_of_lock(environment, lock, tell)
    answer = build(project.root, config, target, environment, lock, tell)
    return environment.kind != "user", str(answer["python"])


def build(
    root: str,
    config: RunConfig,
    target: ComputeTarget,
    environment: environments.Environment,
    lock: Lock | None,
    tell: Callable[[str], None],
) -> dict[str, Any]:
    """Have the environment on the machine; the answer names its interpreter, and what is in it package by package."""
    from jig import handover
    from jig.runner.blobs import BlobStore, UsingBlobs

    machine = machines.for_target(target)
    store = BlobStore(Home(default_home()).blobs)
    pipe, using = machine.open("prepare"), UsingBlobs(store)
    try:
        request = handover.on_machine(environment, machine, store)
        solve, fetch = _solver(environment, lock, tell), _fetcher(environment, tell)
        sender = handover.Sender(pipe, store, [], root, machine.remote, solve, fetch, tell)
        asked = {"home": machine.home, "environment": request, "log": f"prepare-{config.name}.log"}
        sender.begin({**asked, "container": _container(target, config)})
        while True:
            answer = pipe.answer()
            if "python" in answer:
                return answer
            if "missing" in answer:
                tell(f"sending what {machine.name} needs for that")
            if not sender.asked(answer):
                raise machines.Nonsense
            sender.give(answer)
    finally:
        using.release()
        pipe.close()


def _container(target: ComputeTarget, config: RunConfig) -> dict[str, Any] | None:
    """What a run's container there is made of, as the runner gets it; None where runs are processes."""
    from jig import targets

    module = targets.for_kind(target)
    of = getattr(module, "of", None)
    return of(target, config)._asdict() if of is not None else None


def _tell_of_lock(environment: environments.Environment, lock: Lock | None, warn: Callable[[str], None]) -> None:
    if lock is not None and not environment.locked:
        warn("the lock does not fit the conda file any more and is not used; make it again:  jig environment lock")


def _tell_of_spark(spec: RunSpec, warn: Callable[[str], None]) -> None:
    if spec.spark is None:
        return
    from jig.targets.spark import doubts

    for doubt in doubts(spec.spark, spec.project_root):
        warn(doubt)


def _solver(
    environment: environments.Environment, lock: Lock | None, tell: Callable[[str], None]
) -> Callable[..., list[dict[str, Any]]]:
    """Finds out which conda packages fit together on a machine, when that one asks."""

    def solve(platform: str, virtual: dict[str, str]) -> list[dict[str, Any]]:
        if lock is not None and environment.locked:
            misfit = lock.misfit(platform, virtual)
            if not misfit:
                found: list[dict[str, Any]] = lock.conda[platform]["records"]
                return found
            tell(f"{misfit}: the conda packages are chosen anew")
        from jig.environments import solve

        return solve.solve(environment, platform, virtual, tell)

    return solve


def _fetcher(
    environment: environments.Environment, tell: Callable[[str], None]
) -> Callable[..., list[tuple[str, str]]]:
    """Downloads the files of the packages for a machine that cannot, when that one asks."""

    def fetch(records: list[dict[str, Any]], question: dict[str, Any]) -> list[tuple[str, str]]:
        from jig.environments import fetch

        return fetch.fetch(environment, records, question, tell)

    return fetch


def freeze(
    decided: Decided, home: Home, store: BlobStore, wanted: Wanted, teller: Teller
) -> tuple[snapshot.Snapshot, Callable[[targets.Ticket], Plan]]:
    """Snapshot and git's answer; returns also the function that makes the plan once the run has its ticket."""
    from jig import snapshot, targets
    from jig.plan import SnapshotRef

    spec = decided.spec
    target = targets.for_run(spec.target, spec.run_config)
    find_source = _from_git(spec.project_root, store) if wanted.source is None else wanted.source.itself
    cache = snapshot.cache_path(home.path, spec.project_root)
    frozen = decided.code or snapshot.take(spec.project_root, store, cache, wanted.large, teller.warn, teller.progress)
    if spec.script and all(entry[1] != spec.script for entry in frozen.entries):
        raise SnapshotError(f"the script {spec.script} is left out by the ignore rules", "see .amlignore or .gitignore")
    source = find_source()
    reference = SnapshotRef(frozen.id, frozen.files, frozen.bytes)

    def plan_with(ticket: targets.Ticket) -> Plan:
        given = targets.Given(spec, reference, decided.environment.shown(), ticket, source.origin, source.attachments)
        return target.plan(given)._replace(project_root=source.root)

    return frozen, plan_with


def _from_git(root: str, store: BlobStore) -> Callable[[], Source]:
    """Ask git about the folder; the answer is taken when the files have been read meanwhile."""
    from jig.origin import Asked

    asked = Asked(root)

    def answer() -> Source:
        origin, diff = asked.answer()
        return Source(root, origin, (("uncommitted.diff", store.put(diff)),) if diff else ())

    return answer


def user() -> str:
    """Who submits."""
    return (
        os.environ.get("USER")
        or os.environ.get("LOGNAME")
        or os.environ.get("USERNAME")
        or str(getattr(os, "getuid", lambda: "")())
    )


def _hand_over(
    pipe: Pipe, decided: Decided, machine: Machine, wanted: Wanted, teller: Teller, reserved: Reserved
) -> tuple[Plan, HeldCtrlC]:
    """Freeze, plan, send, and answer the runner's questions until it has taken the run in."""
    from jig import handover, targets
    from jig.runner.blobs import BlobStore, UsingBlobs

    home = Home(default_home())
    store = BlobStore(home.blobs)
    with UsingBlobs(store):
        frozen, plan_with = freeze(decided, home, store, wanted, teller)
        parent = wanted.sweep or os.environ.get("JIG_RUN_ID", "")
        plan = plan_with(
            targets.Ticket(
                reserved.run_id,
                reserved.number,
                reserved.created,
                user(),
                parent,
                wanted.sweep,
                decided.reproduces,
                wanted.point,
            )
        )
        request: dict[str, Any] = {
            "home": machine.home,
            "plan": plan.to_json(),
            "environment": handover.on_machine(decided.environment, machine, store),
            "secrets": decided.secrets,
            "followed": wanted.followed,
            "hold": wanted.hold or bool(wanted.kernel),
        }
        root = decided.spec.project_root
        solve = _solver(decided.environment, decided.lock, teller.note)
        fetch = _fetcher(decided.environment, teller.note)
        sender = handover.Sender(pipe, store, frozen.entries, root, machine.remote, solve, fetch, teller.note)
        if not machine.remote:
            return plan, sender.deliver(request)
        leaving = handover.Leaving(machine, reserved.folder, root, plan)
        try:
            if wanted.followed:
                request["tail"] = leaving.known_here()
            held = sender.deliver(request, leaving.offered(store, frozen.entries))
            leaving.arrived()
        finally:
            leaving.close()
    return plan, held
