"""`jig history export`: runs as a table, or into an MLflow store."""

from __future__ import annotations

import os
import sys

from jig.cli.grammar import Argument, Command, Option
from jig.cli.options import FOR_PROGRAMS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from jig.cli.grammar import Args
    from jig.export.mlflow import Sent, Source
    from jig.store.queries import Store
    from jig.store.where import Expression

CSV = "csv"
BAR = 20
MOST_NOTES = 20
NOT_STARTED = ("Queued", "Preparing")


def export(args: Args) -> int:
    """Write runs for another program."""
    from jig.cli.here import store

    to = _where_to(args)
    record = store()
    chosen = _chosen(args, record)
    return _to_csv(args, record, chosen) if to == CSV else _to_mlflow(args, record, chosen, to)


def _where_to(args: Args) -> str:
    from jig.errors import UsageError

    to = args.required("to")
    if to == "mlflow":
        to = os.environ.get("MLFLOW_TRACKING_URI", "")
        if not to:
            raise UsageError("--to mlflow means MLFLOW_TRACKING_URI, which is not set", "give the address itself")
    elif to != CSV:
        _tell_of_login(to)
    if to != CSV and ":" not in to and to != "databricks":
        raise UsageError(
            f"--to cannot be {to!r}: it is csv, or the tracking URI of an MLflow store",
            "for example sqlite:////home/me/mlflow.db, http://tracking:5000, file:///home/me/mlruns, or mlflow for "
            "the one that MLFLOW_TRACKING_URI names",
        )
    only_csv = [name for name in ("save", "points") if args.flag(name)]
    if to != CSV and only_csv:
        raise UsageError(f"--{only_csv[0]} is for --to csv")
    return to


def _tell_of_login(uri: str) -> None:
    """What stands on a command line is no secret."""
    from jig.cli.terminal import warn
    from jig.export.writer import shown

    if shown(uri) != uri:
        warn(
            "the login in --to can be seen by every user of this computer while this command runs, and stays in your "
            "shell's history; put the address into MLFLOW_TRACKING_URI, and say --to mlflow"
        )


def _chosen(args: Args, store: Store) -> list[dict[str, Any]]:
    """The records of the runs that were named, or of those of this project that the query finds, oldest first."""
    from jig.cli.here import project_name
    from jig.errors import UsageError

    named = (*args.many("run"), *args.many("ids"))
    project = None if args.flag("all") else project_name()
    if named and args.text("where"):
        raise UsageError("runs are named, and a query is given too", "give one of them")
    if named:
        ids = dict.fromkeys(store.find(name, project).id for name in named)
        return [store.record(run_id) for run_id in ids]
    found = store.list(
        project, None, where=_query(args, store), nested=args.flag("nested"), archived=args.flag("archived")
    )
    return found[::-1]


def _query(args: Args, store: Store) -> Expression | None:
    text = args.text("where")
    if text is None:
        return None
    from jig.store.where import parse

    query = parse(text)
    store.check(query.keys)
    return query


def _source(store: Store, record: dict[str, Any]) -> Source:
    """A run with its files, and what is still elsewhere brought home first, if that can be reached."""
    from jig.cli.terminal import warn
    from jig.errors import MachineError
    from jig.export.mlflow import Source

    found = store.find(record["run_id"], None)
    try:
        found.bring()
    except MachineError as error:
        warn(f"{error.message}; of {found.id} this is what is here")
    return Source(record, found.folder, found.nested)


def _with_nested(store: Store, records: list[dict[str, Any]]) -> Iterator[Source]:
    """Each run as it is now, and those nested in it, which MLflow has as runs of their own."""
    from jig.store.looking import look

    done: set[str] = set()
    for record in records:
        source = _source(store, record)
        seen = look(source.folder.id, record["run_number"], source.folder.path, "{}")
        for one in seen.records if seen else ():
            run_id = one["run_id"]
            wanted = run_id == source.id or (not source.nested and run_id.startswith(source.id + "-"))
            if wanted and run_id not in done:
                done.add(run_id)
                yield source._replace(record=one, nested=run_id[len(source.folder.id) + 1 :])


def _to_csv(args: Args, store: Store, chosen: list[dict[str, Any]]) -> int:
    from jig.cli.show import show
    from jig.errors import UsageError
    from jig.export import table

    path, for_program = args.text("save"), args.text("output") or args.text("query")
    if for_program and not path:
        raise UsageError("the table itself goes to standard output", "name a file for it with --save")
    if args.flag("points"):
        sources = (_source(store, record) for record in chosen)
        lines = table.series((source.id, source.folder, source.nested) for source in sources)
    else:
        lines = table.runs(chosen)
    if not path:
        encoding = sys.stdout.encoding or "utf-8"
        for line in lines:
            sys.stdout.write(line.encode(encoding, "backslashreplace").decode(encoding))
        return 0
    rows = _save(path, lines)
    if for_program:
        show({"file": os.path.abspath(path), "rows": rows}, output=args.text("output"), query=args.text("query"))
    else:
        print(f"{_count(rows, 'row')} in {path}")
    return 0


