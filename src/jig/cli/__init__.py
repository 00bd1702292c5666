"""The command line: finds the command that was named, runs it, and is the one place where errors end.

Only the module of the noun that was named is imported, and `jig --version` imports nothing more than this one:
start-up is felt at every call.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

    from jig.cli.grammar import Command, Group
    from jig.errors import JigError

# Each module has its noun as `GROUP`.
NOUNS = {
    "project": "jig.cli.project",
    "experiment": "jig.cli.experiment",
    "sweep": "jig.cli.sweep",
    "history": "jig.cli.history",
    "asset": "jig.cli.asset",
    "notebook": "jig.cli.notebook",
    "computetarget": "jig.cli.computetarget",
    "environment": "jig.cli.environment",
    "runconfiguration": "jig.cli.runconfiguration",
    "completion": "jig.cli.completion",
}
ALIASES = {"runconfigurations": "runconfiguration", "computecontext": "computetarget"}
# Short forms are the same command, not a copy.
SHORT = {
    "submit": ("experiment", "submit"),
    "cancel": ("experiment", "cancel"),
    "status": ("experiment", "status"),
    "logs": ("experiment", "logs"),
    "shell": ("experiment", "shell"),
    "gpu": ("computetarget", "gpu"),
    "doctor": ("computetarget", "doctor"),
    "workbench": ("project", "workbench"),
}
# What `jig --help` shows, by what people do.
SECTIONS = (
    ("Run", ("submit", "cancel", "sweep", "experiment")),
    ("Look", ("workbench", "notebook", "status", "logs", "shell", "history", "asset", "gpu", "doctor")),
    ("Set up", ("project", "computetarget", "runconfiguration", "environment", "completion")),
)
INTERRUPTED = 130
READER_GONE = 141


def main(argv: list[str] | None = None) -> int:
    """Run one command line and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    _fill_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        _show_what_cannot_be_encoded(stream)
    try:
        code = _dispatch(words)
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:
        if not (_reader_is_gone(sys.stdout) or _reader_is_gone(sys.stderr)):
            raise
        code = READER_GONE
    except OSError as error:
        if not _is_full(error):
            raise
        code = _report_full(error)
    return _flush(code)


