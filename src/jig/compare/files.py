"""Which files differ between two lists of frozen files, and how."""

from __future__ import annotations

from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

LINK = 0o120000
PLAIN, PROGRAM = 0o100644, 0o100755


class Side(Value):
    """A file on one side of a comparison, as git knows files: its mode, and the name of its bytes."""

    mode: int
    blob: str  # of a link: where it leads, behind a `>`


class Change(Value):
    """One file that differs; a side is None where the file is not there."""

    path: str
    old: Side | None
    new: Side | None

    @property
    def kind(self) -> str:
        """What happened to it, in a word."""
        if self.old is None:
            return "new"
        if self.new is None:
            return "deleted"
        return "changed" if self.old.blob != self.new.blob else "mode"


def side(entry: list[Any]) -> Side | None:
    """The entry of a manifest as git would know it; None for an empty folder, which git does not."""
    if entry[0] == "f":
        return Side(PROGRAM if entry[2] & 0o100 else PLAIN, entry[4])
    return Side(LINK, f">{entry[2]}") if entry[0] == "l" else None


def changes(old: Iterable[list[Any]], new: Iterable[list[Any]]) -> list[Change]:
    """What differs, by path. A file that became a link, or the other way round, is one deleted and one new."""
    before, after = _by_path(old), _by_path(new)
    found = []
    for path in sorted(before.keys() | after.keys()):
        then, now = before.get(path), after.get(path)
        if then == now:
            continue
        if then is not None and now is not None and (then.mode == LINK) != (now.mode == LINK):
            found += [Change(path, then, None), Change(path, None, now)]
        else:
            found.append(Change(path, then, now))
    return found


def blobs(sides: Iterable[Side | None]) -> list[str]:
    """The blobs that the bytes of these are in; links have none."""
    return [one.blob for one in sides if one is not None and one.mode != LINK]


def _by_path(entries: Iterable[list[Any]]) -> dict[str, Side]:
    sides = ((entry[1], side(entry)) for entry in entries)
    return {path: found for path, found in sides if found is not None}


def content(found: Side | None, read: Callable[[str], bytes]) -> bytes:
    """The bytes of a side; of a link where it leads, as git has it."""
    if found is None:
        return b""
    if found.mode == LINK:
        return found.blob[1:].encode("utf-8", "surrogateescape")
    return read(found.blob)
