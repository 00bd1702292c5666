"""Reading a long series for its last values: of lines that differ only in their numbers, only the last is read.

A million lines have few shapes, such as `{"time": N, "step": N, "values": {"loss": N}}`. Shapes become one regular
expression that steps over all lines of known shapes, and its groups tell where the last of each was.
"""

from __future__ import annotations

import re

from jig.store.logged import parsed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

# Whatever is made of these characters and can be read, is a number (NaN and the infinities too).
NUMBER = rb"[-+.0-9eEINafinty]++"
IN_PLACE = re.compile(rb'(?<=": )' + NUMBER + rb"(?=[,}])")
HEAD = re.compile(rb'.*?"values": \{')
MOST_SHAPES = 100
SHAPED = {"time", "step", "values"}


class Skipping:
    """Reads one file, and knows the shapes that its lines have had."""

    def __init__(self) -> None:
        self._shapes: dict[bytes, dict[bytes, None]] = {}  # what lines begin with, each with what may follow
        self._count = 0
        self._stepping: re.Pattern[bytes] | None = None

    def entries(self, data: bytes) -> Iterator[dict[str, Any]]:
        """Entries of these lines, in their order, that fold to the same as all do, with names in the same order."""
        place, end = 0, len(data)
        while place < end:
            stepped = self._stepping.match(data, place) if self._stepping else None
            if stepped is not None and stepped.end() > place:
                yield from _last_of_each(data, stepped)
                place = stepped.end()
            line = data[place : data.find(b"\n", place) + 1]
            place += len(line) or end
            entry = parsed(line)
            if entry is not None:
                yield entry
                self._learn(line, entry)

    def _learn(self, line: bytes, entry: dict[str, Any]) -> None:
        """Note the shape of a line; one that comes again is worth an expression."""
        shape = _shape(line, entry) if self._count < MOST_SHAPES else None
        if shape is None:
            return
        head, tail = shape
        tails = self._shapes.setdefault(head, {})
        if tail not in tails:
            tails[tail] = None
            self._count += 1
            return
        known = (
            head + b"(?:" + b"|".join(b"(%b)" % tail for tail in tails) + b")" for head, tails in self._shapes.items()
        )
        self._stepping = re.compile(b"(?:" + b"|".join(known) + b")*")


def _last_of_each(data: bytes, stepped: re.Match[bytes]) -> list[dict[str, Any]]:
    """The last entry of each shape among the lines that were stepped over."""
    last = sorted(stepped.span(group) for group in range(1, stepped.re.groups + 1))
    found = [parsed(data[data.rfind(b"\n", 0, start) + 1 : end]) for start, end in last if start >= 0]
    if None in found:  # no number after all: what stands before it counts
        found = [parsed(line) for line in stepped[0].split(b"\n")]
    return [entry for entry in found if entry is not None]


def _shape(line: bytes, entry: dict[str, Any]) -> tuple[bytes, bytes] | None:
    """Expressions for the halves of this line and of those that differ in numbers only; None where none is safe."""
    values = entry.get("values")
    if b"\\" in line or not isinstance(values, dict) or not SHAPED.issuperset(entry):  # a quote may be part of a name
        return None
    numbers = [entry.get("time", 0), entry.get("step", 0), *values.values()]
    if any(isinstance(number, bool) or not isinstance(number, (int, float)) for number in numbers):
        return None
    head = HEAD.match(line)
    if (
        head is None or len(IN_PLACE.findall(line)) != len(values) + len(entry) - 1
    ):  # something in a name looks like one
        return None
    return _expression(head[0]), _expression(line[head.end() :])


def _expression(part: bytes) -> bytes:
    return NUMBER.join(map(re.escape, IN_PLACE.split(part)))
