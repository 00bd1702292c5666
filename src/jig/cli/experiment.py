"""`jig experiment`: submit, follow, ask about and end runs."""

from __future__ import annotations

import os
import sys

from jig.cli.grammar import Argument, Command, Group, Option
from jig.cli.options import CONDA, CONFIG, OLD_TARGET, PROJECT, RUN, RUN_WORD, TARGET

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jig.cli.grammar import Args
    from jig.machines import Machine
    from jig.plan import Plan
    from jig.runner.folder import RunFolder
    from jig.store.queries import Found
    from jig.store.runs import Run
    from jig.submit import Submitted, Wanted


def _warn(text: str) -> None:
    from jig.cli.terminal import printable

    sys.stderr.write(f"warning: {printable(text, keep=chr(10))}\n")


def _wanted(args: Args) -> Wanted:
    from jig.errors import UsageError
    from jig.submit import Wanted

    folder = os.path.abspath(args.text("project") or os.curdir)
    words = args.many("script")
    config = args.text("config")
    if words and words[0].endswith(".runconfig"):
        named = os.path.basename(words[0]).removesuffix(".runconfig")
        if config not in (None, named):
            raise UsageError(f"both -c {config} and {words[0]} name a run configuration", "name one of them")
        config, words = named, words[1:]
    if config is None:
        hint = "for example:  jig submit -c local train.py"
        if "-c" in words:
            hint = f"what stands after the script belongs to it: write  jig submit -c {words[-1]} {words[0]}"
        raise UsageError("no run configuration was named before the script", hint)
    return Wanted(
        folder=folder,
        run_config=config,
        script=words[0] if words else None,
        arguments=words[1:],
        target=args.text("target"),
        conda_file=args.text("conda"),
        spark_file=args.text("spark"),
        large=args.flag("large"),
        followed=not args.flag("detach"),
    )


def submit(args: Args) -> int:
    """Run a script: freeze the code, start it on its target, show its output; its exit code is ours."""
    from jig import submit as pipeline
    from jig.cli.terminal import StatusLine, human_bytes

    line = StatusLine(sys.stderr)
    teller = pipeline.Teller(
        _warn, line.show, lambda done, total: line.show(f"reading {human_bytes(done)} of {human_bytes(total)}")
    )
    wanted = _wanted(args)
    if args.flag("dry_run"):
        from jig.plan_text import render

        plan, files = pipeline.dry_run(wanted, teller)
        line.clear()
        sys.stdout.write(render(plan, files))
        if plan.environment.kind == "user" and plan.target_kind == "local":
            _warn_of_missing_python(plan.environment.python)
        return 0
    try:
        submitted = pipeline.submit(wanted, teller)
    finally:
        line.clear()
    run_id = submitted.handle.run_id
    if args.flag("verbose"):
        frozen = submitted.handle.plan.snapshot
        print(
            f"jig: froze {frozen.files} files as {frozen.id[:12]}; the run is {submitted.handle.folder}",
            file=sys.stderr,
        )
    if args.flag("detach"):
        print(f"RunId: {run_id}", flush=True)
        print(f"jig logs -f {run_id} follows it, jig cancel {run_id} ends it", file=sys.stderr)
        submitted.held.release()
        return 0
    return _follow_to_the_end(submitted)


def _warn_of_missing_python(location: str) -> None:
    from jig.runner.environment import NotStarted, find_user_python

    try:
        find_user_python(location, os.environ.get("PATH", os.defpath))
    except NotStarted as error:
        _warn(f"this would not start: {error}")


def _follow_to_the_end(submitted: Submitted) -> int:
    from jig.cli import display as shown
    from jig.runner.folder import RunFolder
    from jig.store.runs import last_metrics

    handle, machine, held, pipe = submitted
    folder, display = RunFolder(handle.folder), shown.Display()
    opening = (f"RunId: {handle.run_id}", "Executing user inputs .....", "===========================")
    display.doubts = lambda look: _doubts(handle.plan, look)
    run = shown.watch(folder, machine, display, opening, held.release, pipe)
    if run is None:
        return 130
    if machine.remote:
        _bring_outputs(folder, machine)
    sys.stdout.write(shown.summary(folder, run, last_metrics(folder)))
    if not handle.plan.tracked:
        machine.ask("remove", run=handle.run_id)
        if machine.remote:
            import shutil

            shutil.rmtree(folder.path, ignore_errors=True)
    return run.submit_code


