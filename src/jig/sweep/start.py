"""Starting a sweep, and going on with one: a run on this computer whose program is jig's own."""

from __future__ import annotations

import os
import sys

from jig import handover
from jig.environments import Environment
from jig.errors import ProjectError, SnapshotError, StoreError, UsageError
from jig.machines import local
from jig.plan import PYTHON, Plan
from jig.project import Project
from jig.runner import manifest
from jig.runner.blobs import BlobStore, UsingBlobs
from jig.runner.folder import Home, RunFolder, default_home
from jig.snapshot import Hasher
from jig.store.reserve import reserve
from jig.store.runs import read_plan
from jig.submit import DRY_RUN_ID, Decided, Handle, Submitted, Teller, Wanted, decide, freeze, user
from jig.sweep import children, journal, reading
from jig.sweep.children import DEFINITION
from jig.sweep.options import Options
from jig.targets import Ticket
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from jig.sweep.definition import Sweep

    # From the blobs: the plan for a ticket, and the files.
    Planned = tuple[Callable[[Ticket], Plan], list[list[Any]]]

GRACE_S = 120.0  # to end its runs in order, when the sweep is canceled
PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "__main__.py")


class Asked(Value):
    """The command line of a sweep."""

    folder: str
    file: str
    options: Options
    large: bool = False


class Read(Value):
    """A sweep whose file was read, with the first of its runs decided: what is wrong with one is wrong with all."""

    sweep: Sweep
    text: bytes
    shown: str
    wanted: Wanted
    decided: Decided


def read(asked: Asked) -> Read:
    """The sweep as its file and the project's describe it; every mistake that can be found without work is found."""
    project = Project.find(asked.folder)
    place = reading.find(asked.folder, project.root, asked.file)
    inside = os.path.relpath(place, project.root)
    shown = os.path.basename(place) if inside.split(os.sep)[0] == os.pardir else inside
    with open(place, "rb") as file:
        text = file.read()
    try:
        sweep = reading.read(text.decode("utf-8-sig"), shown)
    except UnicodeDecodeError:
        raise UsageError(f"{place} is not UTF-8 text", "save it as UTF-8") from None
    first = sweep.points(DRY_RUN_ID)[0]
    options = asked.options
    wanted = Wanted(
        folder=os.path.join(project.root, os.path.dirname(shown)),
        run_config=options.config,
        script=sweep.script,
        arguments=sweep.words(first),
        target=options.target or None,
        conda_file=options.conda or None,
        large=asked.large,
        variables=sweep.variables(first),
    )
    decided = decide(wanted)
    if not decided.spec.run_config.tracked_run:
        raise UsageError(
            f"aml_config/{options.config}.runconfig has `TrackedRun: false`: its runs leave no record to compare",
            "remove that line, or use another run configuration",
        )
    return Read(sweep, text, shown, wanted, decided)


def start(asked: Asked, teller: Teller) -> Submitted:
    """Freeze the project and hand the sweep to a runner on this computer."""
    found = read(asked)
    home = Home(default_home())
    config = found.decided.spec.run_config
    options = asked.options
    if options.conda:
        options = options._replace(conda=config.conda_file)
    taken = _taken(found.decided)

    def planned(store: BlobStore) -> Planned:
        frozen, plan_with = freeze(found.decided, home, store, found.wanted, teller)
        _check_settings(found.decided, frozen.entries)
        blob = store.put(found.text)
        return lambda ticket: _own(plan_with(ticket), found.shown, options, blob, tuple(taken)), frozen.entries

    return _begin(found.decided.spec.project, found.decided.spec.project_root, planned, taken)


def dry_run(asked: Asked, teller: Teller) -> tuple[Read, Plan, list[list[Any]]]:
    """The sweep, and plan and files of its first run; nothing is reserved or started."""
    found = read(asked)
    frozen, plan_with = freeze(found.decided, Home(default_home()), Hasher(), found.wanted, teller)
    _check_settings(found.decided, frozen.entries)
    first = found.sweep.points(DRY_RUN_ID)[0]
    params = tuple((setting.name, setting.value) for setting in first)
    plan = plan_with(Ticket(DRY_RUN_ID, 0, 0.0, user(), point=1))._replace(params=params)
    return found, plan, frozen.entries


def _taken(decided: Decided) -> dict[str, str]:
    """The variables of this computer that a submit of one of its runs needs, with their values."""
    spec = decided.spec
    settings = spec.spark.client_settings if spec.spark is not None else ()
    names = (*spec.run_config.client_variables, *(variable for _, variable in settings))
    return {name: os.environ[name] for name in names}


def _check_settings(decided: Decided, entries: list[list[Any]]) -> None:
    """The runs are submitted from the frozen copy: it must have the files that say how."""
    config, target = decided.spec.run_config, decided.spec.target
    needed = [f"aml_config/{config.name}.runconfig", f"aml_config/{target.name}.compute"]
    if config.conda_file_named and target.managed:
        needed.append(config.conda_file)
    if decided.spec.spark is not None and os.path.exists(os.path.join(decided.spec.project_root, config.spark_file)):
        needed.append(config.spark_file)
    there = {entry[1] for entry in entries}
    absent = [name for name in needed if name not in there]
    if absent:
        raise SnapshotError(
            f"{' and '.join(absent)} {'is' if len(absent) == 1 else 'are'} left out by the ignore rules, "
            "and a sweep submits its runs from the frozen copy of the project",
            f"write `!{absent[0]}` into .amlignore (or .gitignore, where there is none)",
        )


