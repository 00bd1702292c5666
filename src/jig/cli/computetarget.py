"""`jig computetarget`: where runs can be."""

from __future__ import annotations

import os

from jig.cli import attach, attached, doctor, gpu
from jig.cli.grammar import Argument, Command, Group, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jig.cli.grammar import Args
    from jig.project import ComputeTarget


def list_targets(args: Args) -> int:
    """The names of the project's compute targets."""
    from jig.cli.show import show
    from jig.project import Project

    show(list(Project.find(os.getcwd()).target_names()), output=args.output, query=args.query)
    return 0


def show_target(args: Args) -> int:
    """A target as jig understands its file; a secret is not shown."""
    from jig.cli.show import show
    from jig.project import Project

    project = Project.find(os.getcwd())
    target = project.compute_target(args.text("name") or args.required("word"))
    known = {_as_in_the_file(key): value for key, value in target._asdict().items() if _applies(key, value, target)}
    own = "the image's own Python" if target.in_container else "the user's own Python"
    known["environment"] = "managed by jig" if target.managed else own
    show(known, output=args.output, query=args.query)
    attached.tell_unused_password(target)
    return 0


def _as_in_the_file(key: str) -> str:
    """`python_location` → `pythonLocation`."""
    first, *rest = {"kind": "type"}.get(key, key).split("_")
    return first + "".join(word.title() for word in rest)


def _applies(key: str, value: object, target: ComputeTarget) -> bool:
    """Whether a person wants to see this of a target of this kind; never a password."""
    only = {
        "yarn_deploy_mode": target.kind == "cluster",
        "spark_submit_location": target.kind == "cluster",
        "python_location": target.kind in ("local", "remote") or (target.in_container and not target.managed),
        "nvidia_docker": target.in_container,
        "password": False,
    }
    return value is not None and only.get(key, True)


NAME = Option(("-n", "--name"), "name", "The target.", "NAME", complete="target")
WORD = Argument("word", "NAME", "The same as --name.", complete="target")
GROUP = Group(
    "computetarget",
    "Where runs can be: the .compute files.",
    (
        Command(
            "attach",
            "Attach a machine that is reached over SSH, or Docker on this one.\n\n"
            "A machine is contacted: its host key is shown and pinned, the login is set up (with a password once, then "
            "with a key of its own), and what is found there is told. Without KIND it is remotedocker, as it always "
            "was. For localdocker (or docker) the two files are written, and it is told what Docker here can do.",
            attach.attach,
            attach.OPTIONS,
            (attach.KIND_WORD,),
            (
                "jig computetarget attach remote -n box -a gpu1.example.org -u ada",
                "jig computetarget attach remotedocker -n my_dsvm -a gpu1.example.org -u ada --gpu",
                "jig computetarget attach localdocker -n docker --image python:3.12-slim",
            ),
        ),
        Command(
            "check",
            "Look around on a machine again.\n\n"
            "The findings of `jig doctor`, and the machine's host key. Exit code 1 when a run could not start there; "
            "what only a run with a GPU minds counts where the target, or the run configuration of the same name, asks "
            "for one.",
            attached.check,
            (NAME,),
            (WORD,),
        ),
        doctor.COMMAND,
        gpu.COMMAND,
        Command("list", "List the project's compute targets.", list_targets, listing=True),
        Command("show", "Show a compute target.", show_target, (NAME,), (WORD,), listing=True),
        Command(
            "detach",
            "Forget a machine.\n\n"
            "Its two files are deleted, and the key and the host key that are kept for it here. The line of jig's key "
            "stays in ~/.ssh/authorized_keys there, and is printed, unless --remove-key removes it.",
            attached.detach,
            (NAME, attached.REMOVE_KEY),
            (WORD,),
        ),
    ),
)
