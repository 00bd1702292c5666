"""Metric lines into arrays of numbers: a whole chunk at a time where its lines are alike, else line by line.

What counts as a line is what `runs.read_metrics` says: it ends with a newline, is a JSON object, and its `values` are
one too. The fast way takes exactly those numbers that JSON allows, so that both ways tell the same.
"""

from __future__ import annotations

import re
from array import array

from jig.runner.quick_json import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    Key: TypeAlias = tuple[str, str]  # nested run ("" for the run itself), name

MOST_SHAPES = 8
FEW = 8  # lines that stand around one of a rare shape, at least, so that it is worth while to read around it
NAN = float("nan")
# Numbers as JSON has them, and as Python reads them without an error: not of thousands of digits.
INTEGER = rb"-?+(?:0|[1-9][0-9]{0,99}+)"
DECIMAL = INTEGER + rb"(?:\.[0-9]++)?+(?:[eE][-+]?+[0-9]++)?+"
MEASURED = rb"(?:" + DECIMAL + rb"|NaN|-?Infinity)"
# A step or a time that is not finite counts as not given: these cannot be anything else.
KINDS = {"time": INTEGER + rb"(?:\.[0-9]++)?+", "step": INTEGER + rb"(?:\.[0-9]++)?+"}
TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+"|(' + MEASURED + rb")")


class Column:
    """The points of one name in the order of the file. A step that was not given is NaN until it is `settled`."""

    __slots__ = ("gaps", "steps", "times", "values")

    def __init__(self) -> None:
        self.steps, self.times, self.values = array("d"), array("d"), array("d")
        self.gaps = False  # whether some step was not given

    def extend(self, later: Column) -> None:
        """Put the points of a later part of the file behind these."""
        later.settle(len(self.values))
        self.steps += later.steps
        self.times += later.times
        self.values += later.values

    def settle(self, before: int) -> None:
        """Where no step was given it is the number of points before it; `before` of them are in earlier parts."""
        if not self.gaps:
            return
        self.gaps = False
        counted = array("d", range(before, before + len(self.values)))
        if any(step == step for step in self.steps):
            counted = array(
                "d", [step if step == step else count for step, count in zip(self.steps, counted, strict=True)]
            )
        self.steps = counted


class Curves:
    """What a metrics file, or a part of it, tells: the points of each name, and which names had no numbers."""

    __slots__ = ("columns", "kinds", "times")

    def __init__(self, times: bool) -> None:
        self.times = times  # whether the columns have them: of all that is in a line a time takes longest to read
        self.columns: dict[Key, Column] = {}
        self.kinds: dict[Key, str] = {}  # of names that had a value that is no number

    def column(self, key: Key) -> Column:
        """The points of a name, none where it is new."""
        column = self.columns.get(key)
        if column is None:
            column = self.columns[key] = Column()
        return column

    def extend(self, later: Curves) -> None:
        """Put what a later part of the file told behind this."""
        for key, column in later.columns.items():
            self.column(key).extend(column)
        self.kinds.update(later.kinds)


class Shape:
    """Lines that differ in nothing but their numbers, as one expression with a group for each number that counts."""

    __slots__ = ("columns", "find", "keys", "number", "step", "time")

    def __init__(self, pattern: bytes, run: str, groups: list[tuple[str, str]], whole_steps: bool) -> None:
        """`groups` are `time`, `step`, and `values` with a name each."""
        self.find = re.compile(pattern)
        places = {where: place for place, (where, _) in enumerate(groups)}
        self.time, self.step = places.get("time", -1), places.get("step", -1)
        self.number: type[int] | type[float] = int if whole_steps else float  # int is the faster of the two
        self.columns = [((run, name), place) for place, (where, name) in enumerate(groups) if where == "values"]
        self.keys = {key for key, _ in self.columns}


def shape_of(line: bytes, times: bool) -> Shape | None:
    """The shape of a line (without its newline); None for one that has more than numbers to tell."""
    try:
        entry = loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(entry, dict) or not isinstance(entry.get("values"), dict):
        return None
    meant = _numbers(entry)
    literals, numbers, end = [], [], 0
    for token in TOKEN.finditer(line):
        if token.group(1) is not None:
            literals.append(re.escape(line[end : token.start()]))
            numbers.append(token.group(1))
            end = token.end()
    if meant is None or len(meant) != len(numbers):  # fewer are meant than stand there: a key stands there twice
        return None
    run, pattern, groups, whole_steps = entry.get("run", ""), b"\n", [], False
    for literal, (where, name), number in zip(literals, meant, numbers, strict=True):
        kept = where in ("values", "step") or (where == "time" and times)
        whole_steps = whole_steps or (where == "step" and number.lstrip(b"-").isdigit())
        kind = (
            MEASURED if where == "values" else INTEGER if whole_steps and where == "step" else KINDS.get(where, DECIMAL)
        )
        pattern += literal + (b"(" + kind + b")" if kept else kind)
        groups += [(where, name)] if kept else []
    pattern += re.escape(line[end:]) + rb"(?=\n)"
    if not isinstance(run, str):
        return None
    shape = Shape(pattern, run, groups, whole_steps)
    return shape if shape.columns and shape.find.match(b"\n" + line + b"\n") else None


