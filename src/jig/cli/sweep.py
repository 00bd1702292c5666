"""`jig sweep`: one script with many settings, some at a time."""

from __future__ import annotations

import os
import sys

from jig.cli.grammar import Argument, Command, Group, Option
from jig.cli.options import CONDA, CONFIG, FOR_PROGRAMS, PROJECT, TARGET

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jig.cli.grammar import Args
    from jig.submit import Submitted, Teller
    from jig.sweep.start import Asked

MOST_AT_ONCE = 1000
SHOWN_POINTS = 20


def run(args: Args) -> int:
    """Start a sweep, or go on with one, and follow it."""
    from jig.cli.terminal import StatusLine, human_bytes, warn
    from jig.errors import UsageError
    from jig.submit import Teller
    from jig.sweep import start

    resumed, file = args.text("resume"), args.text("file")
    if resumed is not None and file is not None:
        raise UsageError(f"--resume goes on with the file that the sweep began with, but {file} was named too",
                         f"for that file:  jig sweep -c … {file}")  # fmt: skip
    line = StatusLine(sys.stderr)
    teller = Teller(
        warn, line.show, lambda done, total: line.show(f"reading {human_bytes(done)} of {human_bytes(total)}")
    )
    if args.flag("dry_run"):
        return _dry_run(_asked(args), teller, line)
    at_once = _at_once(args)
    try:
        if resumed is not None:
            _refuse_what_is_decided(args)
            submitted = start.resume(_sweep_id(resumed), at_once)
        else:
            submitted = start.start(_asked(args), teller)
    finally:
        line.clear()
    run_id = submitted.handle.run_id
    if args.flag("detach"):
        print(f"RunId: {run_id}", flush=True)
        print(f"jig sweep show {run_id} shows its points, jig logs -f {run_id} follows it, jig cancel {run_id} ends it",
              file=sys.stderr)  # fmt: skip
        submitted.held.release()
        return 0
    return _follow(submitted)


def _asked(args: Args) -> Asked:
    from jig.errors import UsageError
    from jig.sweep.options import Options
    from jig.sweep.start import Asked

    if args.text("file") is None:
        raise UsageError("no file was named that describes the sweep", "for example:  jig sweep -c local sweep.yml")
    config = args.text("config")
    if config is None:
        raise UsageError("no run configuration was named", "for example:  jig sweep -c local sweep.yml")
    return Asked(
        folder=os.path.abspath(args.text("project") or os.curdir),
        file=args.required("file"),
        options=Options(
            config.removesuffix(".runconfig"), args.text("target") or "", args.text("conda") or "", _at_once(args)
        ),
        large=args.flag("large"),
    )


def _at_once(args: Args) -> str:
    from jig.errors import UsageError

    text = args.text("at_once") or ""
    if text and not (text.isascii() and text.isdigit() and len(text) < 6 and 1 <= int(text) <= MOST_AT_ONCE):
        raise UsageError(f"-n takes a whole number from 1 to {MOST_AT_ONCE:,}, not {text!r}", "for example:  -n 4")
    return text


def _refuse_what_is_decided(args: Args) -> None:
    from jig.errors import UsageError

    for dest in ("config", "target", "conda", "project"):
        if args.text(dest) is not None:
            raise UsageError(
                f"--resume goes on as the sweep began: it takes no --{dest}", "jig sweep --resume ID [-n N]"
            )


def _sweep_id(wanted: str | None) -> str:
    """The sweep that was named, by its own id or that of a run of it; the latest of this project when none was."""
    from jig.cli.here import project_name, store
    from jig.errors import StoreError
    from jig.sweep import children
    from jig.sweep.start import sweep_id_of

    if wanted is not None:
        return sweep_id_of(store().find(wanted, project_name()).folder)
    found = children.latest(project_name())
    if not found:
        raise StoreError("there are no sweeps yet", "start one:  jig sweep -c local sweep.yml")
    return found


def _dry_run(asked: Asked, teller: Teller, line: object) -> int:
    from jig.plan_text import render
    from jig.submit import DRY_RUN_ID
    from jig.sweep import report, start

    found, plan, files = start.dry_run(asked, teller)
    line.clear()  # type: ignore[attr-defined]
    points = found.sweep.points(DRY_RUN_ID)
    usual = "as many as find free GPUs" if found.decided.spec.run_config.gpus else 1
    at_once = asked.options.at_once or found.sweep.at_once or usual
    print(report.heading(found.sweep, len(points), at_once, plan.target))
    if found.sweep.method == "random" and not found.sweep.seed:
        print("without `seed` other points are drawn when it is started; these are an example")
    for index, point in enumerate(points[:SHOWN_POINTS], 1):
        print(f"[{index}/{len(points)}] {report.settings(point)}")
    if len(points) > SHOWN_POINTS:
        print(f"… and {len(points) - SHOWN_POINTS} more")
    print("\nthe first of its runs:\n")
    sys.stdout.write(render(plan, files))
    return 0


