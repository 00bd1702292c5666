"""`jig history compare` and `jig history diff`: runs side by side, and the patch between their code."""

from __future__ import annotations

import sys

from jig.cli.grammar import Argument, Command, Option
from jig.cli.options import FOR_PROGRAMS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jig.cli.grammar import Args
    from jig.compare.patch import Patch
    from jig.compare.rows import Row, View

WORDS = "A run: its id, a unique beginning of it, `last`, or `last~1` for the one before."
LEAST = "for example:  jig history compare last~1 last"
COLOURS = ((b"+", "32"), (b"-", "31"), (b"@@", "36"))
HEADS = (b"diff ", b"index ", b"--- ", b"+++ ", b"old mode", b"new mode", b"new file", b"deleted file", b"GIT binary")


def compare(args: Args) -> int:
    """Runs side by side: what differs first."""
    from jig.cli.here import find_runs, store
    from jig.cli.show import show
    from jig.cli.side_by_side import render
    from jig.cli.terminal import warn, width_of
    from jig.compare.rows import compare
    from jig.errors import UsageError
    from jig.views import gather

    words = args.many("runs")
    if len(words) < 2:
        raise UsageError(f"a comparison takes two runs or more, not {len(words)}", LEAST)
    views = gather(store(), find_runs(words), warn)
    sections = compare(views)
    if args.text("output") or args.text("query"):
        show(_plain(views, sections), output=args.text("output"), query=args.text("query"))
    else:
        sys.stdout.write(render(views, sections, width_of(sys.stdout), args.flag("all")))
    return 0


def _plain(views: list[View], sections: dict[str, list[Row]]) -> dict[str, Any]:
    """The comparison for a program: every row of every section."""
    told = {
        name: {
            row.name: {
                "values": list(row.values),
                "same": row.same,
                **({"difference": row.difference} if row.difference is not None else {}),
            }
            for row in rows
        }
        for name, rows in sections.items()
    }
    return {"runs": [view.record["run_id"] for view in views], **told}


def diff(args: Args) -> int:
    """The patch from one run's code to another's, or to the project's folder."""
    import os

    from jig.cli.here import find_runs, project_around
    from jig.cli.show import show
    from jig.errors import UsageError
    from jig.frozen import Folder, Frozen
    from jig.views import patches

    words = args.many("runs")
    if not 1 <= len(words) <= 2:
        raise UsageError(f"a diff takes one run or two, not {len(words)}", "for example:  jig history diff last~1 last")
    found = find_runs(words)
    old = Frozen(found[0])
    new = Frozen(found[1]) if len(found) == 2 else Folder(project_around(os.getcwd(), found[0].plan()))
    found_patches = patches(old, new)
    header = _header(found) if len(found) == 2 else []
    if args.text("output") or args.text("query"):
        show(_told(words, header, found_patches), output=args.text("output"), query=args.text("query"))
        return 0
    if args.flag("names"):
        lines = list(dict.fromkeys(one.change.path for one in found_patches))
        _write([line.encode("utf-8", "surrogateescape") + b"\n" for line in lines])
    elif args.flag("stat"):
        _write([f"{line}\n".encode("utf-8", "surrogateescape") for line in [*_comments(header), *_stat(found_patches)]])
    else:
        _write([f"{line}\n".encode("utf-8", "surrogateescape") for line in _comments(header)])
        _write([one.text for one in found_patches], paint=True)
    return 0


def _header(found: Any) -> list[dict[str, Any]]:
    """What differs beside the code: arguments, parameters, environment, configuration."""
    from jig.cli.here import store
    from jig.compare.rows import View, compare
    from jig.errors import StoreError
    from jig.views import environment, spark

    views, record = [], store()
    for one in found:
        try:
            known = record.record(one.id)
        except StoreError:  # a run that leaves none
            known = {}
        views.append(View(known, one.plan(), environment(one), spark(one)))
    sections = compare(views)
    return [
        {"section": name, "name": row.name, "values": list(row.values)}
        for name in ("arguments", "parameters", "environment", "configuration")
        for row in sections[name]
        if not row.same
    ]


def _comments(header: list[dict[str, Any]]) -> list[str]:
    """As lines that no reader of patches takes for a part of one."""
    from jig.cli.terminal import printable

    shown = [["(none)" if value is None else str(value) for value in row["values"]] for row in header]
    lines = [
        f"# {row['section']}: {printable(row['name'])}: {printable(then)} -> {printable(now)}"
        for row, (then, now) in zip(header, shown, strict=True)
    ]
    return [*lines, ""] if lines else []


