"""A noun with every kind of option and argument, for the tests of the machinery."""

import json
import os
import sys

from jig.cli.grammar import Args, Argument, Command, Group, Option
from jig.cli.show import show
from jig.errors import JigError, UsageError


def _tell(args: Args) -> int:
    told = {
        "configuration": args.text("configuration"),
        "target": args.text("target"),
        "tags": args.many("tag"),
        "background": args.flag("background"),
        "template": args.text("template"),
        "verbose": args.flag("verbose"),
        "script": args.many("script"),
    }
    print(json.dumps(told))
    return 0


def _list(args: Args) -> int:
    show([{"name": "a b", "size": 1.5}, {"name": "é", "size": None}], output=args.output, query=args.query)
    return 0


def _fail(args: Args) -> int:
    kind = args.required("kind")
    if kind == "jig":
        raise JigError("the thing \x1b[31mbroke\n  at line 2", "mend it")
    if kind == "bare":
        raise JigError("no hint here")
    if kind == "usage":
        raise UsageError("that was wrong", "do it right")
    if kind == "interrupt":
        print("so far")
        raise KeyboardInterrupt
    if kind == "pipe":
        reading, writing = os.pipe()
        os.close(reading)
        os.write(writing, b"nobody reads this")
    if kind == "flood":
        for number in range(100_000):
            print(number)
    if kind == "raw-flood":
        while True:
            os.write(1, b"x" * 10_000)
    if kind == "code":
        return 7
    if kind == "text":
        print("é \udcff")
        sys.stdout.flush()
        return 0
    raise ZeroDivisionError(f"a bug: {kind}")


CONFIGURATION = Option(
    ("-c", "--run-configuration"), "configuration", "Which run configuration.", metavar="NAME", complete="runconfig"
)
SUBMIT = Command(
    "submit",
    "Run a script.\n\nIt is frozen first.",
    _tell,
    (
        CONFIGURATION,
        Option(("-t", "--target"), "target", "Where to run.", metavar="NAME", complete="target", default="local"),
        Option(("--tag",), "tag", "A word to find it by.", metavar="WORD", many=True),
        Option(("-a", "--background"), "background", "Return at once."),
        Option(("--template",), "template", "Which template.", metavar="NAME", optional_value="digits"),
        Option(("-ap", "--artifact-path"), "artifact", "A name of two letters.", metavar="PATH", complete="file"),
        Option(("-p", "--project"), "project", "The project's folder.", metavar="DIR", complete="dir"),
        Option(("--secret-switch",), "secret", "Not shown.", hidden=True),
        Option(("--mode",), "mode", "How.", metavar="MODE", choices=("fast", "safe"), default="safe"),
    ),
    (Argument("script", "SCRIPT [ARG ...]", "The script and what it is given.", rest=True, complete="file"),),
    ("jig sample submit -c local train.py --epochs 3",),
)
GROUP = Group(
    "sample",
    "Things for tests.",
    (
        SUBMIT,
        Command("list", "List things.", _list, listing=True),
        Command("fail", "Fail in some way.", _fail, (), (Argument("kind", "KIND", "How.", required=True),)),
        Command(
            "delete",
            "Delete runs.",
            _tell,
            (Option(("-y", "--yes"), "yes", "Do not ask."),),
            (
                Argument("first", "FIRST", "One.", required=True, complete="run"),
                Argument("others", "RUN", "More.", many=True),
            ),
        ),
        Group("part", "A part of it.", (Command("list", "List parts.", _list, listing=True),), aliases=("parts",)),
    ),
)
