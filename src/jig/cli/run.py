"""What is asked of a run: how it is, what it printed, that it ends."""

from __future__ import annotations

import os
import sys

from jig.cli.terminal import printable, warn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jig.cli.grammar import Args
    from jig.machines import Machine
    from jig.runner.folder import RunFolder
    from jig.store.queries import Found
    from jig.store.runs import Run


NOTHING_SAID = ("environment-failed", "not-started", "gpu-refused", "ranks-refused")


def _find(args: Args) -> Found:
    from jig.cli.here import find_run

    return find_run(args.text("run") or args.text("id"))


def status(args: Args) -> int:
    """Say how a run is."""
    from jig.cli.show import show
    from jig.store.record import clock, utc

    found = _find(args)
    run, last_seen = _seen(found)
    plan = found.plan()
    answer = {
        "run_id": found.id,
        "state": run.state,
        "reason": run.reason,
        "description": run.why,
        **({"fix": run.fix} if run.fix else {}),
        "exit_code": run.exit_code,
        "script_name": plan["script"],
        "target": plan["target"],
        "start_time_utc": utc(run.started),
        "end_time_utc": utc(run.ended),
        "duration": clock(run.duration_s),
    }
    if last_seen:
        answer["last_seen"] = last_seen
    if args.output or args.query:
        show(answer, output=args.output, query=args.query)
        return 0
    for name, value in answer.items():
        if value not in (None, ""):
            print(f"{name:<14} : {value}")
    return 0


def _seen(found: Found) -> tuple[Run, str]:
    """How the run is; when its machine cannot be reached, how it was when it was last seen, and why that is all."""
    import time

    from jig.cli.terminal import human_duration
    from jig.machines.ssh_errors import Detached, Unreachable
    from jig.runner import events
    from jig.store.runs import fold

    try:
        return found.run(), ""
    except (Unreachable, Detached) as error:
        ago = time.time() - os.stat(found.folder.path).st_mtime
        if os.path.exists(found.folder.events):
            ago = time.time() - os.stat(found.folder.events).st_mtime
        return fold(events.read(found.folder.events)), f"{human_duration(ago)} ago; {error.message}"


def logs(args: Args) -> int:
    """Print a run's output; with -f go on until it ends."""
    from jig.cli import display as shown

    found, rank = _find(args), _rank(args)
    if not args.flag("follow"):
        so_far, last_seen = _seen(found)
        if last_seen:
            warn(f"this is what was seen {last_seen}")
        if not _print_logs(found, rank) and so_far.reason in NOTHING_SAID:
            sys.stderr.write(f"{found.id}: {so_far.state}: {printable(so_far.why)}\n")
            _tell_fix(so_far)
        return 0
    if found.doubtful:
        found.run()
    display = shown.Display()
    run = shown.watch(found.folder, found.machine, display, rank=rank)
    if run is None:
        return 130
    if found.machine.remote:
        bring_outputs(found.folder, found.machine)
    sys.stderr.write(f"{found.id}: {shown.ending(run)}\n")
    _tell_fix(run)
    sys.stderr.writelines(f"{line}\n" for line in shown.accusation(run))
    return run.submit_code


def _print_logs(found: Found, rank: int | None) -> bool:
    """Print what is there: all that the run printed, the lines of several processes as one, or those of one rank."""
    from jig.cli import display as shown
    from jig.errors import UsageError
    from jig.follow import Reader

    if not found.plan().get("ranks") or rank is not None:
        from jig.interleaved import log_name, ranks

        path = "" if rank is None else os.path.join(found.folder.path, log_name(rank))
        if path and not os.path.exists(path):
            has = ", ".join(map(str, ranks(found.folder)))
            raise UsageError(f"the run {found.id} has no output of rank {rank}", f"it has that of {has}" if has else "")
        reader = Reader(found.folder, log=path)
        try:
            return shown.write_all(reader.log)
        finally:
            reader.close()
    from jig.interleaved import Interleaved

    merged = Interleaved(found.folder)
    try:
        printed = shown.write_all(merged.read)
        shown.write_bytes(rest := merged.rest())
        return printed or bool(rest)
    finally:
        merged.close()


def _rank(args: Args) -> int | None:
    from jig.errors import UsageError

    text = args.text("rank")
    if text is None:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > 5:
        raise UsageError(f"--rank takes the number of a process, from 0, not {text!r}", "for example:  --rank 2")
    return int(text)


def _tell_fix(run: Run) -> None:
    if run.fix:
        sys.stderr.write(f"fix: {printable(run.fix)}\n")


def bring_outputs(folder: RunFolder, machine: Machine) -> None:
    """What a run left on its machine comes home; a network that fails now only puts it off."""
    from jig.errors import MachineError
    from jig.store.queries import Found

    try:
        Found(folder.id, folder, machine).bring()
    except MachineError as error:
        warn(f"the outputs are still on {machine.name}: {printable(error.message)} (any later command fetches them)")


def cancel(args: Args) -> int:
    """End a run; when this returns, no process of it is left."""
    from jig.cli.here import find_going

    found = find_going(args.text("run") or args.text("id"))
    grace_s = _seconds(args.text("grace"))
    if "sweep.yml" in found.plan().get("attachments", {}):
        from jig.cli.sweep_cancel import cancel as cancel_sweep

        return cancel_sweep(found, grace_s)
    return end(found, grace_s)


def end(found: Found, grace_s: float | None) -> int:
    """End one run."""
    from jig.cli import display as shown
    from jig.errors import StoreError

    before, _ = _seen(found)
    if before.final:
        print(f"{found.id} had already ended: {before.state}")
        return 0
    if not shown.cancel(found.folder, found.machine, grace_s):
        raise StoreError(f"the run {found.id} has not ended", f"look at it:  jig status {found.id}")
    run = found.run()
    print(f"{found.id}: {run.state}")
    if run.survivors:
        raise StoreError(f"processes of {found.id} would not end: {', '.join(map(str, run.survivors))}")
    return 0


def _seconds(text: str | None) -> float | None:
    """The grace that was asked for, up to a day."""
    from jig.errors import UsageError

    if text is None:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 86400:
        raise UsageError(f"--grace takes seconds from 0 to 86400, not {text!r}", "for example:  --grace 30")
    return seconds