def _follow(submitted: Submitted) -> int:
    """Show the sweep's log, and below it how far it is, to the end; its exit code is ours."""
    from jig.cli import display as shown
    from jig.cli.sweep_display import SweepDisplay
    from jig.runner.folder import RunFolder
    from jig.store.runs import last_metrics
    from jig.sweep import start

    handle, machine, held, _ = submitted
    folder = RunFolder(handle.folder)
    sweep_id = start.sweep_id_of(folder)
    display = SweepDisplay(folder, start.load(sweep_id), sweep_id)
    ended = shown.watch(folder, machine, display, (f"RunId: {handle.run_id}",), held.release)
    if ended is None:
        print(f"  points: jig sweep show {sweep_id}")
        return 130
    if ended.state == "Canceled" and ended.reason == "canceled":
        end_runs(sweep_id, None)
    sys.stdout.write(shown.summary(folder, ended, last_metrics(folder)))
    if ended.state != "Completed":
        print(f"to go on with it: jig sweep --resume {sweep_id}")
    return ended.submit_code


def end_runs(sweep_id: str, grace_s: float | None) -> bool:
    """End the runs of a sweep that are still going, because its program was killed before it could; True: all ended."""
    from jig.cli.here import store
    from jig.runner import events
    from jig.store.runs import fold
    from jig.sweep import children, ending

    going = [child for child in children.find(sweep_id)[0] if not fold(events.read(child.folder.events)).final]
    if not going:
        return True
    record = store()
    machines = {child.run_id: record.find(child.run_id, None).machine for child in going}
    grace_s = 10.0 if grace_s is None else grace_s
    left = ending.end(
        going,
        lambda child: machines[child.run_id],
        grace_s,
        grace_s + 60.0,
        lambda child, text: print(f"{child.run_id}: {text}", flush=True),
    )
    return not left


def show(args: Args) -> int:
    """Tell how a sweep is: its points, the best first."""
    from jig.cli import show as writing
    from jig.sweep import report, state

    found = state.gather(_sweep_id(args.text("id")))
    rows = report.rows(found.sweep, found.points, found.tries, found.known)
    if args.text("output") or args.text("query"):
        objective = found.sweep.objective
        answer = {
            "run_id": found.id,
            "latest_run_id": found.living,
            "status": found.run.state,
            "description": found.run.why,
            "method": found.sweep.method,
            "objective": objective._asdict() if objective is not None else None,
            "points": rows,
        }
        writing.show(answer, output=args.text("output"), query=args.text("query"))
        return 0
    counted = report.counts(rows)
    print(f"sweep {found.id}: {found.run.state}, {counted}")
    if found.living != found.id:
        print(
            f"{found.living} goes on with it"
            if not found.run.final
            else f"{found.living} was the last to go on with it"
        )
    best = report.summary(found.sweep, found.points, found.tries)
    if best:
        print(best)
    print(f"\n{report.table(found.sweep, rows)}", end="")
    if found.run.final and found.run.state != "Completed":
        print(f"\nto go on with it: jig sweep --resume {found.id}")
    return 0


RUN = Command(
    "run",
    "Start a sweep: one script with many settings, some at a time.\n\n"
    "FILE says which script, which settings, and how many at a time. The sweep is a run on this computer, which "
    "submits the others and goes on when the terminal is closed; `jig cancel ID` ends it with all its runs.",
    run,
    (
        CONFIG,
        TARGET,
        PROJECT,
        CONDA,
        Option(("-n", "--at-once"), "at_once", "How many runs are kept going; this beats the file.", "N"),
        Option(("-a", "--async"), "detach", "Return at once; the sweep goes on by itself."),
        Option(("--dry-run",), "dry_run", "Print the points and the plan of the first, and do nothing."),
        Option(("--large",), "large", "Allow a project of more than 1 GB."),
        Option(
            ("--resume",),
            "resume",
            "Go on with this sweep, where it was when it ended: with the code and the file that it began with.",
            "ID",
            complete="run",
        ),
    ),
    (Argument("file", "FILE", "The file that describes the sweep.", complete="file"),),
    ("jig sweep -c local sweep.yml", "jig sweep -c my_dsvm -n 4 sweep.yml", "jig sweep --resume ID"),
)
GROUP = Group(
    "sweep",
    "Run a script with many settings, some at a time.",
    (
        RUN,
        Command(
            "show",
            "Show the points of a sweep, the best first.",
            show,
            FOR_PROGRAMS,
            (Argument("id", "ID", "The sweep, or a run of it; the latest when not given.", complete="run"),),
            ("jig sweep show", "jig sweep show -o json --query 'points[0].params'"),
        ),
    ),
    usual=RUN,
)
