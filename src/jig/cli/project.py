"""`jig project`: folders to work in."""

from __future__ import annotations

import os

from jig.cli.grammar import Command, Group, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jig.cli.grammar import Args
    from jig.cli.show import Json

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
    script = next((name for name in ("train.py", "hello.py") if os.path.exists(os.path.join(folder, name))), "SCRIPT")
    print(f"created the project {project.name} in {shown}\n\nnext:\n  cd {shown}\n  jig submit -c local {script}")
    return 0


def samples(args: Args) -> int:
    """The samples that a project can start from."""
    from jig import templates
    from jig.cli.show import show

    known: list[Json] = [{"name": name, "summary": templates.summary(name)} for name in templates.names()]
    show(known, output=args.output, query=args.query, columns=("name", "summary"))
    return 0


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
        Group("sample", "Samples to start from.", (Command("list", "List the samples.", samples, listing=True),)),
    ),
)