def _fill_closed_streams() -> None:
    """Where a standard stream was closed, the next file that jig opens would take its number, and be written to."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull)
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")


def load(noun: str) -> Group:
    """The group of a noun; imports its module."""
    module = NOUNS[noun]
    __import__(module)  # importlib.import_module would cost another import
    group: Group = sys.modules[module].GROUP
    return group


class Found:
    """Where a command line leads: a command, a group, or (None) the top."""

    __slots__ = ("also", "help", "node", "path", "words")

    def __init__(self) -> None:
        self.node: Command | Group | None = None
        self.path = "jig"
        self.also = ""  # the long form of a short one
        self.help = False
        self.words: list[str] = []  # what follows the command's name


def find(words: list[str]) -> Found:
    """Follow the words from the top to a command; a word that leads nowhere is a UsageError."""
    from jig.cli.grammar import Group

    found = Found()
    kept: list[str] = []
    rest = list(words)
    if rest[:1] == ["help"]:
        found.help = True
        rest.pop(0)
    while rest and (found.node is None or isinstance(found.node, Group)):
        word = rest.pop(0)
        if word in ("-h", "--help"):
            found.help = True
        elif word in ("--debug", "--verbose"):
            kept.append(word)
        elif not _step(found, word):
            if not isinstance(found.node, Group) or found.node.usual is None:
                raise _lost(found, word)
            found.also = f"{found.path} {found.node.usual.name}"
            found.node = found.node.usual
            rest.insert(0, word)
    found.words = kept + rest
    return found


def _step(found: Found, word: str) -> bool:
    from jig.cli.grammar import Group

    node: Command | Group | None = None
    if isinstance(found.node, Group):
        node = found.node.find(word)
    elif word in SHORT:
        node = _short(word)
        found.also = " ".join(("jig", *SHORT[word]))
    elif ALIASES.get(word, word) in NOUNS:
        node = load(ALIASES.get(word, word))
    if node is None:
        return False
    found.node = node
    found.path += " " + word
    return True


def _short(name: str) -> Command | Group:
    noun, verb = SHORT[name]
    command = load(noun).find(verb)
    if command is None:
        raise LookupError(f"the short form {name} stands for {noun} {verb}, which does not exist")
    return command


def _lost(found: Found, word: str) -> JigError:
    from jig.cli import guess
    from jig.cli.grammar import Group
    from jig.errors import UsageError

    what = "option" if word.startswith("-") else "command"
    if isinstance(found.node, Group):
        known = [member.name for member in found.node.commands]
        close = guess.verb(found.node, word)
    else:
        known = [*SHORT, *NOUNS, "help"]
        close = guess.command(word)
    if what == "option":
        close = None
    advice = f"did you mean {close}?\n" if close else ""
    return UsageError(
        f"there is no {what} {found.path} {word}; the commands are {', '.join(known)}",
        f"{advice}usage: {found.path} COMMAND [options]",
    )


def _dispatch(words: list[str]) -> int:
    if words[:1] == ["--version"]:
        from jig import __version__

        print(f"jig {__version__}")
        return 0
    if words[:1] == ["__complete"]:
        from jig.cli.complete import answer

        return answer(words[1:])

    from jig.cli.grammar import Command, parse
    from jig.errors import JigError

    debug = False
    try:
        found = find(words)
        if found.help or not isinstance(found.node, Command):
            return _show_help(found, asked=found.help)
        args = parse(found.node, found.words, found.path)
        if args.flag("help"):
            return _show_help(found, asked=True)
        debug = args.flag("debug")
        return found.node.run(args)
    except JigError as error:
        if sys.stdout is not None:
            sys.stdout.flush()  # what was said before the error stands before it
        _report(error, debug)
        return error.exit_code
    except BrokenPipeError:
        raise
    except OSError as error:
        from jig.cli.refused import failure

        refused = failure(error)
        if refused is None:
            raise
        _report(refused.with_traceback(error.__traceback__), debug)
        return refused.exit_code


def _show_help(found: Found, asked: bool) -> int:
    """Help that was asked for goes to stdout; a command line that stops short is a mistake, and gets it on stderr."""
    from jig.cli.grammar import Group
    from jig.cli.help import command_help, described, group_help, overview
    from jig.cli.terminal import width_of

    stream = sys.stdout if asked else sys.stderr
    width = width_of(stream)
    if found.node is None:
        sections = [
            (heading, [(name, described(load(name) if name in NOUNS else _short(name))) for name in names])
            for heading, names in SECTIONS
        ]
        text = overview(sections, width)
    elif isinstance(found.node, Group):
        text = group_help(found.node, found.path, width)
    else:
        text = command_help(found.node, found.path, width, found.also)
    if stream is not None:
        stream.write(text)
    return 0 if asked else 2


def _report(error: JigError, debug: bool) -> None:
    """Tell a person what went wrong and what to do."""
    if sys.stderr is None:
        return
    from jig.cli.terminal import coloured, printable

    if debug:
        import traceback

        traceback.print_exception(error)
    keep = "\n\t"
    text = f"{coloured('error:', 'red', sys.stderr)} {printable(error.message, keep)}\n"
    if error.hint:
        text += f"\n{coloured('hint:', 'cyan', sys.stderr)} {printable(error.hint, keep)}\n"
    sys.stderr.write(text)


def _show_what_cannot_be_encoded(stream: TextIO | None) -> None:
    """A character that the stream's encoding lacks is written as an escape, it does not end the command."""
    import io

    if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
        stream.reconfigure(errors="backslashreplace")


def _reader_is_gone(stream: TextIO | None) -> bool:
    """Whether nobody reads this pipe any more; a broken pipe of another kind is not ours to hide."""
    if stream is None:
        return False
    try:
        stream.flush()
    except BrokenPipeError:
        return True
    if sys.platform == "win32":  # no poll there, and the flush has told already
        return False
    import select

    try:
        descriptor = stream.fileno()
    except OSError:  # a stream in memory
        return False
    poll = select.poll()
    poll.register(descriptor, 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def _is_full(error: OSError) -> bool:
    """A full disk is not a bug, wherever it is met."""
    import errno

    return error.errno in (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))


def _report_full(error: OSError) -> int:
    from jig.errors import JigError

    place = f" ({error.filename})" if error.filename else ""
    failure = JigError(
        f"nothing more could be written: {error.strerror}{place}",
        "make room on the disk that jig, or the output of this command, is written to",
    )
    _report(failure, debug=False)
    return failure.exit_code


def _flush(code: int) -> int:
    """Write out what is still held back; the exit code, or another one when that was not possible."""
    for stream in (sys.stdout, sys.stderr):
        if stream is None:
            continue
        try:
            stream.flush()
        except OSError as error:
            # The interpreter flushes once more when it ends, and would complain.
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            if not isinstance(error, BrokenPipeError):
                code = _report_full(error)
            elif code != INTERRUPTED:
                code = READER_GONE
    return code
