"""What a person says of a run afterwards: tags, a note, archived or not; and an artifact that becomes an asset."""

from __future__ import annotations

import os
import sys

from jig.cli.grammar import Argument, Command, Option
from jig.cli.options import FOR_PROGRAMS, RUN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jig.assets.link import Link
    from jig.cli.grammar import Args
    from jig.store.queries import Found, Store

RUNS = Option(
    ("-r", "--run"),
    "run",
    "A run: its id or a unique beginning of it; may be given more than once. The latest when none is given.",
    "ID",
    many=True,
    complete="run",
)


def _runs(args: Args, more: tuple[str, ...] = ()) -> tuple[Store, list[Found]]:
    """The runs that were named, each once; the latest of this project when none was."""
    from jig.cli.here import project_name, store

    record, project = store(), project_name()
    found = (record.find(name, project) for name in (*args.many("run"), *more) or (None,))
    return record, list({one.id: one for one in found}.values())


def _tell(args: Args, value: Any, lines: list[str]) -> int:
    """Lines for a person; for a program, when it asked for them, the values."""
    from jig.cli.show import show
    from jig.cli.terminal import printable

    if args.text("output") or args.text("query"):
        show(value, output=args.text("output"), query=args.text("query"))
    else:
        for line in lines:
            print(printable(line))
    return 0


def tag(args: Args) -> int:
    """Set tags of runs, remove some, or show them."""
    from jig.store.marks import tags

    said = tags(args.many("tags"), args.many("remove"))
    record, found = _runs(args)
    for one in found:
        if said:
            record.remark(one, tags=said)
    shown = [{"run_id": one.id, "tags": record.record(one.id)["tags"]} for one in found]
    return _tell(args, shown, [f"{one['run_id']}: {_in_words(one['tags'])}" for one in shown])


