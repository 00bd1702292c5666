"""The query language: `accuracy > 0.9 and target = "my_dsvm"`, read without `eval`, judged here or as SQL."""

from __future__ import annotations

import re
import time

from jig.errors import UsageError, nearest
from jig.store import keys, literals
from jig.store.comparisons import compare, one_of
from jig.store.conditions import All, Has, Like, Not, Some
from jig.store.keys import LOGGED, TEXT
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jig.store.conditions import Columns, Condition
    from jig.store.literals import Literal

WORDS = ("and", "or", "not", "in", "is", "null", "like", "true", "false")
SIGNS = {"==": "=", "<>": "!="}
TOKEN = re.compile(
    r"""\s*(?:
      (?P<sign><=|>=|==|!=|<>|!~|[=<>~(),])
    | (?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
    | (?P<key>(?:[^\W\d][\w/@:-]*\.)?`(?:[^`]|``)*` | [^\W\d][\w./@:-]*)
    | (?P<number>[-+]?\.?\d[\w.:+-]*)
    )""",
    re.VERBOSE | re.DOTALL,
)
ELSEWHERE = {"&": "write `and`", "|": "write `or`", "!": "write `not`, or != between two values"}
ANOTHER = 'a query is like  accuracy > 0.9 and target = "gpu_box"  (docs/reference/query.md has the language)'
LONGEST_SHOWN = 70  # of a query around a mistake
MOST_CONDITIONS, MOST_VALUES, DEEPEST = 50, 900, 30  # what SQLite takes at once


class Expression(Value):
    """A query that was read."""

    text: str
    condition: Condition
    keys: tuple[keys.Key, ...]

    def matches(self, record: dict[str, Any]) -> bool:
        """Whether it is true of this record."""
        return self.condition.matches(record)

    def sql(self, columns: Columns) -> tuple[str, list[Any]]:
        """A condition over the index, and the values of its parameters."""
        return self.condition.sql(columns)

    def names(self, *wanted: str) -> bool:
        """Whether one of these keys is asked about."""
        return any(key.kind != LOGGED and key.name in wanted for key in self.keys)


def parse(text: str, now: float | None = None) -> Expression:
    """The query that the text is; UsageError with the place where it is none. Times such as -2d are before `now`."""
    reader = _Reader(text, time.time() if now is None else now)
    condition = reader.either(0)
    if reader.kind:
        raise reader.mistake("this does not belong here", "join conditions with `and` or `or`")
    if reader.values > MOST_VALUES or len(reader.keys) > MOST_CONDITIONS:
        raise UsageError(
            f"a query has at most {MOST_CONDITIONS} conditions and {MOST_VALUES} values, "
            f"not {len(reader.keys)} and {reader.values}"
        )
    return Expression(text, condition, tuple(reader.keys))


