"""`jig history`: the record of runs."""

from __future__ import annotations

import os
import sys

from jig.cli.grammar import Argument, Command, Group, Option
from jig.cli.history_compare import COMMANDS as COMPARED
from jig.cli.history_export import COMMAND as EXPORT
from jig.cli.history_list import LIST
from jig.cli.history_marks import COMMANDS as MARKS
from jig.cli.history_plot import COMMAND as PLOT
from jig.cli.options import CONFIG, RUN, RUN_WORD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jig.cli.grammar import Args
    from jig.store.queries import Found

ARTIFACT = Option(
    ("-a", "--artifact"), "artifact", "An artifact by name, such as driver_log or outputs/model.json.", "NAME"
)


def _find(args: Args) -> Found:
    from jig.cli.here import find_run

    return find_run(args.text("run") or args.text("id"))


def last(args: Args) -> int:
    """The record of the latest run."""
    from jig.cli.here import find_run

    return _show_record(find_run(None).id, args)


def _show_record(run_id: str, args: Args) -> int:
    """All that is known of a run; in a table the proof is a line to read, elsewhere its numbers."""
    from jig.cli.gpu_text import verdict
    from jig.cli.here import store
    from jig.cli.show import show
    from jig.cli.terminal import is_terminal

    record = store().record(run_id)
    if (args.output or ("table" if is_terminal(sys.stdout) else "json")) == "table" and args.query is None:
        proof = record["gpu"] or {}
        driver = f"driver {proof['driver']}" if proof.get("driver") else ""
        devices = [f"{device.get('name')} {device.get('uuid')}" for device in proof.get("devices") or ()]
        told = "; ".join(filter(None, (verdict(record["gpu"]), *devices, driver)))
        record["gpu"] = told or proof.get("verdict")
        if proof.get("cause"):
            record["gpu_cause"] = proof["cause"]
        if record["exchange"]:
            from jig.cli.ranks_text import exchange

            record["exchange"] = exchange(record["exchange"])
    show(record, output=args.output, query=args.query)
    return 0


def info(args: Args) -> int:
    """The record of one run, or one of its artifacts as bytes."""
    found = _find(args)
    artifact = args.text("artifact")
    if artifact is None:
        return _show_record(found.id, args)
    sys.stdout.flush()
    with open(_artifact(found, artifact), "rb") as file:
        while data := file.read(1 << 20):
            sys.stdout.buffer.write(data)
    return 0


def _bring(found: Found) -> None:
    """What is still on another machine comes home first, if that can be reached."""
    from jig.errors import MachineError

    try:
        found.bring()
    except MachineError as error:
        print(f"warning: {error.message}; this is what is here", file=sys.stderr)


def _artifact(found: Found, name: str) -> str:
    from jig.errors import StoreError
    from jig.store import runs

    _bring(found)
    try:
        path = runs.artifact_path(found.folder, name)
    except ValueError as error:
        raise StoreError(f"the run {found.id}: {error}", _known(found)) from error
    if not os.path.isfile(path):
        raise StoreError(f"the run {found.id} has no artifact {name}", _known(found))
    return path


def _known(found: Found) -> str:
    from jig.store import runs

    return "it has " + (", ".join(runs.attachments(found.folder)) or "none")


def download(args: Args) -> int:
    """Copy a run's artifacts into a folder."""
    import shutil

    from jig.cli.terminal import printable
    from jig.errors import StoreError
    from jig.store import runs

    found, folder = _find(args), os.path.abspath(args.required("directory"))
    wanted = args.text("artifact")
    _bring(found)
    names = [wanted] if wanted else runs.attachments(found.folder)
    sources = {name: _artifact(found, name) for name in names}
    places = {name: os.path.join(folder, name) for name in sources}
    taken = [place for place in places.values() if os.path.lexists(place)]
    if taken and not args.flag("overwrite"):
        raise StoreError(f"{taken[0]} exists", "--overwrite replaces files")
    for name, place in places.items():
        os.makedirs(os.path.dirname(place), exist_ok=True)
        if os.path.lexists(place):
            os.unlink(place)  # a link that stands there is replaced, not followed
        shutil.copyfile(sources[name], place)
        print(printable(place))
    return 0


def delete(args: Args) -> int:
    """Remove runs: folders, outputs, records, and the code that no other run has."""
    from jig.cli.here import project_name, store
    from jig.errors import UsageError

    wanted = (*args.many("run"), *args.many("ids"))
    if not wanted:
        raise UsageError("no run was named", "for example:  jig history delete -r ID")
    record = store()
    found = {one.id: one for one in (record.find(name, project_name()) for name in wanted)}
    for one in found.values():
        record.delete(one)
        print(f"deleted {one.id}")
    for machine in {one.folder.path.rpartition(os.sep)[0]: one.machine for one in found.values()}.values():
        if machine.is_attached:
            machine.ask("collect")
    return 0


def sync(args: Args) -> int:
    """Bring home the runs of a machine: new bytes of those known here, and those started from another computer."""
    from jig.cli.here import store
    from jig.errors import UsageError
    from jig.machines import for_target
    from jig.machines.ssh import SshMachine
    from jig.project import Project

    project = Project.find(os.getcwd())
    name = args.required("config").removesuffix(".runconfig")
    target = project.compute_target(project.run_config(name).target)
    machine = for_target(target)
    if not isinstance(machine, SshMachine):
        raise UsageError(f"{target.name} is this computer: its runs are all here")
    adopted, brought = store().sync(machine)
    print(f"{target.name}: {adopted} runs adopted, {brought} brought up to date")
    return 0


def rebuild(args: Args) -> int:
    """Build the index again from the run folders."""
    from jig.cli.here import store

    count = store().index.rebuild()
    print(f"the index holds {count} runs")
    return 0


GROUP = Group(
    "history",
    "Look at what was run, and what came of it.",
    (
        LIST,
        Command("last", "Show the latest run.", last, listing=True),
        Command(
            "info",
            "Show a run, or one of its artifacts.",
            info,
            (RUN, ARTIFACT),
            (RUN_WORD,),
            ("jig history info -r ID -a driver_log",),
            listing=True,
        ),
        Command(
            "download",
            "Copy a run's artifacts into a folder.",
            download,
            (
                RUN,
                ARTIFACT,
                Option(("-d", "--directory"), "directory", "Where to.", "DIR", complete="dir"),
                Option(("--overwrite",), "overwrite", "Replace files that are there."),
            ),
            (RUN_WORD,),
        ),
        Command(
            "delete",
            "Remove runs and everything kept of them.",
            delete,
            (
                Option(
                    ("-r", "--run"),
                    "run",
                    "A run: its id or a unique beginning of it.",
                    "ID",
                    many=True,
                    complete="run",
                ),
            ),
            (Argument("ids", "ID", "More runs.", many=True, complete="run"),),
        ),
        Command("sync", "Bring home the runs of a machine.", sync, (CONFIG,)),
        Command("rebuild", "Build the index again from the run folders.", rebuild),
        *MARKS,
        EXPORT,
        *COMPARED,
        PLOT,
    ),
)