def _told(words: tuple[str, ...], header: list[dict[str, Any]], patches: list[Patch]) -> dict[str, Any]:
    files = [
        {
            "path": one.change.path,
            "change": one.change.kind,
            "added": one.added,
            "deleted": one.deleted,
            "binary": one.binary,
            "old_mode": f"{one.change.old.mode:o}" if one.change.old else None,
            "new_mode": f"{one.change.new.mode:o}" if one.change.new else None,
            "patch": one.text.decode("utf-8", "replace"),
        }
        for one in patches
    ]
    return {"runs": list(words), "differences": header, "files": files}


def _stat(patches: list[Patch]) -> list[str]:
    """As `git diff --stat`: a bar a file, scaled to the line."""
    from jig.cli.terminal import cut, printable, width_of

    names = [cut(printable(one.change.path), 50) for one in patches]
    longest = max([len(name) for name in names] or [0])
    most = max([one.added + one.deleted for one in patches] or [0])
    room = max(width_of(sys.stdout) - longest - len(str(most)) - 6, 10)
    lines = []
    for one, name in zip(patches, names, strict=True):
        count = one.added + one.deleted
        if one.binary:
            lines.append(f" {name:<{longest}} | Bin")
            continue
        scale = 1.0 if most <= room else room / most
        plus = round(one.added * scale) or bool(one.added)
        minus = round(one.deleted * scale) or bool(one.deleted)
        lines.append(f" {name:<{longest}} | {count:>{len(str(most))}} {'+' * plus}{'-' * minus}".rstrip())
    added, deleted = sum(one.added for one in patches), sum(one.deleted for one in patches)
    files = len({one.change.path for one in patches})
    total = f" {files} file{'' if files == 1 else 's'} changed"
    total += f", {added} insertion{'' if added == 1 else 's'}(+)" if added else ""
    total += f", {deleted} deletion{'' if deleted == 1 else 's'}(-)" if deleted else ""
    return [*lines, total] if patches else []


def _write(parts: list[bytes], paint: bool = False) -> None:
    """Bytes as they are to a pipe; at a terminal with colours, and nothing that would act on it."""
    from jig.cli.terminal import is_terminal

    sys.stdout.flush()
    raw = getattr(sys.stdout, "buffer", None)
    if is_terminal(sys.stdout) or raw is None:
        for part in parts:
            sys.stdout.writelines(f"{_shown(line, paint)}\n" for line in part.split(b"\n")[:-1])
        return
    for part in parts:
        raw.write(part)
    raw.flush()


def _shown(line: bytes, paint: bool) -> str:
    from jig.cli.terminal import has_colour, printable

    text = printable(line.decode("utf-8", "surrogateescape"), keep="\t")
    if not paint or not has_colour(sys.stdout):
        return text
    if line.startswith(HEADS):
        return f"\x1b[1m{text}\x1b[0m"
    for mark, colour in COLOURS:
        if line.startswith(mark):
            return f"\x1b[{colour}m{text}\x1b[0m"
    return text


RUNS = Argument("runs", "RUN", WORDS, many=True, complete="run")
COMMANDS = (
    Command(
        "compare",
        "Put runs side by side: parameters, metrics, environment, code, GPU.\n\n"
        "What differs is shown, what is the same is counted. Of two runs numbers have their difference beside them. "
        "Metrics are the last values; `jig history plot` draws them whole.",
        compare,
        (Option(("--all",), "all", "Show what is the same as well."), *FOR_PROGRAMS),
        (RUNS,),
        ("jig history compare last~1 last", "jig history compare A B C -o json"),
    ),
    Command(
        "diff",
        "Show how code and configuration differ between two runs.\n\n"
        "A patch from the first run's frozen files to the second's, or to the project's folder as it is now when only "
        "one is named. Differences of arguments, environment and configuration stand before it as comments, so that "
        "`git apply` takes the output as it is.",
        diff,
        (
            Option(("--stat",), "stat", "Count lines instead of showing them."),
            Option(("--name-only",), "names", "Only the names of files that differ."),
            *FOR_PROGRAMS,
        ),
        (RUNS,),
        ("jig history diff last~1 last", "jig history diff last --stat", "jig history diff A B | git apply"),
    ),
)
