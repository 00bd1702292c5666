"""A command is a value: its options, its arguments, and the one reader of words that parsing and completion share.

Plain classes, not NamedTuple: every call of jig loads this module, and `typing` alone would double its start-up time.
"""

from __future__ import annotations

from jig.errors import UsageError, nearest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Final

OUTPUTS = ("json", "jsonc", "table", "tsv", "yaml")


class Option:
    """A named choice on the command line; without a metavar it is a flag."""

    __slots__ = (
        "choices", "complete", "default", "dest", "help", "hidden", "many", "metavar", "names", "optional_value",
    )  # fmt: skip

    def __init__(
        self,
        names: tuple[str, ...],
        dest: str,
        help: str,
        metavar: str = "",
        many: bool = False,
        choices: tuple[str, ...] = (),
        complete: str = "",
        default: str | None = None,
        hidden: bool = False,
        optional_value: str | None = None,
    ) -> None:
        """`complete` names what completes the value; `optional_value` is what the option means without one."""
        self.names: Final = names
        self.dest: Final = dest
        self.help: Final = help
        self.metavar: Final = metavar
        self.many: Final = many
        self.choices: Final = choices
        self.complete: Final = complete
        self.default: Final = default
        self.hidden: Final = hidden
        self.optional_value: Final = optional_value

    @property
    def is_flag(self) -> bool:
        """Whether the option takes no value."""
        return not self.metavar and not self.choices


class Argument:
    """A word that is known by its place; a `rest` argument takes its first word and all that follow, options too.

    One that is `dashed` takes only what stands behind a `--`.
    """

    __slots__ = ("complete", "dashed", "dest", "help", "many", "metavar", "required", "rest")

    def __init__(
        self,
        dest: str,
        metavar: str,
        help: str,
        required: bool = False,
        many: bool = False,
        rest: bool = False,
        complete: str = "",
        dashed: bool = False,
    ) -> None:
        self.dest: Final = dest
        self.metavar: Final = metavar
        self.help: Final = help
        self.required: Final = required
        self.many: Final = many
        self.rest: Final = rest
        self.complete: Final = complete
        self.dashed: Final = dashed


class Command:
    """A verb: what it takes, what it says of itself, and the function that does it."""

    __slots__ = ("arguments", "examples", "help", "listing", "name", "options", "run")

    def __init__(
        self,
        name: str,
        help: str,
        run: Callable[[Args], int],
        options: tuple[Option, ...] = (),
        arguments: tuple[Argument, ...] = (),
        examples: tuple[str, ...] = (),
        listing: bool = False,
    ) -> None:
        """The first line of `help` is the summary; `listing` adds --output and --query."""
        self.name: Final = name
        self.help: Final = help
        self.run: Final = run
        self.options: Final = options
        self.arguments: Final = arguments
        self.examples: Final = examples
        self.listing: Final = listing


class Group:
    """A noun: the commands, and groups of them, that belong to it; `usual` is meant where none of them is named."""

    __slots__ = ("aliases", "commands", "help", "name", "usual")

    def __init__(
        self,
        name: str,
        help: str,
        commands: tuple[Command | Group, ...],
        aliases: tuple[str, ...] = (),
        usual: Command | None = None,
    ) -> None:
        self.name: Final = name
        self.help: Final = help
        self.commands: Final = commands
        self.aliases: Final = aliases
        self.usual: Final = usual

    def find(self, word: str) -> Command | Group | None:
        """The member that goes by this name or alias."""
        for member in self.commands:
            if word == member.name or (isinstance(member, Group) and word in member.aliases):
                return member
        return None


COMMON = (
    Option(("-h", "--help"), "help", "Show this text."),
    Option(("--verbose",), "verbose", "Say more about what is being done."),
    Option(("--debug",), "debug", "Show the traceback of an error as well."),
)
LISTING = (
    Option(
        ("-o", "--output"),
        "output",
        "How to write the result; a table at a terminal and json elsewhere, when not given.",
        choices=OUTPUTS,
    ),
    Option(("--query",), "query", "A JMESPath expression to choose from the result with.", metavar="JMESPATH"),
)


def options_of(command: Command) -> tuple[Option, ...]:
    """Every option the command takes: its own, those of a listing, those that all commands share."""
    return command.options + (LISTING if command.listing else ()) + COMMON


class Args:
    """What was written on the command line, by `dest`."""

    __slots__ = ("_command", "_path", "_values")

    def __init__(self, command: Command, path: str, values: dict[str, list[str]]) -> None:
        self._command = command
        self._path = path
        self._values = values

    def _declared(self, dest: str) -> Option | Argument:
        items: tuple[Option | Argument, ...] = (*options_of(self._command), *self._command.arguments)
        for item in items:
            if item.dest == dest:
                return item
        raise KeyError(f"{self._command.name} declares no option or argument {dest!r}")

    def text(self, dest: str) -> str | None:
        """The value, the last one when it was given more than once; else the default, else None."""
        item = self._declared(dest)
        values = self._values.get(dest)
        if values:
            return values[-1]
        return item.default if isinstance(item, Option) else None

    def required(self, dest: str) -> str:
        """The value; a UsageError when there is none."""
        value = self.text(dest)
        if value is None:
            raise usage_error(f"{title(self._declared(dest))} is needed", self._command, self._path)
        return value

    def flag(self, dest: str) -> bool:
        """Whether the option, or the argument, stands on the command line."""
        self._declared(dest)
        return dest in self._values

    def many(self, dest: str) -> tuple[str, ...]:
        """Every value in the order given; without any, the default alone."""
        item = self._declared(dest)
        values = self._values.get(dest)
        if not values and isinstance(item, Option) and item.default is not None:
            return (item.default,)
        return tuple(values or ())

    @property
    def output(self) -> str | None:
        """The form asked for with --output."""
        return self.text("output") if self._command.listing else None

    @property
    def query(self) -> str | None:
        """The expression given with --query."""
        return self.text("query") if self._command.listing else None


