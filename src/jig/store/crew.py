"""Looking at very many runs: several processes take turns, each a few hundred runs at a time."""

from __future__ import annotations

import marshal
import os
import sys

from jig.store.looking import Look, first_look

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import BinaryIO, TypeAlias

    Run: TypeAlias = tuple[str, str]  # id and folder

assert sys.platform != "win32"  # nothing of this exists there

MOST_PROCESSES = 4
TURN = 250


def look_at_all(runs: Sequence[Run], tell: Callable[[str], None]) -> Iterator[Look]:
    """A look at each, in their order. What a process does not deliver is looked at by this one."""
    turns = [runs[start : start + TURN] for start in range(0, len(runs), TURN)]
    count = min(MOST_PROCESSES, os.cpu_count() or 1, len(turns))
    members: list[_Member] = []
    try:
        for number in range(count):
            members.append(_Member(turns[number::count], [member.file for member in members]))
        for number, turn in enumerate(turns):
            yield from members[number % count].next(turn, tell)
    finally:
        for member in members:
            member.leave()


class _Member:
    """A process that looks at some of the runs, and what it has found."""

    def __init__(self, turns: Sequence[Sequence[Run]], others: Sequence[BinaryIO]) -> None:
        read, write = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            code = 1
            try:
                os.close(read)
                for other in others:
                    other.close()
                _work(write, turns)
                code = 0
            finally:
                os._exit(code)  # nothing of this process's may run on in the child
        os.close(write)
        self.file: BinaryIO = os.fdopen(read, "rb")

    def next(self, turn: Sequence[Run], tell: Callable[[str], None]) -> Iterator[Look]:
        """What it has found in its next turn."""
        head = self.file.read(8)
        size = int.from_bytes(head, "little")
        data = self.file.read(size) if len(head) == 8 else b""
        if len(head) < 8 or len(data) < size:
            yield from (found for run in turn if (found := first_look(*run, tell)) is not None)
            return
        found, told = marshal.loads(data)
        for text in told:
            tell(text)
        yield from (Look(*one) for one in found)

    def leave(self) -> None:
        """End it: with its pipe closed it has nobody to work for."""
        self.file.close()
        os.waitpid(self._pid, 0)


def _work(write: int, turns: Sequence[Sequence[Run]]) -> None:
    with os.fdopen(write, "wb") as out:
        for turn in turns:
            told: list[str] = []
            found = [tuple(one) for run in turn if (one := first_look(*run, told.append)) is not None]
            data = marshal.dumps((found, told))
            out.write(len(data).to_bytes(8, "little") + data)
            out.flush()