def _numbers(entry: dict[str, Any]) -> list[tuple[str, str]] | None:
    """Where each number of a line stands, in order; None when there are values that are no numbers, or lists."""
    found = []
    for key, value in entry.items():
        if key == "values":
            if any(type(number) not in (int, float) for number in value.values()):
                return None
            found += [(key, name) for name in value]
        elif type(value) in (int, float):
            found.append((key, ""))
        elif not isinstance(value, str):
            return None
    return found


class Lines:
    """Takes in chunks of a metrics file, in order; what they told is in `curves`."""

    def __init__(self, times: bool) -> None:
        self.curves = Curves(times)
        self._shapes: list[Shape] = []

    def take(self, chunk: bytes) -> None:
        """A chunk of whole lines."""
        found, strange = self._sort_out(chunk)
        keys = [key for shape, _ in found for key in shape.keys]
        if 2 * len(strange) > chunk.count(b"\n") or not _are_apart(keys, strange):
            self._take_slowly(chunk.split(b"\n"))
        elif len(set(keys)) < len(keys):
            self._take_around(chunk, *min(found, key=lambda one: len(one[1])))
        else:
            self._take_slowly(strange)
            for shape, rows in found:
                self._add(shape, rows)

    def _take_around(self, chunk: bytes, shape: Shape, rows: list[Any]) -> None:
        """A name stands in lines of two shapes, and their order counts: what is between those of the rarer one."""
        if len(rows) * FEW > chunk.count(b"\n"):
            self._take_slowly(chunk.split(b"\n"))
            return
        start = 0
        for line in shape.find.finditer(b"\n" + chunk):
            if line.start() > start:  # places in the chunk are one less: it has no newline before it
                self.take(chunk[start : line.start()])
            start = line.end()
            self._take_slowly([chunk[line.start() : start - 1]])
        if start < len(chunk):
            self.take(chunk[start:])

    def _sort_out(self, chunk: bytes) -> tuple[list[tuple[Shape, list[Any]]], list[bytes]]:
        """The numbers of the lines of each shape, and the lines that have none; new shapes are learned on the way."""
        text, left = b"\n" + chunk, chunk.count(b"\n")
        found: list[tuple[Shape, list[Any]]] = []
        while True:
            for shape in self._shapes[len(found) :]:
                found.append((shape, shape.find.findall(text) if left else []))
                left -= len(found[-1][1])
            rest = text if left else b""
            for shape, rows in found:
                rest = shape.find.sub(b"", rest) if rows and rest else rest
            strange = [line for line in rest.split(b"\n") if line]
            new = shape_of(strange[0], self.curves.times) if strange and len(self._shapes) < MOST_SHAPES else None
            if new is None:
                # The most frequent shape is looked for first: where it is all that there is, no other one is.
                found.sort(key=lambda one: -len(one[1]))
                self._shapes = [shape for shape, _ in found]
                return [(shape, rows) for shape, rows in found if rows], strange
            self._shapes.append(new)

    def _add(self, shape: Shape, rows: list[Any]) -> None:
        """The numbers of lines of one shape; of a single group there are no tuples."""
        groups = list(zip(*rows, strict=True)) if isinstance(rows[0], tuple) else [rows]
        steps = array("d", map(shape.number, groups[shape.step])) if shape.step >= 0 else array("d", [NAN]) * len(rows)
        times = array("d")
        if self.curves.times:
            times = array("d", map(float, groups[shape.time])) if shape.time >= 0 else array("d", [NAN]) * len(rows)
        for key, place in shape.columns:
            column = self.curves.column(key)
            column.steps += steps
            column.times += times
            column.values.extend(map(float, groups[place]))
            column.gaps = column.gaps or shape.step < 0

    def _take_slowly(self, lines: list[bytes]) -> None:
        for line in lines:
            entry = _entry(line)
            if entry is None:
                continue
            run, step, time = entry.get("run", ""), _finite(entry.get("step")), _finite(entry.get("time"))
            if not isinstance(run, str):  # nobody's: a nested run is named by its digits
                continue
            for name, value in entry["values"].items():
                if not isinstance(value, (int, float)):
                    self.curves.kinds[run, name] = kind_of(value)
                    continue
                column = self.curves.column((run, name))
                column.steps.append(step)
                column.gaps = column.gaps or step != step
                column.values.append(_float(value))
                if self.curves.times:
                    column.times.append(time)


def _are_apart(keys: list[Key], strange: list[bytes]) -> bool:
    """Whether these lines tell of none of these names."""
    names = {name for _, name in keys}
    entries = [_entry(line) for line in strange]
    return all(entry is None or names.isdisjoint(entry["values"]) for entry in entries)


def _entry(line: bytes) -> dict[str, Any] | None:
    """The line where it is one that tells values."""
    try:
        entry = loads(line)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) and isinstance(entry.get("values"), dict) else None


def _finite(value: object) -> float:
    """A step or a time; NaN for anything else."""
    if type(value) not in (int, float):
        return NAN
    number = _float(value)
    return number if number - number == 0.0 else NAN


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer of more than 308 digits
        return float("inf") if value > 0 else float("-inf")


def kind_of(value: object) -> str:
    """What a value is that is no number, in a word."""
    if isinstance(value, dict):
        return next((kind for kind in ("image", "table") if kind in value), "map")
    return "text" if isinstance(value, str) else "list" if isinstance(value, list) else "nothing"
