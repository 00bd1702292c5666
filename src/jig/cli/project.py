"""`jig project`: folders to work in."""

from __future__ import annotations

import os

from jig.cli.grammar import Command, Group, Option
from jig.cli.options import FOR_PROGRAMS, RUN_WORD
from jig.cli.workbench import COMMAND as WORKBENCH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jig.cli.grammar import Args
    from jig.cli.show import Json
    from jig.restore import Restored

DEFAULT = "digits"


def create(args: Args) -> int:
    """Make a project folder from a sample."""
    import shlex

    from jig import templates
    from jig.errors import UsageError
    from jig.project import Project

    path, name = args.text("path"), args.text("name")
    if path is None and name is None:
        raise UsageError("neither a folder nor a name was given", "for example:  jig project create --path mnist")
    folder = os.path.abspath(path or os.curdir)
    if name is not None and os.path.basename(folder) != name:
        folder = os.path.join(folder, name)
    templates.create(args.text("template") or "blank", folder)
    project = Project.find(folder)
    shown = shlex.quote(os.path.relpath(folder))
    scripts = sorted(name for name in os.listdir(folder) if name.endswith(".py"))
    script = scripts[0] if len(scripts) == 1 else "SCRIPT"
    there = "" if shown == "." else f"  cd {shown}\n"
    print(f"created the project {project.name} in {shown}\n\nnext:\n{there}  jig submit -c local {script}")
    return 0


def samples(args: Args) -> int:
    """The samples that a project can start from."""
    from jig import templates
    from jig.cli.show import show

    known: list[Json] = [{"name": name, "summary": templates.summary(name)} for name in templates.names()]
    show(known, output=args.output, query=args.query, columns=("name", "summary"))
    return 0


def restore(args: Args) -> int:
    """Put the project's folder back to what a run had."""
    import sys

    from jig.cli.here import find_kept, project_around
    from jig.cli.show import show
    from jig.cli.terminal import printable
    from jig.frozen import Frozen
    from jig.restore import restore

    found = find_kept(args.text("run") or args.text("id"))
    plan = found.plan()
    path = args.text("path")
    root = os.path.abspath(path) if path is not None else project_around(os.getcwd(), plan)

    def tell(text: str) -> None:
        print(printable(text), file=sys.stderr, flush=True)

    done = restore(root, Frozen(found), str(plan["project"]), args.flag("force"), tell)
    if args.text("output") or args.text("query"):
        told = {"run_id": found.id, "folder": root, "written": list(done.written), "deleted": list(done.deleted)}
        more = {"unchanged": done.unchanged, "back": done.back or None}
        show({**told, **more}, output=args.text("output"), query=args.text("query"))
        return 0
    for line in restored(done, root, found.id):
        print(printable(line))
    return 0


def restored(done: Restored, root: str, run_id: str) -> list[str]:
    """What a person is told of a restore."""
    changed = len(done.written) + len(done.deleted)
    return [
        *(f"deleted   {path}" for path in done.deleted),
        *(f"restored  {path}" for path in done.written),
        f"{root} is as {run_id} had it: {changed} changed, {done.unchanged} were so already",
    ]


def _unused(names: tuple[str, ...], dest: str, metavar: str) -> Option:
    return Option(names, dest, "Accepted for old scripts; there is no account here.", metavar, hidden=True)


GROUP = Group(
    "project",
    "Folders to work in.",
    (
        Command(
            "create",
            "Make a project folder.",
            create,
            (
                Option(("--path",), "path", "The folder to make.", "DIR", complete="dir"),
                Option(
                    ("-n", "--name"),
                    "name",
                    "The project's name; with --path too, the folder is made inside it.",
                    "NAME",
                ),
                Option(
                    ("--template",),
                    "template",
                    f"The sample to start from; {DEFAULT} when no name follows.",
                    "NAME",
                    complete="template",
                    optional_value=DEFAULT,
                ),
                _unused(("-w", "--workspace"), "workspace", "NAME"),
                _unused(("-a", "--account"), "account", "NAME"),
                _unused(("-g", "--resource-group"), "group", "NAME"),
                _unused(("-l", "--location"), "location", "NAME"),
            ),
            (),
            ("jig project create --path mnist --template digits",),
        ),
        Command(
            "restore",
            "Put the folder back to what a run had.\n\n"
            "Its frozen files replace those that are there, and files that it did not have go. Ignored files, outputs "
            "and .git stay as they are. What is neither in git's last commit nor in the frozen code of a run is not "
            "overwritten without --force. Before anything changes the folder is kept, and can be had back.",
            restore,
            (
                Option(
                    ("-r", "--run-id", "--run"),
                    "run",
                    "The run: its id or a unique beginning of it, or what an earlier restore has kept.",
                    "ID",
                    complete="run",
                ),
                Option(("--force",), "force", "Overwrite work that is kept nowhere else."),
                Option(
                    ("--path",),
                    "path",
                    "The folder to restore into, made where it is not there; the project's own when not given.",
                    "DIR",
                    complete="dir",
                ),
                *FOR_PROGRAMS,
            ),
            (RUN_WORD,),
            ("jig project restore --run-id ID", "jig project restore -r ID --path ../then"),
        ),
        WORKBENCH,
        Group("sample", "Samples to start from.", (Command("list", "List the samples.", samples, listing=True),)),
    ),
)
