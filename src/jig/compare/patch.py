"""A patch as git writes it, from frozen files alone: `git apply` takes it."""

from __future__ import annotations

from jig.compare.files import Change, content
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Blocks = list[tuple[int, int, int, int]]

CONTEXT = 3
LOOKED_AT = 8000  # git calls a file binary that has a NUL in so many of its first bytes
MOST_LINES = 20_000  # of the part that differs: longer ones are shown as replaced, for finding out more takes minutes
NOTHING = "0" * 40
NO_END = b"\\ No newline at end of file\n"
_ESCAPES = {7: "a", 8: "b", 9: "t", 10: "n", 11: "v", 12: "f", 13: "r", 34: '"', 92: "\\"}


class Patch(Value):
    """What a patch says of one file."""

    change: Change
    text: bytes
    added: int
    deleted: int
    binary: bool


def patch(change: Change, old: Callable[[str], bytes], new: Callable[[str], bytes]) -> Patch:
    """The part of a patch for one file; `old` and `new` give the bytes of a blob on their side."""
    before, after = content(change.old, old), content(change.new, new)
    ours, theirs = quoted(f"a/{change.path}"), quoted(f"b/{change.path}")
    head = b"diff --git " + ours + b" " + theirs + b"\n" + _modes(change)
    if before == after:
        return Patch(change, head + (_index(change, before, after) if change.kind != "mode" else b""), 0, 0, False)
    head += _index(change, before, after)
    if b"\0" in before[:LOOKED_AT] or b"\0" in after[:LOOKED_AT]:
        return Patch(change, head + b"GIT binary patch\n" + _literal(after) + _literal(before), 0, 0, True)
    lines, added, deleted = _hunks(_lines(before), _lines(after))
    head += b"--- " + (_ended(ours) if change.old else b"/dev/null") + b"\n"
    head += b"+++ " + (_ended(theirs) if change.new else b"/dev/null") + b"\n"
    return Patch(change, head + lines, added, deleted, False)


def _modes(change: Change) -> bytes:
    if change.old is None and change.new is not None:
        return b"new file mode %o\n" % change.new.mode
    if change.new is None and change.old is not None:
        return b"deleted file mode %o\n" % change.old.mode
    if change.old is not None and change.new is not None and change.old.mode != change.new.mode:
        return b"old mode %o\nnew mode %o\n" % (change.old.mode, change.new.mode)
    return b""


def _index(change: Change, before: bytes, after: bytes) -> bytes:
    """The names that git has for both contents: of a binary file `git apply` asks for them, whole."""
    names = [git_name(data) if there else NOTHING for data, there in ((before, change.old), (after, change.new))]
    same = change.old is not None and change.new is not None and change.old.mode == change.new.mode
    mode = b" %o" % change.old.mode if same and change.old is not None else b""
    return b"index " + "..".join(names).encode() + mode + b"\n"


def git_name(data: bytes, kind: str = "sha1") -> str:
    """What git calls a file with these bytes."""
    import hashlib

    return hashlib.new(kind, b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def quoted(name: str) -> bytes:
    """A path as git writes it: in quotes where it has characters that would be misread."""
    raw = name.encode("utf-8", "surrogateescape")
    if not any(byte < 32 or byte in (34, 92, 127) for byte in raw):
        return raw
    parts = [
        f"\\{_ESCAPES[byte]}".encode() if byte in _ESCAPES else b"\\%03o" % byte if byte < 32 or byte == 127
        else bytes((byte,))
        for byte in raw
    ]  # fmt: skip
    return b'"' + b"".join(parts) + b'"'


def _ended(name: bytes) -> bytes:
    """With a tab behind a name that has a space, so that no reader takes the rest for a date."""
    return name + b"\t" if b" " in name and not name.startswith(b'"') else name


def _literal(data: bytes) -> bytes:
    """A whole file in git's own letters: packed, 52 bytes a line, each with its length before it."""
    import base64
    import zlib

    packed, lines = zlib.compress(data, 9), [b"literal %d\n" % len(data)]
    for at in range(0, len(packed), 52):
        piece = packed[at : at + 52]
        length = len(piece) + (64 if len(piece) <= 26 else 70)  # A to Z are 1 to 26, a to z the rest
        lines.append(bytes((length,)) + base64.b85encode(piece, pad=True) + b"\n")
    return b"".join(lines) + b"\n"


def _lines(data: bytes) -> list[bytes]:
    """The lines with their ends; only `\\n` ends one, as with git."""
    lines = [line + b"\n" for line in data.split(b"\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _hunks(old: list[bytes], new: list[bytes]) -> tuple[bytes, int, int]:
    """The hunks, and how many lines came and went."""
    text, added, deleted = [], 0, 0
    for group in _groups(old, new):
        (first, _, _, _), (_, last, _, _) = group[0], group[-1]
        start, end = group[0][2], group[-1][3]
        text.append(b"@@ -%s +%s @@\n" % (_range(first, last), _range(start, end)))
        for at, (i, j, k, m) in enumerate(group):
            text += (_shown(b" ", line) for line in old[i:j]) if at % 2 == 0 else ()
            if at % 2:
                text += [*(_shown(b"-", line) for line in old[i:j]), *(_shown(b"+", line) for line in new[k:m])]
                deleted, added = deleted + j - i, added + m - k
    return b"".join(text), added, deleted


def _shown(mark: bytes, line: bytes) -> bytes:
    return mark + line if line.endswith(b"\n") else mark + line + b"\n" + NO_END


def _range(start: int, end: int) -> bytes:
    length = end - start
    begin = start + 1 if length else start
    return b"%d" % begin if length == 1 else b"%d,%d" % (begin, length)


def _groups(old: list[bytes], new: list[bytes]) -> Iterator[Blocks]:
    """Hunks as blocks (from, to, from, to): the same lines and different ones take turns, the same ones first."""
    group: Blocks = []
    at_old = at_new = 0
    for i, j, k, m in _differences(old, new):
        between = i - at_old
        if group and between > 2 * CONTEXT:
            yield [*group, (at_old, at_old + CONTEXT, at_new, at_new + CONTEXT)]
            group = []
        before = between if group else min(between, CONTEXT)
        group += [(i - before, i, k - before, k), (i, j, k, m)]
        at_old, at_new = j, m
    if group:
        after = min(CONTEXT, len(old) - at_old)
        yield [*group, (at_old, at_old + after, at_new, at_new + after)]


def _differences(old: list[bytes], new: list[bytes]) -> Iterator[tuple[int, int, int, int]]:
    """The parts that differ, in order."""
    head = 0
    shorter = min(len(old), len(new))
    while head < shorter and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < shorter - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    a, b = old[head : len(old) - tail], new[head : len(new) - tail]
    if not a or not b or len(a) + len(b) > MOST_LINES:
        if a or b:
            yield head, head + len(a), head, head + len(b)
        return
    from difflib import SequenceMatcher

    for word, i, j, k, m in SequenceMatcher(None, a, b, autojunk=len(a) + len(b) > 2000).get_opcodes():
        if word != "equal":
            yield head + i, head + j, head + k, head + m