def _save(path: str, lines: Iterator[str]) -> int:
    """Write a file, whole or not at all; returns how many rows are below its first line."""
    from jig.errors import StoreError

    aside, rows = f"{path}.{os.getpid()}.new", -1
    try:
        with open(aside, "w", encoding="utf-8", errors="backslashreplace", newline="") as file:
            for line in lines:
                file.write(line)
                rows += 1
        os.replace(aside, path)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError) as error:
        raise StoreError(f"{path} could not be written: {error.strerror}") from error
    finally:
        if os.path.lexists(aside):
            os.unlink(aside)
    return rows


def _to_mlflow(args: Args, store: Store, chosen: list[dict[str, Any]], uri: str) -> int:
    from jig.cli.show import show
    from jig.cli.terminal import StatusLine, printable, warn
    from jig.export.mlflow import Exporter
    from jig.export.writer import Writer, shown

    waiting = [record["run_id"] for record in chosen if record["status"] in NOT_STARTED]
    if waiting:
        warn(f"left out, because they did not start yet: {', '.join(waiting)}")
    chosen = [record for record in chosen if record["run_id"] not in waiting]
    sent: list[Sent] = []
    line, points, roots = StatusLine(sys.stderr), 0, 0

    def progress(more: int) -> None:
        nonlocal points
        points += more
        full = BAR * roots // max(len(chosen), 1)
        bar = "█" * full + "░" * (BAR - full)
        line.show(f"{bar} {roots} of {len(chosen)} runs, {points:,} points")

    with _Alone(store.home.path, uri), Writer(uri, args.text("python")) as writer:
        writer.ask("connect")
        exporter = Exporter(writer, args.text("experiment"), progress)
        for source in _with_nested(store, chosen):
            progress(0)
            one = exporter.send(source)
            sent.append(one)
            roots += not source.nested
    line.clear()
    _tell(sent)
    rows = [{**one._asdict(), "notes": list(one.notes)} for one in sent]
    if args.text("output") or args.text("query"):
        show(rows, output=args.text("output"), query=args.text("query"))
        return 0
    new, files = sum(not one.known for one in sent), sum(one.files for one in sent)
    count = sum(one.points for one in sent)
    told = f"{_count(len(sent), 'run')}, {new:,} new; sent {_count(count, 'point')} and {_count(files, 'file')}"
    print(f"{printable(shown(uri))}: {told}")
    return 0


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _tell(sent: list[Sent]) -> None:
    """What MLflow could not take as it is: each thing once, and of a long list the beginning."""
    from jig.cli.terminal import warn

    told: dict[str, list[str]] = {}
    for one in sent:
        for note in one.notes:
            told.setdefault(note, []).append(one.run_id)
    for note, ids in list(told.items())[:MOST_NOTES]:
        warn(f"{ids[0]}{f' and {len(ids) - 1} more' if len(ids) > 1 else ''}: {note}")
    if len(told) > MOST_NOTES:
        warn(f"and {len(told) - MOST_NOTES} more such lines; -o json has all of them")


class _Alone:
    """One export to a store at a time: two would both make a run that neither found."""

    def __init__(self, home: str, uri: str) -> None:
        from hashlib import sha256

        from jig.runner.folder import make_private
        from jig.system import lock

        folder = os.path.join(home, "cache")
        make_private(folder)
        name = f"export-{sha256(uri.encode(errors='surrogateescape')).hexdigest()[:16]}.lock"
        self._file = os.open(os.path.join(folder, name), os.O_RDWR | os.O_CREAT, 0o600)
        if not lock(self._file, wait=False):
            print("waiting for another export to the same store", file=sys.stderr)
            lock(self._file)

    def __enter__(self) -> _Alone:
        return self

    def __exit__(self, *exc: Any) -> None:
        os.close(self._file)


COMMAND = Command(
    "export",
    "Write runs for another program: as a table, or into MLflow.\n\n"
    "--to csv writes a row for each run, or with --points one for each value that was logged. --to takes the tracking "
    "URI of an MLflow store too: every point, parameter, tag and file goes there, and a second export adds only what "
    "is new. Without runs and --where, all of this project are exported.",
    export,
    (
        Option(("--to",), "to", "csv, a tracking URI, or mlflow for the one that MLFLOW_TRACKING_URI names.", "WHERE"),
        Option(("-r", "--run"), "run", "A run; may be given more than once.", "ID", many=True, complete="run"),
        Option(("--where",), "where", "The runs for which this is true, as in jig history list.", "QUERY"),
        Option(("--all",), "all", "Runs of every project."),
        Option(("--archived",), "archived", "Archived runs too."),
        Option(("--nested",), "nested", "With csv: nested runs too. MLflow always gets them."),
        Option(("--points",), "points", "With csv: a row for each value that was logged."),
        Option(("--save",), "save", "With csv: into this file.", "FILE", complete="file"),
        Option(("--experiment",), "experiment", "With MLflow: the experiment; by default the project's name.", "NAME"),
        Option(("--python",), "python", "With MLflow: an interpreter that has mlflow.", "PATH", complete="file"),
        *FOR_PROGRAMS,
    ),
    (Argument("ids", "ID", "Runs.", many=True, complete="run"),),
    (
        "jig history export --to csv --save runs.csv",
        "jig history export --where 'accuracy > 0.9' --to csv --points",
        "jig history export --to sqlite:////home/me/mlflow.db --python ~/mlflow/bin/python",
    ),
)
