"""`jig runconfiguration`: how scripts are run."""

from __future__ import annotations

import os

from jig.cli.grammar import Command, Group, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jig.cli.grammar import Args


def list_configurations(args: Args) -> int:
    """The project's run configurations by file name, as the original listed them."""
    from jig.cli.show import show
    from jig.project import Project

    names = [f"{name}.runconfig" for name in Project.find(os.getcwd()).run_config_names()]
    show(names, output=args.output, query=args.query)
    return 0


def create(args: Args) -> int:
    """Write a run configuration for a target."""
    from jig.project import Project, write_run_config

    project = Project.find(os.getcwd())
    print(f"wrote {write_run_config(project, args.required('name'), args.required('target'))}")
    return 0


def delete(args: Args) -> int:
    """Delete a run configuration; its target stays."""
    from jig.project import Project, delete_run_config

    name = args.required("name")
    delete_run_config(Project.find(os.getcwd()), name)
    print(f"deleted {name}.runconfig")
    return 0


NAME = Option(("-n", "--name"), "name", "The run configuration.", "NAME", complete="runconfig")
GROUP = Group(
    "runconfiguration",
    "How scripts are run: the .runconfig files.",
    (
        Command("list", "List the project's run configurations.", list_configurations, listing=True),
        Command(
            "create",
            "Write a run configuration for a target.",
            create,
            (NAME, Option(("-t", "--target"), "target", "The compute target.", "NAME", complete="target")),
        ),
        Command("delete", "Delete a run configuration.", delete, (NAME,)),
    ),
    aliases=("runconfigurations",),
)