def _doubts(plan: Plan, look: dict[str, Any]) -> list[str]:
    """What of the machine's GPUs and driver does not fit the run: the part of `jig doctor` that costs nothing."""
    from jig.cli.doctor import Preflight
    from jig.doctor import cheap
    from jig.errors import ProjectError
    from jig.project import Project

    try:
        project = Project.find(plan.project_root)
        config = project.run_config(plan.run_config)
        preflight = Preflight(project, config, project.compute_target(config.target))
    except ProjectError:  # the files have been edited since, and the run has what they were
        return []
    found = cheap({"look": look}, preflight.subject)
    return [f"{finding.what}: {finding.found}" + (f" (fix: {finding.fix})" if finding.fix else "") for finding in found]


def _bring_outputs(folder: RunFolder, machine: Machine) -> None:
    """What a run left on its machine comes home; a network that fails now only puts it off."""
    from jig.cli.terminal import printable
    from jig.errors import MachineError
    from jig.store.queries import Found

    try:
        Found(folder.id, folder, machine).bring()
    except MachineError as error:
        _warn(f"the outputs are still on {machine.name}: {printable(error.message)} (any later command fetches them)")


def prepare(args: Args) -> int:
    """Build the environment of a run configuration now, so that a submit finds it."""
    from jig.cli.terminal import StatusLine
    from jig.submit import prepare as build

    line = StatusLine(sys.stderr)

    def tell(text: str) -> None:
        line.show(text)
        if not sys.stderr.isatty():
            print(text, file=sys.stderr)

    try:
        built, python = build(_wanted_config(args), tell)
    finally:
        line.clear()
    print(f"prepared: {python}" if built else f"nothing to prepare: scripts run with your own {python}")
    return 0


def _wanted_config(args: Args) -> Wanted:
    from jig.submit import Wanted

    folder = os.path.abspath(args.text("project") or os.curdir)
    return Wanted(folder, args.required("config"), target=args.text("target"), conda_file=args.text("conda"))


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
    from jig.cli.terminal import printable
    from jig.follow import Reader

    found = _find(args)
    if not args.flag("follow"):
        so_far, last_seen = _seen(found)
        if last_seen:
            _warn(f"this is what was seen {last_seen}")
        reader = Reader(found.folder)
        while data := reader.log():
            shown.write_bytes(data)
        if not reader.log_offset and so_far.reason in ("environment-failed", "not-started", "gpu-refused"):
            sys.stderr.write(f"{found.id}: {so_far.state}: {printable(so_far.why)}\n")
            _tell_fix(so_far)
        return 0
    if found.doubtful:
        found.run()
    display = shown.Display()
    run = shown.watch(found.folder, found.machine, display)
    if run is None:
        return 130
    if found.machine.remote:
        _bring_outputs(found.folder, found.machine)
    sys.stderr.write(f"{found.id}: {shown.ending(run)}\n")
    _tell_fix(run)
    sys.stderr.writelines(f"{line}\n" for line in shown.accusation(run))
    return run.submit_code


def _tell_fix(run: Run) -> None:
    from jig.cli.terminal import printable

    if run.fix:
        sys.stderr.write(f"fix: {printable(run.fix)}\n")


def cancel(args: Args) -> int:
    """End a run; when this returns, no process of it is left."""
    from jig.cli import display as shown
    from jig.cli.here import find_going
    from jig.errors import StoreError

    found = find_going(args.text("run") or args.text("id"))
    before, _ = _seen(found)
    if before.final:
        print(f"{found.id} had already ended: {before.state}")
        return 0
    grace_s = _seconds(args.text("grace"))
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


def shell(args: Args) -> int:
    """Open a shell where a run is, or in a fresh place."""
    from jig.cli.shell import shell

    return shell(args)


def diagnostics(args: Args) -> int:
    """Pack a run for somebody who is to help: plan, events, logs, and the code as executed, in diagnostics.zip."""
    import zipfile

    found = _find(args)
    place = os.path.abspath(args.text("file") or "diagnostics.zip")
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED, strict_timestamps=False) as archive:
        for parent, _, names in os.walk(found.folder.path):
            for name in names:
                path = os.path.join(parent, name)
                # A link may lead to anything, a private key included: what it points to stays here.
                if os.path.isfile(path) and not os.path.islink(path) and path != found.folder.reserve:
                    archive.write(path, os.path.join(found.id, os.path.relpath(path, found.folder.path)))
    print(f"wrote {place}")
    return 0


