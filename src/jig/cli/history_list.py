"""`jig history list`: which runs, in which order, and what is shown of them."""

from __future__ import annotations

import sys

from jig.cli.grammar import Command, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from jig.cli.grammar import Args
    from jig.store.keys import Key
    from jig.store.queries import Store
    from jig.store.where import Expression

FEWEST = 50
OWN_COLUMNS = ("duration", "run_id", "script_name", "start_time_utc", "status")
GPU_COLUMNS = ("gpu_s", "gpu_peak_memory_bytes", "gpu_busy_percent")  # where some run has them
TIMES = ("created_utc", "start_time_utc", "end_time_utc")
NEVER_CUT = ("run_id", "name", "status", "start_time_utc", "started", "duration")
FIRST_METRICS = 2  # that a narrow terminal shows before what is known of every run
LONGEST_HEAD = 12  # of a name above a narrow column
LONGEST_TEXT = 24  # of a text that a narrow terminal has to show


def list_runs(args: Args) -> int:
    """The runs of this project that were asked for, newest first when no order is."""
    from jig.cli.here import project_name, store
    from jig.cli.show import show
    from jig.cli.terminal import is_terminal, width_of
    from jig.errors import UsageError

    wanted = args.text("limit") or str(FEWEST)
    if not wanted.isdecimal():
        raise UsageError(f"--limit takes a number, not {wanted!r}")
    project = None if args.flag("all") else project_name(args.text("path"))
    # A query looks at every run: its answer must not depend on how many a table would have shown.
    limit = int(wanted) if args.text("limit") or not args.query else None
    record = store()
    where, chosen = _asked(args, record) if any(map(args.flag, ("where", "sort", "columns"))) else (None, [])
    found = record.list(project, limit, where, args.text("sort"), args.flag("nested"), args.flag("archived"))
    columns = [key.written for key in chosen] or columns_of(found)
    if (args.output or ("table" if is_terminal(sys.stdout) else "json")) == "table" and args.query is None:
        found = [for_a_table(one) for one in found]
        if not chosen and is_terminal(sys.stdout):
            columns = _fitting(found, columns, width_of(sys.stdout))
    if chosen:
        from jig.store import keys

        found = [{key.written: keys.raw(one, key) for key in chosen} for one in found]
    show(found, output=args.output, query=args.query, columns=columns, whole=NEVER_CUT)
    return 0


def _asked(args: Args, record: Store) -> tuple[Expression | None, list[Key]]:
    """The query and the columns; UsageError for a name that no run has."""
    from jig.store import keys
    from jig.store.where import parse

    where = parse(args.required("where")) if args.text("where") is not None else None
    chosen = [keys.named(name) for name in keys.split(args.text("columns") or "")]
    sort = [key for key, _ in keys.sorting(args.text("sort") or "")]
    record.check([*(where.keys if where else ()), *sort, *chosen])
    return where, chosen


def for_a_table(record: dict[str, Any]) -> dict[str, Any]:
    """Times and sizes as a person reads them; the exact ones are in the other outputs."""
    from jig.cli.gpu_text import gib, number
    from jig.store.runs import WAITING

    duration = record["duration"]
    short = {
        **{name: record[name] and record[name][:19].replace("T", " ") for name in TIMES},
        "duration": duration and duration.partition(".")[0] + "." + duration.partition(".")[2][:1],
        "description": record["description"] if record["reason"] == WAITING else None,
    }
    for name in GPU_COLUMNS:
        value = number(record[name])
        if value is not None:
            short[name] = gib(value) if name.endswith("_bytes") else round(value, 1)
    return {**record, **short}