class _Reader:
    """Reads one token ahead."""

    def __init__(self, text: str, now: float) -> None:
        self._text = text
        self._now = now
        self._next = 0
        self.kind = self.token = self.word = ""
        self.start = 0
        self.keys: list[keys.Key] = []
        self.values = 0
        self.step()

    def step(self) -> None:
        """Go on to the next token; its kind is empty at the end."""
        found = TOKEN.match(self._text, self._next)
        if found is None:
            self.kind, self.token, self.word = "", "", ""
            rest = self._text[self._next :]
            self.start = self._next + len(rest) - len(rest.lstrip())
            if rest.strip():
                character = self._text[self.start]
                if character in "\"'`":
                    raise self.mistake(f"a closing {character} is missing")
                raise self.mistake("this character has no meaning here", ELSEWHERE.get(character, ""))
            return
        self.kind = found.lastgroup or ""
        self.token = found[self.kind]
        self.start, self._next = found.start(self.kind), found.end()
        self.word = self.token.lower() if self.kind == "key" and self.token.lower() in WORDS else ""

    def mistake(self, what: str, hint: str = "", at: int | None = None) -> UsageError:
        """The error that points at a place in the text."""
        return mistake(self._text, self.start if at is None else at, what, hint)

    def either(self, depth: int) -> Condition:
        """Conditions joined with `or`."""
        parts = [self.both(depth)]
        while self.word == "or":
            self.step()
            parts.append(self.both(depth))
        return Some(tuple(parts)) if len(parts) > 1 else parts[0]

    def both(self, depth: int) -> Condition:
        """Conditions joined with `and`."""
        parts = [self.one(depth)]
        while self.word == "and":
            self.step()
            parts.append(self.one(depth))
        return All(tuple(parts)) if len(parts) > 1 else parts[0]

    def one(self, depth: int) -> Condition:
        """A comparison, one in parentheses, or the opposite of one."""
        if depth > DEEPEST:
            raise self.mistake(f"this is deeper than {DEEPEST} levels")
        if self.word == "not":
            self.step()
            return Not(self.one(depth + 1))
        if self.token == "(":
            self.step()
            inner = self.either(depth + 1)
            if self.token != ")":
                raise self.mistake("a closing parenthesis is missing")
            self.step()
            return inner
        return self.comparison()

    def comparison(self) -> Condition:
        """`key = value` and its like."""
        is_name = self.kind == "key" and not self.word
        if not is_name:
            hint = "a name with other characters stands in backquotes: `Regularization Rate` > 0.1"
            raise self.mistake("the name of a key, metric or parameter was expected", hint)
        key = keys.named(self.token)
        if key.kind == LOGGED and len(key.spaces) > 1 and key.name in keys.ONLY_SHOWN:
            raise self.mistake(f"{key.name} holds several values", f"name one of them: {key.name}.…")
        self.keys.append(key)
        self.step()
        if self.word == "is":
            return self._null(key)
        opposite = self.word == "not"
        if opposite:
            self.step()
        found = self._compared(key, opposite)
        return All((Has(key), Not(found))) if opposite else found  # false, as every comparison, where there is no value

    def _null(self, key: keys.Key) -> Condition:
        self.step()
        opposite = self.word == "not"
        if opposite:
            self.step()
        if self.word != "null":
            raise self.mistake("`null` was expected", f"{key.written} is null, or {key.written} is not null")
        self.step()
        return Has(key) if opposite else Not(Has(key))

    def _compared(self, key: keys.Key, opposite: bool) -> Condition:
        sign = SIGNS.get(self.token, self.token) if self.kind == "sign" else self.word
        if sign == "in":
            self.step()
            return self._one_of(key)
        if sign in ("~", "!~", "like"):
            self.step()
            found = Like(key, "is_like" if sign == "like" else "contains", self._pattern(key))
            return All((Has(key), Not(found))) if sign == "!~" else found
        if opposite or sign not in ("=", "!=", ">", ">=", "<", "<="):
            wanted = "in or like" if opposite else "=, !=, >, >=, <, <=, ~, like, in or is"
            raise self.mistake(f"{wanted} was expected after {key.written}")
        self.step()
        value = self._value()
        return self._judged(key, sign, value)

    def _judged(self, key: keys.Key, sign: str, value: Literal) -> Condition:
        if (key.kind, key.name, value.kind) == (TEXT, "status", TEXT) and sign in ("=", "!="):
            self._must_be_a_state(value)
        try:
            return compare(key, sign, value, self._now)
        except ValueError as error:
            raise self.mistake(str(error.args[0]), error.args[1], value.at) from None

    def _must_be_a_state(self, value: Literal) -> None:
        """A word that is never a state would find nothing, or everything, without a word."""
        from jig.store.runs import STATES

        if value.value not in STATES.values():
            close = nearest(value.value, STATES.values())
            known = f"the states are {', '.join(STATES.values())}"
            raise self.mistake("this is no state of a run", f'did you mean "{close}"?' if close else known, value.at)

    def _one_of(self, key: keys.Key) -> Condition:
        if self.token != "(":
            raise self.mistake("a parenthesis was expected", f'{key.written} in ("a", "b")')
        found: list[Condition] = []
        self.step()
        while True:
            found.append(self._judged(key, "=", self._value()))
            if self.token == ")":
                self.step()
                return one_of(found)
            if self.token != ",":
                raise self.mistake("a comma or a closing parenthesis was expected")
            self.step()

    def _pattern(self, key: keys.Key) -> str:
        value = self._value()
        if key.kind not in (TEXT, LOGGED):
            raise self.mistake(f"{key.written} is no text", "compare it with =, > or <", value.at)
        return str(value.value) if value.kind == TEXT else value.written

    def _value(self) -> Literal:
        if self.kind == "key" and self.word not in ("true", "false"):
            raise self.mistake("a value was expected", f'a text stands in quotes: "{self.token}"')
        if self.kind in ("", "sign"):
            raise self.mistake("a value was expected", 'for example 0.9, "a text", 10m or 2026-11-01')
        self.values += 1
        try:
            found = literals.read(self.token, self.start)
        except ValueError:
            raise self.mistake("this is no number, duration or date", literals.FORMS) from None
        self.step()
        return found


def mistake(text: str, at: int, what: str, hint: str = "") -> UsageError:
    """The error of a query, with a mark under the place."""
    shown = "".join(" " if character.isspace() else character for character in text)
    if len(shown) > LONGEST_SHOWN:  # of a long one what is around the place
        first = max(min(at - LONGEST_SHOWN // 2, len(shown) - LONGEST_SHOWN), 0)
        before, after = "…" * (first > 0), "…" * (first + LONGEST_SHOWN < len(shown))
        shown, at = before + shown[first : first + LONGEST_SHOWN] + after, at - first + len(before)
    return UsageError(f"{what}:\n  {shown}\n  {' ' * at}^", hint or ANOTHER)
