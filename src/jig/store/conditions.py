"""What a query asks of a run: each condition judges a record, and says the same in SQL over the index."""

from __future__ import annotations

import operator

from jig.store.keys import LOGGED, TEXT, Key, pair, raw
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence
    from typing import Any, Protocol

    class Condition(Protocol):
        """True or false of a run."""

        def matches(self, record: dict[str, Any]) -> bool:
            """Whether it is true of this record."""

        def sql(self, columns: Columns) -> tuple[str, list[Any]]:
            """The same as SQL, with the values of its parameters; NULL is as good as false."""


MOST_JOINS = 60  # SQLite takes 64 tables at once
OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}


class Columns:
    """The columns that a statement uses: those of `runs`, and one join for each name that runs have logged."""

    def __init__(self, known: Callable[[str, str], int | None]) -> None:
        """`known` has the index's number of a name, by space and name; None for one that no run has logged."""
        self._known = known
        self._joined: dict[int, str] = {}

    def of(self, key: Key) -> tuple[str, str, str]:
        """SQL for the key's number, its text, and whether a run has it."""
        if key.kind != LOGGED:
            column = f'runs."{key.name}"'
            there = f"{column} IS NOT NULL"
            return ("NULL", column, there) if key.kind == TEXT else (column, "NULL", there)
        found = [name for space in key.spaces if (name := self._known(space, key.name)) is not None]
        if not found:
            return "NULL", "NULL", "0"
        number, text, run = (self._cell(found[0], column) for column in ("number", "text", "run"))
        if len(found) == 1:
            return number, text, f"{run} IS NOT NULL"
        # What is no scalar has no text, and leaves its place to the other.
        number2, text2, run2 = (self._cell(found[1], column) for column in ("number", "text", "run"))
        number = f"CASE WHEN {text} IS NULL THEN {number2} ELSE {number} END"
        return number, f"ifnull({text}, {text2})", f"ifnull({run}, {run2}) IS NOT NULL"

    def _cell(self, name: int, column: str) -> str:
        if name not in self._joined and len(self._joined) == MOST_JOINS:
            return f"(SELECT {column} FROM cells WHERE name={name} AND run=runs.key)"
        return f"{self._joined.setdefault(name, f'c{len(self._joined)}')}.{column}"

    def joins(self) -> str:
        """What follows `FROM runs`."""
        return "".join(
            f" LEFT JOIN cells AS {alias} ON {alias}.name={name} AND {alias}.run=runs.key"
            for name, alias in self._joined.items()
        )


class Compare(Value):
    """A key's number or text against a value; false where the run has none."""

    key: Key
    side: str  # NUMBER or TEXT
    operator: str
    value: Any

    def matches(self, record: dict[str, Any]) -> bool:
        """Whether it is true of this record."""
        found = pair(raw(record, self.key), self.key.kind)[self.side == TEXT]
        return found is not None and OPERATORS[self.operator](found, self.value)

    def sql(self, columns: Columns) -> tuple[str, list[Any]]:
        """The same as SQL."""
        return f"{columns.of(self.key)[self.side == TEXT]} {self.operator} ?", [self.value]


class OneOf(Value):
    """A key's number or text is one of several."""

    key: Key
    side: str
    values: tuple[Any, ...]

    def matches(self, record: dict[str, Any]) -> bool:
        """Whether it is true of this record."""
        found = pair(raw(record, self.key), self.key.kind)[self.side == TEXT]
        return found is not None and found in self.values

    def sql(self, columns: Columns) -> tuple[str, list[Any]]:
        """The same as SQL."""
        places = ",".join("?" * len(self.values))
        return f"{columns.of(self.key)[self.side == TEXT]} IN ({places})", list(self.values)


class Like(Value):
    """A key's text is like a pattern, by one of FUNCTIONS; capital letters do not matter."""

    key: Key
    function: str
    pattern: str

    def matches(self, record: dict[str, Any]) -> bool:
        """Whether it is true of this record."""
        text = pair(raw(record, self.key), self.key.kind)[1]
        return bool(FUNCTIONS[self.function](text, self.pattern.casefold()))

    def sql(self, columns: Columns) -> tuple[str, list[Any]]:
        """The same as SQL; the index has the functions."""
        return f"{self.function}({columns.of(self.key)[1]}, ?)", [self.pattern.casefold()]


class Has(Value):
    """A run has the key."""

    key: Key

    def matches(self, record: dict[str, Any]) -> bool:
        """Whether it is true of this record."""
        return raw(record, self.key) is not None

    def sql(self, columns: Columns) -> tuple[str, list[Any]]:
        """The same as SQL."""
        return columns.of(self.key)[2], []


class Not(Value):
    """The opposite, also where the run lacks what is compared."""

    part: Condition

    def matches(self, record: dict[str, Any]) -> bool:
        """Whether it is true of this record."""
        return not self.part.matches(record)

    def sql(self, columns: Columns) -> tuple[str, list[Any]]:
        """The same as SQL."""
        text, values = self.part.sql(columns)
        return f"NOT ifnull({text}, 0)", values


class All(Value):
    """Every part is true."""

    parts: tuple[Condition, ...]

    def matches(self, record: dict[str, Any]) -> bool:
        """Whether it is true of this record."""
        return all(part.matches(record) for part in self.parts)

    def sql(self, columns: Columns) -> tuple[str, list[Any]]:
        """The same as SQL."""
        return _joined(" AND ", self.parts, columns)


class Some(Value):
    """Some part is true."""

    parts: tuple[Condition, ...]

    def matches(self, record: dict[str, Any]) -> bool:
        """Whether it is true of this record."""
        return any(part.matches(record) for part in self.parts)

    def sql(self, columns: Columns) -> tuple[str, list[Any]]:
        """The same as SQL."""
        return _joined(" OR ", self.parts, columns)


def _joined(word: str, parts: Sequence[Condition], columns: Columns) -> tuple[str, list[Any]]:
    texts, values = zip(*(part.sql(columns) for part in parts), strict=True)
    return f"({word.join(texts)})", [value for some in values for value in some]


def contains(text: str | None, part: str) -> bool | None:
    """Whether the text holds the part, which is in small letters."""
    return None if text is None else part in text.casefold()


def is_like(text: str | None, pattern: str) -> bool | None:
    """Whether the text is like the pattern, which is in small letters; % stands for anything."""
    if text is None:
        return None
    text = text.casefold()
    first, *rest = pattern.split("%")
    if not rest:
        return text == pattern
    *middle, last = rest
    place, end = len(first), len(text) - len(last)
    if place > end or not text.startswith(first) or not text.endswith(last):
        return False
    for part in middle:
        place = text.find(part, place, end)
        if place < 0:
            return False
        place += len(part)
    return True


FUNCTIONS = {"contains": contains, "is_like": is_like}


def give_functions(db: sqlite3.Connection) -> None:
    """What the SQL of conditions calls."""
    for name, function in FUNCTIONS.items():
        db.create_function(name, 2, function, deterministic=True)