def columns_of(records: list[dict[str, Any]]) -> list[str]:
    """Metrics first, as the original had it, then what every run has, and what some have."""
    from jig.store.keys import ONLY_SHOWN, OWN
    from jig.store.runs import WAITING

    metrics: dict[str, None] = {}
    for record in records:
        # One that is called as a key of the record stands under `metrics.` only, and --columns shows it.
        shown = [name for name in record["metrics"] if name in record and name not in OWN and name not in ONLY_SHOWN]
        metrics.update(dict.fromkeys(shown))
    if any(record["gpu_s"] is not None for record in records):
        metrics.update(dict.fromkeys(GPU_COLUMNS))
    waiting = any(record["reason"] == WAITING for record in records)
    return [*metrics, *OWN_COLUMNS, *(("description",) if waiting else ())]


def _fitting(records: list[dict[str, Any]], columns: list[str], width: int) -> list[str]:
    """The columns that a terminal has room for, in their order; what is left out is said."""
    if _take(records, columns, width) == columns:
        return columns
    for record in records:  # a time without year and seconds makes room for more
        record["started"] = record["start_time_utc"] and record["start_time_utc"][5:16]
    columns = ["started" if name == "start_time_utc" else name for name in columns]
    others = (*OWN_COLUMNS, *GPU_COLUMNS, "started", "description")
    metrics = sorted((name for name in columns if name not in others), key=lambda name: _unusual(records, name))
    first = ["run_id", "status", "description", *metrics[:FIRST_METRICS], "started", "duration"]
    rest = [*metrics[FIRST_METRICS:], "script_name", *GPU_COLUMNS]
    taken = _take(records, [name for name in (*first, *rest) if name in columns], width)
    left = [name for name in columns if name not in taken]
    if left:
        from jig.cli.terminal import cut, printable

        told = cut(", ".join(map(printable, left)), max(width - 40, 20))
        print(f"no room for {told}; --columns chooses", file=sys.stderr)
    return [name for name in columns if name in taken]


def _unusual(records: list[dict[str, Any]], name: str) -> int:
    """How many of these runs lack it: a sweep's own metrics should not take the room of those of its runs."""
    return sum(name not in record["metrics"] for record in records)


def _take(records: list[dict[str, Any]], wanted: Sequence[str], width: int) -> list[str]:
    """As many of the columns as fit, the first ones first; the first is always taken."""
    from jig.cli.show import GAP, shown_width

    taken: list[str] = []
    used = 0
    for name in wanted:
        cells = max((shown_width(record.get(name)) for record in records), default=0)
        room = cells if name in NEVER_CUT else min(cells, LONGEST_TEXT)
        need = max(room, len(name) if name in NEVER_CUT else min(len(name), LONGEST_HEAD))
        if not taken or used + len(GAP) + need <= width:
            used += need + (len(GAP) if taken else 0)
            taken.append(name)
    return taken


LIST = Command(
    "list",
    "List runs, newest first.",
    list_runs,
    (
        Option(
            ("-w", "--where"),
            "where",
            'Only runs that this is true of: accuracy > 0.9 and target = "gpu_box" (see the query language).',
            "QUERY",
        ),
        Option(
            ("-s", "--sort"),
            "sort",
            "Order by these, backwards with a - before the name: -accuracy,duration. Runs without it come last.",
            "KEYS",
        ),
        Option(
            ("--columns",), "columns", "Show these: run_id,lr,accuracy. Names of metrics, parameters, keys.", "KEYS"
        ),
        Option(("--nested",), "nested", "Runs within runs, too."),
        Option(("--archived",), "archived", "Archived runs, too."),
        Option(("--path",), "path", "The project's folder; the current one when not given.", "DIR", complete="dir"),
        Option(("--all",), "all", "Runs of every project."),
        Option(("-n", "--limit"), "limit", f"At most this many; {FEWEST} when not given, all with --query.", "N"),
    ),
    (),
    (
        "jig history list -o table",
        "jig history list --where 'accuracy > 0.9 and created > -7d' --sort -accuracy --columns run_id,lr,accuracy",
        "jig history list --query \"[?status=='Completed'] | [0].run_id\"",
    ),
    listing=True,
)