def _own(plan: Plan, shown: str, options: Options, blob: str, taken: tuple[str, ...]) -> Plan:
    """The plan of the sweep itself, made of one for its runs: it is here, and its program is ours."""
    return _alone(plan)._replace(
        target="local",
        target_kind="local",
        script=shown,
        arguments=options.words(),
        argv=(PYTHON, "-P", PROGRAM, *options.words()),
        environment=Environment("user", python=sys.executable),
        variables=(),
        client_variables=taken,
        attachments=(*plan.attachments, (DEFINITION, blob)),
        stop_grace_s=GRACE_S,
        jig_home="",
    )


def _alone(plan: Plan) -> Plan:
    """Without what is around a script, and has no place around the sweep's own program."""
    return plan._replace(container=None, gpu=None, spark=None, ranks=None)


def resume(sweep_id: str, at_once: str) -> Submitted:
    """Go on with a sweep whose program has ended, in a new run with the same code, file and options."""
    home = Home(default_home())
    folder = home.run(sweep_id)
    if journal.is_held(folder, home):
        raise StoreError(f"the sweep {sweep_id} is still going", f"follow it:  jig logs -f {living(sweep_id)}")
    try:
        first = _alone(Plan.from_json(read_plan(folder)))
    except FileNotFoundError:
        raise StoreError(f"the sweep {sweep_id} was deleted", "start a new one:  jig sweep -c NAME FILE") from None
    options = Options.read(first.arguments)._replace(sweep=sweep_id)
    options = options._replace(at_once=at_once or options.at_once)
    secrets = {}
    for name in first.client_variables:
        if name not in os.environ:
            raise UsageError(
                f"the sweep {sweep_id} takes the variable {name} from this computer, where it is not set",
                f"set it for this command:  {name}=… jig sweep --resume {sweep_id}",
            )
        secrets[name] = os.environ[name]

    def plan_with(ticket: Ticket) -> Plan:
        argv = (PYTHON, "-P", PROGRAM, *options.words())
        python = first.environment._replace(python=sys.executable)
        changed = ticket._asdict() | {"arguments": options.words(), "argv": argv, "environment": python}
        return first._replace(**{**changed, "parent_run_id": sweep_id})

    def planned(store: BlobStore) -> Planned:
        try:
            return plan_with, manifest.decode(store.read(first.snapshot.id))
        except FileNotFoundError:
            raise StoreError(f"the frozen code of {sweep_id} is gone", "start a new sweep") from None

    return _begin(first.project, first.project_root, planned, secrets)


def living(sweep_id: str) -> str:
    """The run that is at work on a sweep: its first, or the last that goes on with it."""
    return ([sweep_id] + children.find(sweep_id)[1])[-1]


def _begin(project: str, root: str, planned: Callable[[BlobStore], Planned], secrets: dict[str, str]) -> Submitted:
    """Reserve a run on this computer and hand it over; nothing is left when that fails."""
    home, machine = Home(default_home()), local.machine()
    store = BlobStore(home.blobs)
    reserved = reserve(home, machine.runs_folder(), project)
    try:
        pipe = machine.open("supervise", reserved.run_id)
        try:
            with UsingBlobs(store):
                plan_with, entries = planned(store)
                parent = os.environ.get("JIG_RUN_ID", "")
                plan = plan_with(Ticket(reserved.run_id, reserved.number, reserved.created, user(), parent))
                request = {
                    "home": machine.home,
                    "plan": plan.to_json(),
                    "environment": handover.on_machine(plan.environment, machine, None),
                    "secrets": secrets,
                    "followed": True,
                }
                held = handover.Sender(pipe, store, entries, root, False, _none, _none, _quiet).deliver(request)
        finally:
            pipe.close()
    except BaseException:
        reserved.release()
        raise
    return Submitted(Handle(reserved.run_id, reserved.folder, plan), machine, held, None)


def _none(*_: Any) -> list[Any]:
    """An interpreter that is there needs no packages."""
    return []


def _quiet(text: str) -> None:
    """There is nothing to tell: nothing is built."""


def sweep_id_of(folder: RunFolder) -> str:
    """The sweep that the run in this folder is, goes on with, or belongs to; UsageError for any other run."""
    found = children.sweep_of(read_plan(folder))
    if not found:
        raise UsageError(f"{folder.id} is no sweep, nor a run of one", "jig sweep show lists them")
    return found


def load(sweep_id: str) -> Sweep:
    """The file of a sweep as it was."""
    home = Home(default_home())
    try:
        plan = read_plan(home.run(sweep_id))
        text = BlobStore(home.blobs).read(plan["attachments"][DEFINITION])
        return reading.read(text.decode("utf-8-sig"), plan["script"])
    except (FileNotFoundError, ProjectError) as error:
        raise StoreError(f"the file of the sweep {sweep_id} cannot be read: {error}") from error