def title(item: Option | Argument) -> str:
    """How a message names an option or argument."""
    return item.metavar if isinstance(item, Argument) else "/".join(item.names)


def usage_error(message: str, command: Command, path: str, advice: str = "") -> UsageError:
    """A UsageError whose hint is the advice, where there is any, and the command's usage line."""
    from jig.cli.help import usage  # imported here: only a mistake needs it

    return UsageError(message, f"{advice or f'`{path} --help` tells what it takes'}\n{usage(command, path)}")


class Reader:
    """Reads a command's words one at a time, so that completion can stop midway and see what may come next."""

    __slots__ = ("command", "in_rest", "only_arguments", "open", "options", "path", "place", "values", "written")

    def __init__(self, command: Command, path: str) -> None:
        self.command = command
        self.path = path
        self.options = {name: option for option in options_of(command) for name in option.names}
        self.values: dict[str, list[str]] = {}
        self.open: Option | None = None  # the option whose value is the next word
        self.written = ""  # that option as the person wrote it
        self.only_arguments = False  # a -- was read
        self.place = 0  # which argument the next plain word is
        self.in_rest = False

    def read(self, word: str) -> None:
        """Take in the next word."""
        if self.in_rest:
            self.values[self.command.arguments[self.place].dest].append(word)
            return
        if self.open is not None:
            option, self.open = self.open, None
            if option.optional_value is None or not word.startswith("-"):
                self._give(option, word)
                return
            self._give(option, option.optional_value)
        if self.only_arguments or word == "-" or not word.startswith("-"):
            self._argument(word)
        elif word == "--":
            self.only_arguments = True
            dashed = [place for place, argument in enumerate(self.command.arguments) if argument.dashed]
            self.place = dashed[0] if dashed else self.place
        elif word in self.options:  # first of all: `-ap` may be a name of its own
            self._start(self.options[word], word)
        elif word.startswith("--"):
            self._long(word)
        else:
            self._letters(word)

    def finish(self) -> Args:
        """All words are read: what they say, or a UsageError that names what is missing."""
        if self.open is not None:
            if self.open.optional_value is None:
                raise self.mistake(f"{self.written} needs a value: {self.open.metavar or '|'.join(self.open.choices)}")
            self._give(self.open, self.open.optional_value)
            self.open = None
        for argument in self.command.arguments:
            if argument.required and argument.dest not in self.values:
                raise self.mistake(f"{argument.metavar} is needed")
        return Args(self.command, self.path, self.values)

    def mistake(self, message: str, advice: str = "") -> UsageError:
        """The UsageError for a mistake in these words."""
        return usage_error(message, self.command, self.path, advice)

    def _argument(self, word: str) -> None:
        if self.place == len(self.command.arguments):
            raise self.mistake(f"unexpected argument: {word!r}")
        argument = self.command.arguments[self.place]
        if argument.dashed and not self.only_arguments:
            raise self.mistake(f"unexpected argument: {word!r}", f"{argument.metavar} stands behind --")
        self.values.setdefault(argument.dest, []).append(word)
        if argument.rest:
            self.in_rest = True
        elif not argument.many:
            self.place += 1

    def _start(self, option: Option, written: str) -> None:
        if option.is_flag:
            self.values[option.dest] = []
        else:
            self.open, self.written = option, written

    def _long(self, word: str) -> None:
        name, equals, value = word.partition("=")
        option = self.options.get(name)
        if option is None or not equals:
            raise self._unknown(name)
        self.written = name
        if option.is_flag:
            raise self.mistake(f"{name} takes no value, but {value!r} was given")
        self._give(option, value)

    def _letters(self, word: str) -> None:
        for index, letter in enumerate(word[1:], start=1):
            name = "-" + letter
            option = self.options.get(name)
            if option is None:
                raise self._unknown(word if index == 1 else name)
            self._start(option, name)
            if self.open is not None:
                if index + 1 < len(word):
                    self.open = None
                    self._give(option, word[index + 1 :])
                return

    def _give(self, option: Option, value: str) -> None:
        if option.choices and value not in option.choices:
            close = nearest(value, option.choices)
            raise self.mistake(
                f"{self.written or title(option)} cannot be {value!r}; it is one of {', '.join(option.choices)}",
                f"did you mean {close}?" if close else "",
            )
        self.values.setdefault(option.dest, []).append(value)

    def _unknown(self, word: str) -> UsageError:
        known = [name for name, option in self.options.items() if name.startswith("--") and not option.hidden]
        close = nearest("--" + word.lstrip("-"), known)
        advice = f"did you mean {close}?" if close else ""
        if not close and any(argument.rest for argument in self.command.arguments):
            advice = "options of the script itself stand after its name"
        return self.mistake(f"there is no option {word}", advice)


def parse(command: Command, words: Sequence[str], path: str = "") -> Args:
    """Read the words after the command's name; `path` is how the command was called, for messages.

    Stops at --help, so that help is shown whatever else is missing or wrong after it.
    """
    reader = Reader(command, path or command.name)
    for word in words:
        reader.read(word)
        if "help" in reader.values:
            return Args(command, reader.path, reader.values)
    return reader.finish()
