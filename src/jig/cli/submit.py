"""Submitting from the command line: from its words to a run that is followed to its end."""

from __future__ import annotations

import os
import sys

from jig.cli.terminal import warn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jig.cli.grammar import Args
    from jig.plan import Plan
    from jig.submit import Submitted, Wanted


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
        warn, line.show, lambda done, total: line.show(f"reading {human_bytes(done)} of {human_bytes(total)}")
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
    return follow_to_the_end(submitted)


def _warn_of_missing_python(location: str) -> None:
    from jig.runner.environment import NotStarted, find_user_python

    try:
        find_user_python(location, os.environ.get("PATH", os.defpath))
    except NotStarted as error:
        warn(f"this would not start: {error}")


def follow_to_the_end(submitted: Submitted) -> int:
    """Show a run until it has ended, and then its summary; returns its exit code."""
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
        from jig.cli.run import bring_outputs

        bring_outputs(folder, machine)
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
