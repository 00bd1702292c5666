"""Numbers, times and other single values of a sweep file, with their faults."""

from __future__ import annotations

import math
import re
from decimal import Decimal

from jig.project.schema import Section
from jig.project.yaml import PLAIN, Node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jig.sweep.space import Scalar

UNITS_S = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
LONGEST_S = 365 * 86400.0


def whole(section: Section, key: str, least: int, most: int) -> int | None:
    """The whole number of a key; None when it is absent, or none of the allowed ones."""
    text = section.text(key)
    if text is None:
        return None
    if text.isascii() and text.isdigit() and len(text) < 10 and least <= int(text) <= most:
        return int(text)
    section.fault(key, f"`{key}` must be a whole number from {least} to {most:,}, but found {text!r}")
    return None


def seconds(section: Section, key: str) -> float | None:
    """The seconds of a key such as `90s`, `2m`, `1.5h` or `1d`; None when it is absent."""
    text = section.text(key)
    if text is None:
        return None
    found = number(text[:-1]) if text[-1:] in UNITS_S else None
    if found is not None and 0 <= found * UNITS_S[text[-1]] <= LONGEST_S:
        return found * UNITS_S[text[-1]]
    message = f"`{key}` must be a time with its unit (s, m, h or d), but found {text!r}"
    section.fault(key, message, f"write, for example, `{key}: 90s`, `{key}: 2m` or `{key}: 1h`")
    return None


def decimal(section: Section, key: str) -> Decimal | None:
    """The number of a key, as exact as it was written; None when it is absent, or none."""
    text = section.text(key)
    if text is None:
        return None
    if number(text) is not None:
        return Decimal(text)
    section.fault(key, f"`{key}` must be a number, but found {text!r}")
    return None


def scalar(node: Node) -> tuple[Scalar, str]:
    """A value as YAML means it, and as it was written: the script gets the latter."""
    return (parsed(node.text) if node.kind == PLAIN else node.text), node.text


def parsed(text: str) -> Scalar:
    """A plain text as YAML means it."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if re.fullmatch(r"[+-]?[0-9]{1,18}", text):
        return int(text)
    found = number(text)
    return text if found is None else found


def number(text: str) -> float | None:
    """The number that the text stands for; no infinity, and nothing that only Python takes for a number."""
    if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?", text) or len(text) > 40:
        return None
    found = float(text)
    return found if math.isfinite(found) else None
