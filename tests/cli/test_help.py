import os
import pty
import termios

import pytest

from jig.cli import find, main
from jig.cli.grammar import Argument, Command, Group, Option, options_of
from jig.cli.help import command_help, group_help, overview, summary, usage
from jig.cli.terminal import display_width
from tests.cli.sample_noun import GROUP, SUBMIT

SUBMIT_HELP = """\
usage: jig go [options] [SCRIPT [ARG ...]]
also:  jig sample submit

Run a script.

It is frozen first.

Arguments:
  SCRIPT [ARG ...]           The script and what it is given.

Options:
  -c, --run-configuration NAME
                             Which run configuration.
  -t, --target NAME          Where to run. [default: local]
  --tag WORD                 A word to find it by. [may be repeated]
  -a, --background           Return at once.
  --template [NAME]          Which template.
  -ap, --artifact-path PATH  A name of two letters.
  -p, --project DIR          The project's folder.
  --mode MODE                How. [one of fast, safe; default: safe]

Every command:
  -h, --help                 Show this text.
  --verbose                  Say more about what is being done.
  --debug                    Show the traceback of an error as well.

Examples:
  jig sample submit -c local train.py --epochs 3
"""


def nothing(args):
    return 0


def test_help_of_a_command():
    assert command_help(SUBMIT, "jig go", 80, also="jig sample submit") == SUBMIT_HELP


def test_help_wraps_at_the_width_and_lists_what_a_listing_takes():
    about = "List all the things that there are.\n\n  kept   as it is\n\nMore to say on it."
    options = (Option(("-x",), "x", "学习 " * 8, metavar="N"), Option(("-q",), "q", ""))
    command = Command("list", about, nothing, options, listing=True)
    text = command_help(command, "jig list", 44)
    assert text == (
        "usage: jig list [options]\n"
        "\n"
        "List all the things that there are.\n"
        "\n"
        "  kept   as it is\n"
        "\n"
        "More to say on it.\n"
        "\n"
        "Options:\n"
        "  -x N              学习 学习 学习 学习 学习\n"
        "                    学习 学习 学习\n"
        "  -q\n"
        "  -o, --output {json,jsonc,table,tsv,yaml}\n"
        "                    How to write the result;\n"
        "                    a table at a terminal\n"
        "                    and json elsewhere, when\n"
        "                    not given.\n"
        "  --query JMESPATH  A JMESPath expression to\n"
        "                    choose from the result\n"
        "                    with.\n"
        "\n"
        "Every command:\n"
        "  -h, --help        Show this text.\n"
        "  --verbose         Say more about what is\n"
        "                    being done.\n"
        "  --debug           Show the traceback of an\n"
        "                    error as well.\n"
    )
    assert max(map(display_width, text.splitlines())) <= 44


def test_help_of_a_group():
    assert group_help(GROUP, "jig sample", 80) == (
        "usage: jig sample COMMAND [options]\n"
        "\n"
        "Things for tests.\n"
        "\n"
        "Commands:\n"
        "  submit  Run a script.\n"
        "  list    List things.\n"
        "  fail    Fail in some way.\n"
        "  delete  Delete runs.\n"
        "  part    A part of it. (list)\n"
        "\n"
        "`jig sample COMMAND --help` tells all about one of them.\n"
    )


def test_overview():
    assert overview([("Run", [("submit", "Run a script.")]), ("Look", [("history", "What was run.")])], 60) == (
        "usage: jig COMMAND [options]\n"
        "\n"
        "Run:\n"
        "  submit   Run a script.\n"
        "\n"
        "Look:\n"
        "  history  What was run.\n"
        "\n"
        "`jig COMMAND --help` tells all about one of them; `jig\n"
        "--version` tells the version.\n"
    )


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ((), "usage: jig x [options]"),
        ((Argument("a", "A", "", required=True), Argument("b", "B", "")), "usage: jig x [options] A [B]"),
        ((Argument("a", "A", "", many=True),), "usage: jig x [options] [A ...]"),
        ((Argument("a", "A", "", required=True, rest=True),), "usage: jig x [options] A ..."),
        ((Argument("a", "A [B ...]", "", rest=True),), "usage: jig x [options] [A [B ...]]"),
    ],
)
def test_usage(arguments, line):
    assert usage(Command("x", "", nothing, (), arguments), "jig x") == line


def test_summary_is_the_first_line():
    assert summary(Group("g", "\n One line. \n\nAnd more.", ())) == "One line."


def test_help_is_as_wide_as_the_terminal(sample_noun, monkeypatch):
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 50))
    with os.fdopen(theirs, "w", encoding="utf-8") as stream:
        monkeypatch.setattr("sys.stdout", stream)
        assert main(["go", "--help"]) == 0
        stream.write("\0")
        stream.flush()
        text = b""
        while not text.endswith(b"\0"):
            text += os.read(ours, 10_000)
    os.close(ours)
    expected = command_help(SUBMIT, "jig go", 50, also="jig sample submit")
    assert text[:-1].decode().replace("\r\n", "\n") == expected != SUBMIT_HELP


@pytest.mark.parametrize(
    "line",
    [["go", "-h"], ["go", "--help"], ["help", "go"], ["--help", "go"], ["go", "-a", "--help", "--nonsense"],
     ["go", "-c", "x", "-h", "train.py"]],
)  # fmt: skip
def test_ways_to_ask_for_help(sample_noun, capsys, line):
    assert main(line) == 0
    assert capsys.readouterr() == (SUBMIT_HELP, "")


def test_every_option_is_documented_once():
    """Holds for all nouns: a summary that is a sentence, help on each option, no name twice, no dest twice."""
    from jig.cli import NOUNS, load

    def commands(group, path):
        for member in group.commands:
            if isinstance(member, Group):
                yield from commands(member, f"{path} {member.name}")
            else:
                yield f"{path} {member.name}", member

    for noun in NOUNS:
        for path, command in commands(load(noun), noun):
            assert find(path.split()).node is command
            assert summary(command).endswith("."), path
            names = [name for option in options_of(command) for name in option.names]
            assert sorted(names) == sorted(set(names)), path
            items = [*options_of(command), *command.arguments]
            assert all(item.help for item in items), path
            dests = [item.dest for item in items]
            assert sorted(dests) == sorted(set(dests)), path
            assert all(argument.rest is False for argument in command.arguments[:-1]), path
