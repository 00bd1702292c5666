"""A column of runs as an axis of a chart: numbers, times, or a few words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jig.cli.terminal import printable
from jig.store import keys
from jig.values import Value

MOST_WORDS = 30  # on an axis; more than these are names, and draw nothing


class Axis(Value):
    """The values of all runs, None for one that has none, and how ECharts is to lay them out."""

    name: str
    kind: str  # value, time, category
    values: tuple[Any, ...]
    words: tuple[str, ...] = ()

    def options(self) -> dict[str, Any]:
        """The axis for ECharts."""
        found: dict[str, Any] = {"type": self.kind, "name": self.name, "nameTextStyle": {"color": TEXT}}
        found |= {"axisLabel": {"color": TEXT}, "axisLine": {"lineStyle": {"color": TEXT}}}
        if self.kind == "category":
            found["data"] = list(self.words)
        else:
            found["scale"] = True
        if self.kind == "value":
            found["axisLabel"] = {"color": TEXT, ":formatter": SHORT}
        return found


# The page's own colours, so that dark and light need no other chart.
TEXT = "var(--jig-soft)"
LINE = "var(--jig-line)"
# 12G for 12000000000: numbers of axes stand side by side.
SHORT = "value => Math.abs(value) >= 1e5 ? Intl.NumberFormat('en', {notation: 'compact'}).format(value) : String(value)"


def axis(name: str, records: Sequence[dict[str, Any]]) -> Axis | None:
    """The axis of a column; None for one that nothing could be read off: no values, or as many words as runs."""
    key = keys.key(name)
    pairs = [keys.pair(keys.raw(record, key), key.kind) for record in records]
    shown = printable(name)
    if not any(number is not None or text is not None for number, text in pairs):
        return None
    if all(number is not None or text is None for number, text in pairs):
        if key.kind == keys.TIME:
            return Axis(shown, "time", tuple(None if number is None else number / 1000 for number, _ in pairs))
        scale = 1e6 if key.kind == keys.DURATION else 1
        finite = (None if number is None or number - number != 0 else number / scale for number, _ in pairs)
        return Axis(shown, "value", tuple(finite))
    words = [None if text is None else printable(text) for _, text in pairs]
    distinct = tuple(sorted({word for word in words if word is not None}))
    return Axis(shown, "category", tuple(words), distinct) if len(distinct) <= MOST_WORDS else None
