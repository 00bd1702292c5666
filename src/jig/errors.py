"""Every error a person can cause or meet, in one tree.

    JigError              something jig could not do; exit code 125
    ├── UsageError        a mistake on the command line; exit code 2
    ├── ProjectError      faults in the project's files, all of them at once
    ├── SnapshotError     the code could not be frozen
    ├── PackagesError     the packages that a run needs cannot be had
    ├── StoreError        a run or the record could not be found, read or written
    └── MachineError      the machine, or the runner on it, could not be reached or refused

Anything else that escapes is a bug and keeps its traceback.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class JigError(Exception):
    """A failure with a message that says what was found and a hint that says what to do."""

    exit_code = 125

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(JigError):
    """A mistake on the command line."""

    exit_code = 2


class SnapshotError(JigError):
    """The project's code could not be frozen."""


class PackagesError(JigError):
    """The packages that a run needs do not fit together, or cannot be had."""


class StoreError(JigError):
    """A run, or the record of runs, could not be found, read or written."""


class MachineError(JigError):
    """The machine, or the runner on it, could not be reached, or refused."""


class Fault:
    """One thing wrong in one place of a project file."""

    __slots__ = ("file", "fix", "key", "line", "message")

    def __init__(self, file: str, line: int, key: str, message: str, fix: str = "") -> None:
        self.file = file
        self.line = line
        self.key = key
        self.message = message
        self.fix = fix

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        text = f"{place}: {self.message}"
        return f"{text}\n    fix: {self.fix}" if self.fix else text


class ProjectError(JigError):
    """Faults in the project's files: every one of them, in the order they stand there."""

    def __init__(self, faults: Sequence[Fault], hint: str = "") -> None:
        self.faults = tuple(faults)
        count = len(self.faults)
        head = "a project file has a fault" if count == 1 else f"the project's files have {count} faults"
        super().__init__(head + "\n" + "\n".join(f"  {fault}" for fault in self.faults), hint)


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known name that `word` most likely meant, or None."""
    from difflib import get_close_matches  # imported here: only a person who mistyped pays for it

    by_fold = {name.casefold(): name for name in known}
    found = get_close_matches(word.casefold(), by_fold, n=1, cutoff=0.6)
    return by_fold[found[0]] if found else None
