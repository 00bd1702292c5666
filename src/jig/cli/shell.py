"""`jig shell`: a shell where a run is, or in a fresh place with the project's environment and files."""

from __future__ import annotations

import os
import sys

from jig.errors import JigError, StoreError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jig.cli.grammar import Args
    from jig.cli.terminal import StatusLine
    from jig.machines import Machine
    from jig.store.queries import Found
    from jig.submit import Submitted

LEAVE_S = 30.0


def shell(args: Args) -> int:
    """Enter a run, or a fresh place; the exit code is that of the shell, or of the command."""
    wanted, config = args.text("run") or args.text("id"), args.text("config")
    words = args.many("command")
    if wanted is not None and config is not None:
        raise UsageError("-r names a run that is going, -c asks for a fresh place", "leave one of them out")
    for option in ("target", "project", "conda"):
        if config is None and args.text(option) is not None:
            raise UsageError(f"--{option} is for a fresh place, which needs -c", "jig shell -c NAME")
    terminal = _is_terminal()
    if not words and not terminal:
        raise UsageError(
            "a shell needs a terminal, and stdin or stdout is none",
            "run a command instead:  jig shell … -- COMMAND\na script on stdin:  jig shell … -- sh -s < script.sh",
        )
    if config is not None:
        return _fresh(args, words, terminal)
    found = _going(wanted)
    return _enter(found, words, terminal)


def _is_terminal() -> bool:
    """Whether a person sits at both ends; with output in a file or a pipe, a terminal there would spoil its bytes."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _going(wanted: str | None) -> Found:
    """The run that was named, or the latest that is going."""
    from jig.cli.here import project_name, store

    record, project = store(), project_name()
    if wanted is None:
        going = record.going(project)
        if not going:
            raise StoreError("no run is going", "a fresh place with the project's environment:  jig shell -c NAME")
        wanted = going[0]
    return record.find(wanted, project)


def _enter(found: Found, words: tuple[str, ...], terminal: bool) -> int:
    from jig.machines import Refusal
    from jig.machines.ssh_errors import Unreachable

    try:
        found.machine.ask("entrance", run=found.id)
        return found.machine.enter(found.id, words, terminal)
    except Refusal as refusal:
        refusal.hint = refusal.hint or _advice(refusal.code, found)
        raise
    except Unreachable as error:
        error.hint = error.hint or f"come back with  jig shell -r {found.id}"
        raise


def _advice(code: str, found: Found) -> str:
    """What to do about a run that cannot be entered."""
    if code == "ended":
        config = found.plan()["run_config"]
        return f"what it left:  jig history info -r {found.id}\na fresh place like it:  jig shell -c {config}"
    if code == "not-running":
        return f"see it begin:  jig logs -f {found.id}"
    return ""


def _fresh(args: Args, words: tuple[str, ...], terminal: bool) -> int:
    """Lay the project out as for a submit, enter, and leave nothing behind."""
    from jig import submit as pipeline
    from jig.cli.terminal import StatusLine, human_bytes, printable
    from jig.machines.interrupts import Interrupts
    from jig.machines.ssh_shell import Broken

    line = StatusLine(sys.stderr)

    def warn(text: str) -> None:
        line.clear()
        sys.stderr.write(f"warning: {printable(text, keep=chr(10))}\n")

    teller = pipeline.Teller(
        warn, line.show, lambda done, total: line.show(f"reading {human_bytes(done)} of {human_bytes(total)}")
    )
    wanted = pipeline.Wanted(
        folder=os.path.abspath(args.text("project") or os.curdir),
        run_config=args.required("config"),
        target=args.text("target"),
        conda_file=args.text("conda"),
        hold=True,
    )
    with Interrupts() as interrupts:
        try:
            submitted = pipeline.submit(wanted, teller)
        finally:
            line.clear()
        machine, run_id, reached = submitted.machine, submitted.handle.run_id, True
        try:
            submitted.held.release()
            _wait(submitted, line)
            if not words:
                print("jig: this copy of the project is gone when the shell ends", file=sys.stderr, flush=True)
            return machine.enter(run_id, words, terminal)
        except Broken as error:
            reached = False
            error.hint = "what was opened there ends by itself"
            raise
        finally:
            interrupts.hold()
            _give_back(machine, run_id, submitted.handle.folder, reached)


def _wait(submitted: Submitted, line: StatusLine) -> None:
    """Until the place is there; what is done for that is told."""
    try:
        _follow(submitted, line)
    finally:
        line.clear()


def _follow(submitted: Submitted, line: StatusLine) -> None:
    from jig.cli.terminal import printable
    from jig.follow import follow
    from jig.runner import events
    from jig.runner.folder import RunFolder
    from jig.store import runs

    handle, machine = submitted.handle, submitted.machine
    folder = RunFolder(handle.folder)
    for item in follow(folder, machine.feed(folder, submitted.pipe)):
        if not isinstance(item, dict):
            continue
        if item["event"] == "running":
            return
        if item["event"] == "note":
            line.clear()
            sys.stderr.write(f"jig: {printable(item['text'])}\n")
        elif item["event"] in events.FINAL:
            break
        else:
            line.show(f"{item['event']} …")
    run = runs.fold(events.read(folder.events))
    more = f"more of it:  jig experiment prepare -c {handle.plan.run_config}"
    raise JigError(f"there is no place for a shell: {run.why}", f"{run.fix}\n{more}" if run.fix else more)


def _give_back(machine: Machine, run_id: str, folder: str, reached: bool) -> None:
    """End the place and remove it; a machine that is out of reach does so by itself."""
    from jig.errors import MachineError

    if machine.remote:  # the copy here
        import shutil

        shutil.rmtree(folder, ignore_errors=True)
    if reached:
        try:
            machine.ask("stop", run=run_id, grace_s=0.0, timeout_s=LEAVE_S)
            machine.ask("remove", run=run_id)
        except MachineError as error:
            sys.stderr.write(f"warning: {error.message}; what was opened there ends by itself\n")
