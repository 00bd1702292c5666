"""What was meant by a word that is no command: only a mistake loads this."""

from __future__ import annotations

from jig import cli
from jig.errors import nearest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jig.cli.grammar import Group

# Words of other tools, and what does the same here.
ELSEWHERE = {
    "run": "submit",
    "start": "submit",
    "train": "submit",
    "launch": "submit",
    "kill": "cancel",
    "stop": "cancel",
    "ps": "status",
    "tail": "logs -f",
    "ls": "history list",
    "runs": "history list",
    "rm": "history delete",
    "init": "project create",
    "new": "project create",
    "exec": "shell",
    "top": "gpu --watch",
    "ui": "workbench",
    "web": "workbench",
    "targets": "computetarget list",
}
WITHIN = {
    "ls": ("list",),
    "rm": ("delete", "detach"),
    "remove": ("delete", "detach"),
    "add": ("create", "attach"),
    "new": ("create", "attach"),
    "show": ("info",),
    "get": ("show", "info"),
    "start": ("run", "submit"),
    "stop": ("cancel",),
    "kill": ("cancel",),
}


def command(word: str) -> str | None:
    """What `jig WORD` most likely stands for: a verb without its noun, a word of another tool, a slip of the keys."""
    if word in ELSEWHERE:
        return f"jig {ELSEWHERE[word]}"
    exact = [f"jig {noun} {word}" for noun in cli.NOUNS if cli.load(noun).find(word) is not None]
    return " or ".join(exact) or nearest(word, [*cli.SHORT, *cli.NOUNS, "help"])


def verb(group: Group, word: str) -> str | None:
    """The same for a word behind a noun."""
    known = [member.name for member in group.commands]
    return next((name for name in WITHIN.get(word, ()) if name in known), None) or nearest(word, known)