def clean(args: Args) -> int:
    """Give back disk: leftovers of killed commands, files no run refers to, code copies, images. Records stay."""
    from jig.cli.here import store
    from jig.cli.terminal import human_bytes
    from jig.errors import MachineError

    names = {
        "leftovers": "leftovers",
        "work": "code copies of ended runs",
        "blobs": "unused files",
        "runner": "old runners",
        "images": "environments in Docker images, with compiled files",
    }
    freed = dict.fromkeys(names, 0)
    containers = 0
    wanted = {"work": not args.flag("keep_work"), "images": not args.flag("keep_images")}
    for machine in store().machines():
        try:
            answer = machine.ask("clean", runner=machine.current_runner(), **wanted)
        except MachineError as error:
            _warn(error.message)
            continue
        for key in names:
            freed[key] += answer["freed"][key]
        engine = answer.get("engine", {})
        containers += engine.get("containers", 0)
        if "error" in engine:
            _warn(f"what jig made in Docker on {machine.name} stays: {engine['error']}")
    for key, text in names.items():
        print(f"{text}: {human_bytes(freed[key])}")
    if containers:
        print(f"containers: {containers} removed")
    return 0


SUBMIT = Command(
    "submit",
    "Run a script on a compute target.\n\n"
    "Everything after SCRIPT belongs to the script, options included. Without SCRIPT the configuration's "
    "ArgumentVector is run. The exit code is the script's own.",
    submit,
    (
        CONFIG,
        TARGET,
        PROJECT,
        Option(("-a", "--async"), "detach", "Return at once; the run goes on by itself."),
        CONDA,
        Option(
            ("-s", "--spark-dependencies"),
            "spark",
            "Use this Spark file instead of the configuration's.",
            "FILE",
            complete="file",
        ),
        Option(("--dry-run",), "dry_run", "Print the whole plan and do nothing."),
        Option(("--large",), "large", "Allow a project of more than 1 GB."),
        Option(("--wait",), "wait", "Accepted for old scripts: waiting is the default.", hidden=True),
    ),
    (
        Argument(
            "script", "SCRIPT", "The script, then its own arguments; or NAME.runconfig.", rest=True, complete="file"
        ),
    ),
    (
        "jig experiment submit -c local train.py --epochs 3",
        "jig experiment submit -c local --dry-run train.py",
        "jig submit -a -c local train.py",
    ),
)

GROUP = Group(
    "experiment",
    "Submit runs, follow them, and end them.",
    (
        SUBMIT,
        Command(
            "prepare",
            "Build a run configuration's environment now.",
            prepare,
            (CONFIG, TARGET, PROJECT, CONDA),
        ),
        Command("status", "Say how a run is.", status, (RUN, OLD_TARGET), (RUN_WORD,), listing=True),
        Command(
            "logs",
            "Print a run's output, or follow it.",
            logs,
            (RUN, Option(("-f", "--follow"), "follow", "Go on until the run ends; the exit code is the script's.")),
            (RUN_WORD,),
            ("jig logs -f",),
        ),
        Command(
            "cancel",
            "End a run and everything it started.",
            cancel,
            (
                RUN,
                OLD_TARGET,
                Option(
                    ("--grace",),
                    "grace",
                    "Seconds between asking the script to end and killing it; 10 when not given.",
                    "SECONDS",
                ),
            ),
            (RUN_WORD,),
        ),
        Command(
            "shell",
            "Open a shell where a run is, or in a fresh place.\n\n"
            "The shell is in the run's folder, or container, and has the variables of its script. With -c nothing is "
            "run: the project's files and environment are laid out as for a submit, and are gone when the shell ends. "
            "A COMMAND is run instead of a shell; the exit code is its own.",
            shell,
            (
                Option(
                    RUN.names,
                    "run",
                    "The run: its id or a unique beginning of it; the latest that is going when not given.",
                    "ID",
                    complete="run",
                ),
                CONFIG,
                TARGET,
                PROJECT,
                CONDA,
            ),
            (
                RUN_WORD,
                Argument("command", "COMMAND", "What to run instead of a shell.", rest=True, dashed=True),
            ),
            ("jig shell", "jig shell -r ID -- nvidia-smi", "jig shell -c docker"),
        ),
        Command(
            "diagnostics",
            "Pack a run's code and logs into diagnostics.zip.",
            diagnostics,
            (
                RUN,
                OLD_TARGET,
                Option(
                    ("--file",), "file", "Where to write it; ./diagnostics.zip when not given.", "FILE", complete="file"
                ),
            ),
            (RUN_WORD,),
        ),
        Command(
            "clean",
            "Give back disk space that no record needs.\n\n"
            "Here, and on every machine that has runs of yours. In Docker what jig made there goes, unless a living "
            "run uses it: containers, and images with an environment, which are built again when needed. Base images "
            "and everything else stay.",
            clean,
            (
                Option(("--keep-work",), "keep_work", "Keep the code copies of ended runs."),
                Option(("--keep-images",), "keep_images", "Keep the images with environments."),
            ),
        ),
    ),
)
