"""The points of a sweep: every combination, or random ones. Pure: the same file and seed give the same points.

Random numbers come from SHA-256 of seed, turn and parameter, so that they are the same in every version of Python,
and a point is the same whatever other parameters stand beside its own.
"""

from __future__ import annotations

import hashlib
import math
from decimal import Decimal

from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    Scalar = str | int | float | bool
    Levels = tuple[tuple[Scalar, str], ...] | None  # all values of a parameter; None where there is no end of them

MOST_POINTS = 100_000
FEWEST_TRIES = 1000  # for one more point that is not there yet, before it is believed that there is none
DIGITS = 6  # of a drawn number: what a person can read, and more than a training run can tell apart
SMALLEST_SPREAD = 1e-3  # a range that is narrower than this part of its numbers needs all their digits


class Setting(Value):
    """One parameter of one point: the value for the record, and its text for the script, as it was written."""

    name: str
    value: Scalar
    text: str


Point = tuple[Setting, ...]


class Choice(Value):
    """One of these values."""

    name: str
    values: tuple[tuple[Scalar, str], ...]


class Range(Value):
    """Numbers between two others, both of them included; `log` spreads them evenly over the orders of magnitude."""

    name: str
    low: Decimal
    high: Decimal
    whole: bool = False
    log: bool = False
    step: Decimal | None = None  # what is added to come to the next one, or with `log` what it is multiplied by
    number: int | None = None  # or how many there are


Parameter = Choice | Range


def levels(parameter: Parameter) -> Levels:
    """All values that a parameter can have; None where it has no end of them."""
    if isinstance(parameter, Choice):
        return parameter.values
    if parameter.low == parameter.high:
        return (_number(parameter, float(parameter.low)),)
    if parameter.step is not None:
        return _stepped(parameter, parameter.step)
    if parameter.number is not None:
        return _counted(parameter, parameter.number)
    return None


def _stepped(given: Range, step: Decimal) -> tuple[tuple[Scalar, str], ...]:
    # In decimal: 0.1 + 0.1 + 0.1 is 0.3 there, as the person who wrote it thinks.
    found: list[tuple[Scalar, str]] = []
    number = given.low
    while number <= given.high and len(found) <= MOST_POINTS:
        found.append(_number(given, float(number)) if given.whole else (float(number), repr(float(number))))
        number = number * step if given.log else number + step
    return tuple(found)


def _counted(given: Range, count: int) -> tuple[tuple[Scalar, str], ...]:
    numbers = [_between(given, place / (count - 1) if count > 1 else 0.0) for place in range(count)]
    return tuple(dict.fromkeys(_number(given, number) for number in numbers))  # whole ones may fall together


def _between(given: Range, part: float) -> float:
    """The number at this part, 0 to 1, of the way from the lowest to the highest."""
    low, high = float(given.low), float(given.high)
    if part >= 1.0:
        return high
    if given.log:
        return min(high, max(low, low * math.exp(part * math.log(high / low))))
    return min(high, max(low, low + part * (high - low)))


def _number(given: Range, number: float) -> tuple[Scalar, str]:
    if given.whole:
        whole = min(int(given.high), max(int(given.low), round(number)))
        return whole, str(whole)
    low, high = float(given.low), float(given.high)
    if high - low > SMALLEST_SPREAD * max(abs(low), abs(high)):
        number = min(high, max(low, float(f"{number:.{DIGITS}g}")))
    return number, repr(number)


def draw(parameter: Parameter, part: float) -> tuple[Scalar, str]:
    """The value of a parameter at a random number from 0 up to, and without, 1."""
    return _drawn(parameter, levels(parameter), part)


def _drawn(parameter: Parameter, known: Levels, part: float) -> tuple[Scalar, str]:
    if known is not None:
        return known[int(part * len(known))]
    if not isinstance(parameter, Range):
        raise TypeError("only a range has no end of values")
    if parameter.whole:  # each whole number has the same share of the range, or of its logarithm
        wider = parameter._replace(high=parameter.high + 1)
        number = math.floor(_between(wider, part))
        return _number(parameter, number)
    return _number(parameter, _between(parameter, part))


def grid(parameters: Sequence[Parameter]) -> Iterator[Point]:
    """Every combination, in the order of the file: the last parameter changes fastest."""
    found = [levels(parameter) for parameter in parameters]
    columns = [column for column in found if column is not None]
    if len(columns) != len(found):
        raise ValueError("a grid needs parameters with an end of values")
    for place in range(math.prod(map(len, columns))):
        point = []
        for parameter, column in zip(reversed(parameters), reversed(columns), strict=True):
            place, index = divmod(place, len(column))
            point.append(Setting(parameter.name, *column[index]))
        yield tuple(reversed(point))


def size(parameters: Sequence[Parameter]) -> int | None:
    """How many different points there are; None where there is no end of them."""
    found = 1
    for parameter in parameters:
        known = levels(parameter)
        if known is not None:
            found *= len(set(known))
        elif isinstance(parameter, Range) and parameter.whole:
            found *= int(parameter.high) - int(parameter.low) + 1
        else:
            return None
    return found


def sample(parameters: Sequence[Parameter], samples: int, seed: str) -> Iterator[Point]:
    """Random points, no two the same; fewer than asked for where there are no more. A larger number only adds some."""
    most = size(parameters)
    left = samples if most is None else min(samples, most)
    columns = [(each, levels(each)) for each in parameters]  # once: there may be many, and many turns
    seen: set[Point] = set()
    turn = misses = 0
    while len(seen) < left and misses < max(FEWEST_TRIES, 50 * (most or 0)):
        point = tuple(Setting(each.name, *_drawn(each, known, _part(seed, turn, each.name))) for each, known in columns)
        turn, misses = turn + 1, misses + 1
        if point not in seen:
            seen.add(point)
            misses = 0
            yield point


def _part(seed: str, turn: int, name: str) -> float:
    """A number from 0 up to, and without, 1, as good as random."""
    digest = hashlib.sha256(f"{seed}\n{turn}\n{name}".encode()).digest()
    return (int.from_bytes(digest[:8], "big") >> 11) / (1 << 53)
