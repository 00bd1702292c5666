"""`jig history`: the record of runs."""

from __future__ import annotations

import os
import sys

from jig.cli.grammar import Argument, Command, Group, Option
from jig.cli.options import CONFIG, RUN, RUN_WORD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jig.cli.grammar import Args
    from jig.store.queries import Found

FEWEST = 50
OWN_COLUMNS = ("duration", "run_id", "script_name", "start_time_utc", "status")
GPU_COLUMNS = ("gpu_s", "gpu_peak_memory_bytes", "gpu_busy_percent")  # where some run has them
ARTIFACT = Option(
    ("-a", "--artifact"), "artifact", "An artifact by name, such as driver_log or outputs/model.json.", "NAME"
)


def _find(args: Args) -> Found:
    from jig.cli.here import find_run

    return find_run(args.text("run") or args.text("id"))


def list_runs(args: Args) -> int:
    """The latest runs of this project, newest first."""
    from jig.cli.here import project_name, store
    from jig.cli.show import show
    from jig.cli.terminal import is_terminal
    from jig.errors import UsageError

    wanted = args.text("limit") or str(FEWEST)
    if not wanted.isdigit():
        raise UsageError(f"--limit takes a number, not {wanted!r}")
    project = None if args.flag("all") else project_name(args.text("path"))
    # A query looks at every run: its answer must not depend on how many a table would have shown.
    limit = int(wanted) if args.text("limit") or not args.query else None
    found = store().list(project, limit)
    columns = _columns(found)
    if (args.output or ("table" if is_terminal(sys.stdout) else "json")) == "table" and args.query is None:
        found = [_for_a_table(record) for record in found]
    show(found, output=args.output, query=args.query, columns=columns)
    return 0


def _for_a_table(record: dict[str, Any]) -> dict[str, Any]:
    """Times and sizes as a person reads them; the exact ones are in the other outputs."""
    from jig.cli.gpu_text import gib, number
    from jig.store.runs import WAITING

    started, duration = record["start_time_utc"], record["duration"]
    short = {
        "start_time_utc": started and started[:19].replace("T", " "),
        "duration": duration and duration.partition(".")[0] + "." + duration.partition(".")[2][:1],
        "description": record["description"] if record["reason"] == WAITING else None,
    }
    for name in GPU_COLUMNS:
        value = number(record[name])
        if value is not None:
            short[name] = gib(value) if name.endswith("_bytes") else round(value, 1)
    return {**record, **short}


def _columns(records: list[dict[str, Any]]) -> list[str]:
    """Metrics first, as the original had it, then what every run has, and what some have."""
    from jig.store.runs import WAITING

    metrics: dict[str, None] = {}
    for record in records:
        metrics.update(dict.fromkeys(name for name in record["metrics"] if name in record and name not in OWN_COLUMNS))
    if any(record["gpu_s"] is not None for record in records):
        metrics.update(dict.fromkeys(GPU_COLUMNS))
    waiting = any(record["reason"] == WAITING for record in records)
    return [*metrics, *OWN_COLUMNS, *(("description",) if waiting else ())]


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
        Command(
            "list",
            "List runs, newest first.",
            list_runs,
            (
                Option(
                    ("--path",), "path", "The project's folder; the current one when not given.", "DIR", complete="dir"
                ),
                Option(("--all",), "all", "Runs of every project."),
                Option(
                    ("-n", "--limit"), "limit", f"At most this many; {FEWEST} when not given, all with --query.", "N"
                ),
            ),
            (),
            ("jig history list -o table", "jig history list --query \"[?status=='Completed'] | [0].run_id\""),
            listing=True,
        ),
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
    ),
)
