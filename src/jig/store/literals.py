"""The values of a query: numbers, texts, durations, dates, true and false."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone

from jig.store.keys import DURATION, FLAG, NUMBER, TEXT, TIME, clean, number_of
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FORMS = "numbers are 0.9 or 1e-4, durations 90s, 10m or 1h30m, dates 2026-11-01 or 2026-11-01T10:30"
SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
NUMBER_FORM = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
DURATION_FORM = re.compile(r"([-+]?)((?:(?:\d+\.?\d*|\.\d+)(?:ms|[smhdw]))+)")
DURATION_PART = re.compile(r"([\d.]+)(ms|[smhdw])")
DATE_FORM = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6})\d*)?)?(Z|[-+]\d\d:?\d\d)?)?)?)?"
)
FINEST = 1  # microseconds
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Literal(Value):
    """A value as it stands in a query. A date is a pair: the first moment in it, and the first behind it."""

    kind: str
    value: Any
    written: str
    at: int


def read(token: str, at: int) -> Literal:
    """What a token stands for; ValueError when it is no value."""
    if token[0] in "\"'":
        return Literal(TEXT, clean(re.sub(r"\\(.)", r"\1", token[1:-1], flags=re.DOTALL)), token, at)
    if token.lower() in ("true", "false"):
        return Literal(FLAG, token.lower() == "true", token, at)
    if NUMBER_FORM.fullmatch(token):
        plain = token.lstrip("+-")
        return Literal(NUMBER, number_of(int(token) if plain.isdecimal() else float(token)), token, at)
    seconds = duration(token)
    if seconds is not None:
        return Literal(DURATION, seconds, token, at)
    span = date(token)
    if span is None:
        raise ValueError(token)
    return Literal(TIME, span, token, at)


def duration(text: str) -> float | None:
    """The seconds that `1h30m` stands for; None for another text."""
    found = DURATION_FORM.fullmatch(text)
    if found is None:
        return None
    seconds = sum(float(number) * SECONDS[unit] for number, unit in DURATION_PART.findall(found[2]))
    return -seconds if found[1] == "-" else seconds


def date(text: str) -> tuple[int, int] | None:
    """The microseconds since 1970 that a date spans: a year, a month, a day, a minute, a second; None for another text.

    In UTC, as the record's own times are, unless it says where.
    """
    found = DATE_FORM.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second, fraction, zone = found.groups()
    try:
        start = datetime(
            int(year), int(month or 1), int(day or 1), int(hour or 0), int(minute or 0), int(second or 0),
            int((fraction or "").ljust(6, "0")), _zone(zone),
        )  # fmt: skip
        if month is None:
            end = start.replace(year=start.year + 1)
        elif day is None:
            end = (start + timedelta(days=31)).replace(day=1)
        elif hour is None:
            end = start + timedelta(days=1)
        elif second is None:
            end = start + timedelta(minutes=1)
        else:
            end = start + (timedelta(seconds=1) if fraction is None else timedelta(microseconds=FINEST))
    except (ValueError, OverflowError):
        return None
    return _since_epoch(start), _since_epoch(end)


def _zone(written: str | None) -> timezone:
    if written in (None, "Z"):
        return UTC
    away = timedelta(hours=int(written[1:3]), minutes=int(written[-2:]))
    return timezone(-away if written[0] == "-" else away)


def _since_epoch(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(microseconds=1)
