"""`jig experiment reproduce`: make a run again, and say what could not be the same."""

from __future__ import annotations

import os
import sys

from jig.cli.terminal import printable, warn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jig.cli.grammar import Args
    from jig.plan import Reproduces
    from jig.store.queries import Found

COLUMNS = ("what", "then", "now", "verdict")


def reproduce(args: Args) -> int:
    """Submit a run again: its frozen code, its packages, its arguments."""
    from jig import submit as pipeline
    from jig.cli.here import find_run, project_around
    from jig.cli.show import show
    from jig.cli.submit import follow_to_the_end
    from jig.cli.terminal import StatusLine
    from jig.reproduce import reproduce

    found = find_run(args.text("run") or args.text("id"))
    plan = found.plan()
    check_is_one(found, plan)
    folder = args.text("project")
    root = os.path.abspath(folder) if folder else project_around(os.getcwd(), plan)
    programs = bool(args.text("output") or args.text("query"))
    detached = args.flag("detach") or programs
    wanted = pipeline.Wanted(root, args.text("config") or "", target=args.text("target"), followed=not detached)
    line = StatusLine(sys.stderr)
    try:
        made = reproduce(found, wanted, pipeline.Teller(warn, line.show), dry=args.flag("dry_run"))
    finally:
        line.clear()
    submitted = made.submitted
    if programs:
        told = _plain(submitted.handle.run_id if submitted else None, made.reproduces)
        show(told, output=args.text("output"), query=args.text("query"))
    else:
        (sys.stdout if submitted is None else sys.stderr).write(table(made.reproduces))
    if submitted is None:
        return 0
    if not detached:
        return follow_to_the_end(submitted)
    if not programs:
        print(f"RunId: {submitted.handle.run_id}", flush=True)
        print(f"jig logs -f {submitted.handle.run_id} follows it", file=sys.stderr)
    submitted.held.release()
    return 0


def check_is_one(found: Found, plan: dict[str, Any]) -> None:
    """UsageError for a sweep: that is many."""
    from jig.errors import UsageError
    from jig.sweep.children import is_sweep

    if is_sweep(plan):
        again = f"restore its folder and start {plan['script']} anew:  jig project restore --run-id {found.folder.id}"
        raise UsageError(
            f"{found.id} is a sweep, and only its runs can be made again",
            f"name one of them:  jig sweep show {found.folder.id}\nor {again}",
        )


def _plain(run_id: str | None, made: Reproduces) -> dict[str, Any]:
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in made.rows]
    return {"run_id": run_id, "reproduces": made.run_id, "rows": rows}


def table(made: Reproduces) -> str:
    """What is the same in a line, and a table of what is not, or cannot be told."""
    from jig.cli.terminal import cut, display_width, width_of, wrap
    from jig.compare.sameness import SAME

    width = width_of(sys.stderr)
    same = [row[0] for row in made.rows if row[3] == SAME]
    rows = [tuple(map(printable, row)) for row in made.rows if row[3] != SAME]
    lines = wrap(f"the same as in {made.run_id}: {', '.join(same)}", width)
    if rows:
        lines += ["", "not the same, or not known:"]
        # The first three as wide as they must be, within reason; the reason goes on in the next line.
        widths = [min(max(display_width(row[at]) for row in rows), limit) for at, limit in enumerate((24, 20, 20))]
        for row in rows:
            cells = [cut(row[at], widths[at]) for at in range(3)]
            head = "  " + "  ".join(cell + " " * (widths[at] - display_width(cell)) for at, cell in enumerate(cells))
            room = max(width - display_width(head) - 2, 20)
            first, *rest = wrap(row[3], room) or [""]
            lines += [f"{head}  {first}".rstrip(), *(" " * (display_width(head) + 2) + part for part in rest)]
    return "\n".join(lines) + "\n\n"
