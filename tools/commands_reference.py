"""Prints docs/reference/commands.md from the values that the command line itself is made of.

python tools/commands_reference.py > docs/reference/commands.md
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from jig.cli import ALIASES, NOUNS, SHORT, load  # noqa: E402
from jig.cli.grammar import COMMON, LISTING, Argument, Command, Group, Option  # noqa: E402
from jig.cli.help import usage  # noqa: E402

HEAD = """\
# Commands

<!-- Printed by tools/commands_reference.py; a test compares. Do not edit by hand. -->

`jig COMMAND --help` shows the same at the terminal. Run ids may be cut to any unique beginning. What is not set on the
command line comes from the [project's files](files.md); what a run leaves is in [the record](record.md), with the
exit codes.
"""


def page() -> str:
    """The whole page."""
    parts = [HEAD, *_shared()]
    for noun in NOUNS:
        parts += _group(load(noun), f"jig {noun}", 2)
    return "\n".join(parts)


def _shared() -> list[str]:
    short = [f"| `jig {name}` | `jig {noun} {verb}` |" for name, (noun, verb) in SHORT.items()]
    return [
        "## Short forms\n",
        "\n".join(["| short | the same as |", "|---|---|", *short]) + "\n",
        "## Options that every command takes\n",
        _table(COMMON),
        "## Options of commands that list something\n",
        _table(LISTING),
    ]


def _group(group: Group, path: str, level: int) -> list[str]:
    parts = [f"{'#' * level} {path}\n", group.help + "\n"]
    others = [name for name, noun in ALIASES.items() if noun == group.name]
    if others:
        parts.append("Also written: " + ", ".join(f"`{name}`" for name in others) + ".\n")
    for member in group.commands:
        if isinstance(member, Group):
            parts += _group(member, f"{path} {member.name}", level + 1)
        else:
            parts += _command(member, f"{path} {member.name}", level + 1)
    return parts


def _command(command: Command, path: str, level: int) -> list[str]:
    parts = [
        f"{'#' * level} {path}\n",
        f"```\n{usage(command, path).removeprefix('usage: ')}\n```\n",
        command.help + "\n",
    ]
    shown = [option for option in command.options if not option.hidden]
    if shown or command.arguments:
        parts.append(_table((*command.arguments, *shown)))
    if command.listing:
        parts.append("Takes `--output` and `--query` too.\n")
    if command.examples:
        parts.append("```\n" + "\n".join(command.examples) + "\n```\n")
    return parts


def _table(items: tuple[Argument | Option, ...]) -> str:
    rows = [f"| {_name(item)} | {_cell(item.help + _notes(item))} |" for item in items]
    return "\n".join(["| | |", "|---|---|", *rows]) + "\n"


def _name(item: Argument | Option) -> str:
    if isinstance(item, Argument):
        return f"`{item.metavar}`"
    value = item.metavar or "|".join(item.choices)
    if value:
        value = f" [{value}]" if item.optional_value is not None else f" {value}"
    *others, last = item.names
    return _cell(", ".join(f"`{name}`" for name in (*others, last + value)))


def _notes(item: Argument | Option) -> str:
    notes = "" if not isinstance(item, Argument) or not item.required else " Needed."
    if isinstance(item, Option) and item.default is not None:
        notes += f" Default: `{item.default}`."
    return notes + (" May be repeated." if item.many else "")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    sys.stdout.write(page())
