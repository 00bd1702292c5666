"""What may come next on a command line: the answer to the hidden `jig __complete SHELL WORD...`.

Each line of the answer is a candidate, a tab, and what it is (or only the candidate). A line with nothing before the
tab tells the shell to complete by itself: `\\tfile` for files, `\\tdir` for folders.
"""

from __future__ import annotations

import os
import sys

from jig.cli import ALIASES, NOUNS, SHORT, find
from jig.cli.grammar import Command, Group, Reader
from jig.cli.help import summary
from jig.cli.terminal import printable
from jig.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from jig.cli.grammar import Option

Candidate = tuple[str, str]
FILES = ("", "file")
FOLDERS = ("", "dir")
MOST_RUNS = 50


def answer(words: list[str]) -> int:
    """Print the candidates for the last word, in the form that the shell (the first of the words) wants."""
    shell, *typed = words or [""]
    lines: list[str] = []
    if shell == "bash" and len(typed) == 2:
        lines = for_bash(*typed)
    else:
        if shell == "fish" and typed:  # fish hands over the last word with its quotes
            typed[-1] = split(typed[-1]).words[-1]
        lines = [f"{name}\t{' '.join(about.split())}" if about else name for name, about in candidates(typed or [""])]
    sys.stdout.writelines(line + "\n" for line in lines)
    return 0


def for_bash(typed: str, line: str) -> list[str]:
    """The candidates as they are to stand on bash's command line, in place of `typed`, the end of the line.

    bash inserts what it gets without quoting it, and counts a word from the last `=`, `:` or opening quote on.
    """
    given = split(line)
    fixed = split(given.last.removesuffix(typed)).words[-1]
    lines = []
    for name, about in candidates(given.words[1:] or [""]):
        lines.append(_quoted(name.removeprefix(fixed), given.quote) if name else "\t" + about)
    return lines


def candidates(words: list[str]) -> list[Candidate]:
    """What the last of the words may become, with a word on each."""
    *before, current = words
    helped = before[:1] == ["help"]
    try:
        found = find(before)
    except UsageError:
        return []
    if isinstance(found.node, Command):
        return [] if helped else _within(found.node, found.words, current)
    if isinstance(found.node, Group):
        members: Iterable[Candidate] = [(member.name, summary(member)) for member in found.node.commands]
        if found.node.usual is not None:
            members = [*members, *_within(found.node.usual, [], current)]
    else:
        members = [(name, "") for name in (*SHORT, *NOUNS, *ALIASES, "help", "--version")]
    shown = {item[0]: item for item in (*members, ("--help", ""))}
    return [item for item in shown.values() if not item[0] or item[0].startswith(current)]


def _within(command: Command, before: list[str], current: str) -> list[Candidate]:
    reader = Reader(command, command.name)
    for word in before:
        try:
            reader.read(word)
        except UsageError:
            continue  # a mistake further left does not stop a person from completing here
    if reader.in_rest:
        return [FILES]
    waiting = reader.open
    if waiting is not None and not (waiting.optional_value is not None and current.startswith("-")):
        return _values(waiting, current, reader)
    if current.startswith("-") and not reader.only_arguments:
        return _options(reader, current)
    if reader.place < len(command.arguments):
        return _named(command.arguments[reader.place].complete, current, reader)
    return []


def _options(reader: Reader, current: str) -> list[Candidate]:
    name, equals, value = current.partition("=")
    if equals:
        option = reader.options.get(name)
        if option is None or option.is_flag:
            return []
        return [(f"{name}={found}" if found else "", about) for found, about in _values(option, value, reader)]
    shown = [option for option in reader.options.values() if not option.hidden]
    names = {name: option.help for option in shown for name in option.names if name.startswith("--")}
    if name in reader.options and not name.startswith("--"):
        names[name] = reader.options[name].help
    return [item for item in names.items() if item[0].startswith(current)]


def _values(option: Option, current: str, reader: Reader) -> list[Candidate]:
    if option.choices:
        return [(choice, "") for choice in option.choices if choice.startswith(current)]
    return _named(option.complete, current, reader)


def _named(kind: str, current: str, reader: Reader) -> list[Candidate]:
    if kind == "file":
        return [FILES]
    if kind == "dir":
        return [FOLDERS]
    if kind == "template":
        from jig import templates

        return [(name, templates.summary(name)) for name in templates.names() if name.startswith(current)]
    names: Iterable[str] = ()
    if kind in ("runconfig", "target"):
        ending = ".runconfig" if kind == "runconfig" else ".compute"
        start = (reader.values.get("project") or ["."])[-1]
        names = sorted(name.removesuffix(ending) for name in _listed(_settings(start)) if name.endswith(ending))
    elif kind == "run":
        names = _listed(os.path.join(os.environ.get("JIG_HOME") or os.path.expanduser("~/.jig"), "runs"))
        names = sorted((name for name in names if name.startswith(current)), key=_age, reverse=True)[:MOST_RUNS]
    # An answer is lines of text: a name that does not fit on one is left out.
    return [(name, "") for name in names if name.startswith(current) and printable(name) == name]


def _settings(start: str) -> str:
    """The nearest `aml_config` at or above a folder; one that need not exist when there is none."""
    folder = os.path.abspath(start)
    while not os.path.isdir(os.path.join(folder, "aml_config")):
        above = os.path.dirname(folder)
        if above == folder:
            break
        folder = above
    return os.path.join(folder, "aml_config")


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []  # what cannot be read has no candidates


def _age(run_id: str) -> tuple[int, str]:
    """Run ids end in the millisecond they were made."""
    ending = run_id.rpartition("_")[2]
    return (int(ending) if ending.isascii() and ending.isdigit() else -1, run_id)


class Split:
    """A command line taken apart: its words, the last one as it was typed, and the quote that is open at the end."""

    __slots__ = ("last", "quote", "words")

    def __init__(self, words: list[str], last: str, quote: str) -> None:
        self.words = words
        self.last = last
        self.quote = quote


def split(line: str) -> Split:
    """Take a line apart as a shell does, without expanding anything; the last word is the one being typed."""
    words = [""]
    start = 0
    quote = ""
    index = 0
    while index < len(line):
        character = line[index]
        index += 1
        if character == "\\" and quote != "'":
            following = line[index : index + 1]
            index += 1
            words[-1] += following if not quote or following in '"\\$`' else character + following
        elif quote:
            if character == quote:
                quote = ""
            else:
                words[-1] += character
        elif character in "'\"":
            quote = character
        elif character.isspace():
            if index - 1 > start:
                words.append("")
            start = index
        else:
            words[-1] += character
    return Split(words, line[start:], quote)


def _quoted(text: str, quote: str) -> str:
    """The text written so that bash takes it literally, inside a quote that is already open or outside any."""
    if not quote:
        return "".join(c if c.isalnum() or c in "_@%+=:,./-" else "\\" + c for c in text)
    if quote == "'":
        written = text.replace("'", "'\\''")
    else:
        written = "".join("\\" + c if c in '"\\$`' else c for c in text)
        written = written.replace("!", "\"'!'\"")  # history expansion works inside double quotes
    # bash closes the quote, but not where the text happens to end with one.
    return written + quote if written.endswith(quote) else written
