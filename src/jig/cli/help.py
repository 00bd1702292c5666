"""The help texts, made from the same values that parsing uses."""

from __future__ import annotations

from jig.cli.grammar import COMMON, Argument, Group, Option, options_of
from jig.cli.terminal import display_width, wrap

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jig.cli.grammar import Command

INDENT = "  "
NARROWEST = 40
WIDEST_LEFT = 26  # what is wider has its text on the next line


def usage(command: Command, path: str) -> str:
    """The one line that says how the command is called."""
    return " ".join(["usage:", path, "[options]", *map(_placeholder, command.arguments)])


def summary(item: Command | Group) -> str:
    """The first line of the help."""
    return item.help.strip().partition("\n")[0].strip()


def command_help(command: Command, path: str, width: int, also: str = "") -> str:
    """All about one command; `also` is another way to call the same one."""
    width = max(width, NARROWEST)
    own = [option for option in options_of(command) if option not in COMMON and not option.hidden]
    sections = [
        ("Arguments", [(argument.metavar, argument.help) for argument in command.arguments]),
        ("Options", [(_left(option), _right(option)) for option in own]),
        ("Every command", [(_left(option), option.help) for option in COMMON]),
    ]
    parts = [
        usage(command, path) + (f"\nalso:  {also}" if also else ""),
        _prose(command.help, width),
        _sections(sections, width),
    ]
    if command.examples:
        parts.append("\n".join(["Examples:", *(INDENT + example for example in command.examples)]))
    return "\n\n".join(parts) + "\n"


def group_help(group: Group, path: str, width: int) -> str:
    """The commands of a noun."""
    width = max(width, NARROWEST)
    parts = [
        f"usage: {path} COMMAND [options]",
        _prose(group.help, width),
        _sections([("Commands", [(member.name, described(member)) for member in group.commands])], width),
        _prose(f"`{path} COMMAND --help` tells all about one of them.", width),
    ]
    if group.usual is not None:
        parts.append(f"Without a COMMAND it is `{group.usual.name}`:")
        parts.append(command_help(group.usual, path, width).rstrip("\n"))
    return "\n\n".join(parts) + "\n"


def overview(sections: Sequence[tuple[str, Sequence[tuple[str, str]]]], width: int) -> str:
    """What `jig --help` shows: every command, grouped by what people do."""
    width = max(width, NARROWEST)
    parts = [
        "usage: jig COMMAND [options]",
        _sections(sections, width),
        _prose("`jig COMMAND --help` tells all about one of them; `jig --version` tells the version.", width),
    ]
    return "\n\n".join(parts) + "\n"


def described(item: Command | Group) -> str:
    """The summary, for a group with the names of its commands."""
    if isinstance(item, Group):
        return f"{summary(item)} ({', '.join(member.name for member in item.commands)})"
    return summary(item)


def _placeholder(argument: Argument) -> str:
    shown = argument.metavar
    if (argument.many or argument.rest) and "..." not in shown:
        shown += " ..."
    if argument.dashed:
        shown = f"-- {shown}"
    return shown if argument.required else f"[{shown}]"


def _left(option: Option) -> str:
    names = ", ".join(option.names)
    if option.is_flag:
        return names
    value = option.metavar or "{" + ",".join(option.choices) + "}"
    return f"{names} {value}" if option.optional_value is None else f"{names} [{value}]"


def _right(option: Option) -> str:
    notes = []
    if option.choices and option.metavar:
        notes.append("one of " + ", ".join(option.choices))
    if option.default is not None:
        notes.append(f"default: {option.default}")
    if option.many:
        notes.append("may be repeated")
    return f"{option.help} [{'; '.join(notes)}]" if notes else option.help


def _prose(text: str, width: int) -> str:
    """Paragraphs, each wrapped; lines that are indented stay as they stand."""
    paragraphs = []
    for paragraph in text.strip().split("\n\n"):
        lines = paragraph.splitlines()
        if any(line.startswith(" ") for line in lines):
            paragraphs.append(paragraph)
        else:
            paragraphs.append("\n".join(wrap(paragraph, width)))
    return "\n\n".join(paragraphs)


def _sections(sections: Sequence[tuple[str, Sequence[tuple[str, str]]]], width: int) -> str:
    """Headings with rows of two columns; the right one starts at the same place in all of them."""
    lefts = [display_width(left) for _, rows in sections for left, _ in rows]
    column = len(INDENT) + max((left for left in lefts if left <= WIDEST_LEFT), default=WIDEST_LEFT) + 2
    return "\n\n".join(_section(heading, rows, column, width) for heading, rows in sections if rows)


def _section(heading: str, rows: Sequence[tuple[str, str]], column: int, width: int) -> str:
    lines = [heading + ":"]
    for left, right in rows:
        head = INDENT + left
        if display_width(head) + 2 > column:
            lines.append(head)
            head = ""
        for text in wrap(right, max(width - column, 10)):
            lines.append(head + " " * (column - display_width(head)) + text)
            head = ""
        if head:
            lines.append(head)
    return "\n".join(lines)
