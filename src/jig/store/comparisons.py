"""What `key = value` means, by the kind of the key and of the value."""

from __future__ import annotations

from jig.store import literals
from jig.store.conditions import All, Compare, OneOf, Some
from jig.store.keys import DURATION, FLAG, LARGEST, LOGGED, NUMBER, TEXT, TIME, Key, clock_microseconds, microseconds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from jig.store.conditions import Condition
    from jig.store.literals import Literal

LONGEST_S = 9e12
SECOND = 1_000_000  # times and durations are kept in microseconds


def compare(key: Key, sign: str, value: Literal, now: float) -> Condition:
    """The condition; ValueError with a message and a hint where the two do not go together."""
    if key.kind == TIME:
        return _time(key, sign, _span(key, value, now))
    if value.kind == FLAG:
        return _flag(key, sign, value)
    if key.kind == TEXT:
        if value.kind != TEXT:
            raise ValueError(
                f"{key.written} is a text", f'write the text in quotes: {key.written} {sign} "{value.written}"'
            )
        return Compare(key, TEXT, sign, value.value)
    if key.kind == DURATION:
        return Compare(key, NUMBER, sign, _microseconds(key, value))
    if value.kind == TIME:
        raise ValueError(f"{key.written} is no time", "dates go with created, started and ended; quotes make it a text")
    if key.kind == LOGGED and value.kind == TEXT:
        return Compare(key, TEXT, sign, value.value)
    if value.kind == TEXT:
        raise ValueError(f"{key.written} is a number", f"write the number without quotes: {key.written} {sign} 1")
    return Compare(key, NUMBER, sign, value.value)


def one_of(found: Sequence[Condition]) -> Condition:
    """Some of several equalities; those of one kind go into one condition."""
    together: dict[str, list[Compare]] = {}
    others = []
    for one in found:
        if isinstance(one, Compare):
            together.setdefault(one.side, []).append(one)
        else:
            others.append(one)
    for side, equal in together.items():
        others.append(OneOf(equal[0].key, side, tuple(one.value for one in equal)))
    return Some(tuple(others)) if len(others) > 1 else others[0]


def _flag(key: Key, sign: str, value: Literal) -> Condition:
    if sign not in ("=", "!="):
        raise ValueError("true and false are only equal or not", f"{key.written} = true")
    if key.kind == FLAG:
        return Compare(key, NUMBER, sign, int(value.value))
    if key.kind != LOGGED:
        raise ValueError(f"{key.written} is never true or false", "")
    # MLflow keeps a parameter as the text that Python prints.
    words = ("true", "True") if value.value else ("false", "False")
    if sign == "=":
        return OneOf(key, TEXT, words)
    return All(tuple(Compare(key, TEXT, "!=", word) for word in words))


def _microseconds(key: Key, value: Literal) -> int:
    if value.kind in (NUMBER, DURATION):
        return _kept(value.value)
    found = clock_microseconds(value.value) if value.kind == TEXT else None
    if found is None:
        raise ValueError(f"{key.written} is a length of time", f"for example {key.written} > 10m, or 90s, 1h30m, 2d")
    return found


def _kept(seconds: float) -> int:
    """Microseconds that SQLite can hold; what is longer is as long as that."""
    return round(max(-LONGEST_S, min(LONGEST_S, seconds)) * SECOND)


def _span(key: Key, value: Literal, now: float) -> tuple[int, int]:
    """First moment of the time that is meant, and the first behind it."""
    if value.kind == TIME:
        span: tuple[int, int] = value.value
        return span
    if value.kind == NUMBER and value.written.isdecimal() and len(value.written) == 4:
        found = literals.date(value.written)
    elif value.kind == DURATION and value.value <= 0:
        moment = max(-LARGEST, microseconds(now) + _kept(value.value))
        found = moment, moment + 1
    else:
        found = literals.date(value.value) if value.kind == TEXT else None
    if found is None:
        hint = f"for example {key.written} > 2026-11-01, {key.written} > -2d (two days ago)"
        raise ValueError(f"{key.written} is a time", hint)
    return found


def _time(key: Key, sign: str, span: tuple[int, int]) -> Condition:
    """A date is the whole of its day: later than it begins when it is over."""
    first, behind = span
    if sign == "=":
        return All((Compare(key, NUMBER, ">=", first), Compare(key, NUMBER, "<", behind)))
    if sign == "!=":
        return Some((Compare(key, NUMBER, "<", first), Compare(key, NUMBER, ">=", behind)))
    sign, moment = {">": (">=", behind), ">=": (">=", first), "<": ("<", first), "<=": ("<", behind)}[sign]
    return Compare(key, NUMBER, sign, moment)