def _in_words(tags: dict[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted(tags.items())) or "no tags"


def note(args: Args) -> int:
    """Write down what there is to say about a run."""
    from jig.store.marks import check_note

    record, found = _runs(args)
    if len(found) != 1:
        from jig.errors import UsageError

        raise UsageError("a note is about one run", "jig history tag takes several")
    one = found[0]
    before = str(record.record(one.id)["note"] or "")
    text = _note(args.text("text"), before, one.id).rstrip()
    check_note(text)
    done = "unchanged"
    if text != before.rstrip():
        record.remark(one, note=text)
        done = "noted" if text else "removed"
    return _tell(args, {"run_id": one.id, "note": text}, [f"{one.id}: {done}"])


def _note(given: str | None, before: str, run_id: str) -> str:
    from jig.errors import UsageError
    from jig.store.marks import LONGEST_NOTE

    if given == "-":
        data = sys.stdin.buffer.read(4 * LONGEST_NOTE + 1)
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            if len(data) > 4 * LONGEST_NOTE:
                return "?" * len(data)  # too long in any case, and told so
            raise UsageError(f"what came on standard input is not UTF-8: {error}") from error
    if given is not None:
        return given
    return _edited(before, run_id)


def _edited(before: str, run_id: str) -> str:
    """The note as the person's editor left it."""
    import shlex
    import subprocess
    import tempfile

    from jig.cli.terminal import is_terminal
    from jig.errors import JigError, UsageError
    from jig.store.marks import LONGEST_NOTE

    editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not editor or not is_terminal(sys.stdout):
        raise UsageError(
            "no text was given, and there is no editor to write it with: EDITOR is not set, or this is no terminal",
            f'jig history note -r {run_id} "text", or - to read it from standard input',
        )
    with tempfile.TemporaryDirectory(prefix="jig-note-") as folder:
        path = os.path.join(folder, f"{run_id}.md")
        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(before)
        try:
            code = subprocess.run([*shlex.split(editor), path]).returncode
            with open(path, encoding="utf-8") as file:
                text = file.read(LONGEST_NOTE + 1)
        except (OSError, ValueError) as error:
            raise JigError(f"the note could not be written with {editor}: {error}", "set EDITOR") from error
    if code:
        raise JigError(f"{editor} ended with exit code {code}: the note is as it was")
    return text


def archive(args: Args) -> int:
    """Take runs out of the lists, or put them back."""
    from jig.errors import UsageError

    archived = not args.flag("undo")
    if not args.many("run") and not args.many("ids"):
        raise UsageError("no run was named", "for example:  jig history archive -r ID")
    record, found = _runs(args, args.many("ids"))
    for one in found:
        record.remark(one, archived=archived)
    word = "archived" if archived else "listed again"
    shown = [{"run_id": one.id, "archived": archived} for one in found]
    return _tell(args, shown, [f"{word} {one.id}" for one in found])


def promote(args: Args) -> int:
    """Give an artifact of a run a name in the project, and keep it whatever becomes of the run."""
    from jig.assets.link import check_name
    from jig.assets.promote import promote
    from jig.cli.here import store
    from jig.cli.terminal import warn
    from jig.project import Project

    project, record = Project.find(os.getcwd()), store()
    wanted, name = args.required("artifact"), args.required("name")
    check_name(name)
    found = record.find(args.text("run"), project.name)
    new = promote(record, project, found, wanted, name, warn)
    shown = {"asset": new.name, "project": new.project, **new.latest._asdict()}
    return _tell(args, shown, [promoted(new)])


def promoted(new: Link) -> str:
    """What a person is told of an asset's new version."""
    from jig.cli.terminal import human_bytes

    latest = new.latest
    what = f"{latest.artifact_path} of {latest.run_id}, {human_bytes(latest.size)}"
    return f"assets/{new.name}.link: version {latest.version}, {what}"


COMMANDS = (
    Command(
        "tag",
        "Set tags of runs, or show them.\n\n"
        "A tag is a name and a text; setting it again replaces it. Tags can be asked for: "
        "jig history list --where 'tags.stage = \"final\"'. Without a tag those of the run are shown.",
        tag,
        (
            RUNS,
            Option(("--remove",), "remove", "Remove the tag of this name; may be given more than once.", "NAME", True),
            *FOR_PROGRAMS,
        ),
        (Argument("tags", "NAME=VALUE", "Tags to set.", many=True),),
        ("jig history tag -r ID stage=final", "jig history tag -r ID -r ID2 --remove stage"),
    ),
    Command(
        "note",
        "Write a note about a run.\n\nIt replaces the one before; an empty text removes it. Without a text, VISUAL or "
        "EDITOR is started with the note as it is.",
        note,
        (RUN, *FOR_PROGRAMS),
        (Argument("text", "TEXT", "The note; - reads it from standard input."),),
        ('jig history note -r ID "the loss spike at step 400 is the bad shard"',),
    ),
    Command(
        "archive",
        "Take runs out of the lists; nothing is removed.\n\nArchived runs are listed with "
        "jig history list --archived, and every command still takes their ids.",
        archive,
        (
            Option(RUNS.names, "run", "A run; may be given more than once.", "ID", many=True, complete="run"),
            Option(("--undo",), "undo", "Put them back into the lists."),
            *FOR_PROGRAMS,
        ),
        (Argument("ids", "ID", "More runs.", many=True, complete="run"),),
    ),
    Command(
        "promote",
        "Make an artifact of a run an asset of the project.\n\nWrites assets/NAME.link, a small file to keep under "
        "version control, and keeps the content even when the run is deleted. Promoting to the same name again gives "
        "the next version.",
        promote,
        (
            RUN,
            Option(
                ("-ap", "--artifact-path"),
                "artifact",
                "A file or folder that the run left, such as outputs/model.pkl.",
                "PATH",
            ),
            Option(("-n", "--name"), "name", "The asset's name.", "NAME"),
            *FOR_PROGRAMS,
        ),
        (),
        ("jig history promote -r ID -ap outputs/model.pkl -n best_model",),
    ),
)
