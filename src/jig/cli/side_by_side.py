"""A comparison as a person reads it: what differs in columns that fit the terminal, what is the same as a count."""

from __future__ import annotations

from jig.cli.terminal import cut, display_width, human_bytes, human_duration, printable
from jig.compare.rows import is_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from jig.compare.rows import Row, View

NAMES = {"code": "files", "environment": "environment", "gpu": "GPU", "time": "time"}
# Names of the sections gpu and time whose values are shown with their unit, and what they are called then.
SIZES = {"peak_memory_bytes": "peak memory", "peak_rss_bytes": "process memory"}
DURATIONS = {"duration_s": "duration", "before_start_s": "before the start", "cpu_s": "processor", "gpu_s": "on a GPU"}
OWN = {**SIZES, **DURATIONS, "busy_percent": "busy percent", "energy_j": "joules", "exit_code": "exit code"}
WIDEST_NAME = 26
NARROWEST = 9


def render(views: Sequence[View], sections: dict[str, list[Row]], width: int, everything: bool) -> str:
    """The whole text: who is compared, then a table a section."""
    lines = [_who(letter, view, width) for letter, view in zip(letters(len(views)), views, strict=True)]
    shown = {name: [row for row in rows if everything or not row.same] for name, rows in sections.items()}
    layout = _Layout(len(views), width, [(name, row) for name, rows in shown.items() for row in rows])
    folded = []
    for name, rows in sections.items():
        if shown[name]:
            lines += ["", *layout.table(name, shown[name])]
        same = len(rows) - len(shown[name])
        if same:
            folded.append(f"{same} of {NAMES.get(name, name)}")
    if not any(shown.values()):
        lines += ["", "nothing differs"]
    if folded:
        lines += ["", *_wrapped(f"the same: {', '.join(folded)} (--all shows them)", width)]
    return "\n".join(lines) + "\n"


def _wrapped(text: str, width: int) -> list[str]:
    from jig.cli.terminal import wrap

    return wrap(text, width)


def letters(count: int) -> list[str]:
    """What the runs are called beside each other."""
    return [chr(ord("A") + at) if at < 26 else f"#{at + 1}" for at in range(count)]


def _who(letter: str, view: View, width: int) -> str:
    plan, record = view.plan, view.record
    words = " ".join((plan["script"], *plan["arguments"]))
    run_id = record.get("run_id") or plan["run_id"]
    return cut(printable(f"{letter}  {run_id}  {record.get('status')}  {plan['target']}  {words}"), width)


class _Layout:
    """Columns of one width for all sections, so that values of a run stand below each other."""

    def __init__(self, count: int, width: int, named: Sequence[tuple[str, Row]]) -> None:
        rows = [row for _, row in named]
        self._letters = letters(count)
        self._changed = count == 2 and any(row.difference is not None for row in rows)
        columns = count + self._changed
        longest = max([display_width(called(section, row)) for section, row in named] or [0])
        widest = max([display_width(text) for row in rows for text in cells(row)] or [NARROWEST])
        self._name = min(longest, WIDEST_NAME, max(width - columns * (NARROWEST + 2), NARROWEST))
        self._column = max(min((width - self._name) // columns - 2, widest), NARROWEST)

    def table(self, name: str, rows: Sequence[Row]) -> list[str]:
        """One section."""
        heads = [*self._letters, *(["B - A"] if self._changed else [])]
        lines = [self._line(name.upper() if name == "gpu" else name, heads)]
        for row in rows:
            change = [signed(row)] if self._changed else []
            lines.append(self._line(f"  {called(name, row)}", [*cells(row), *change]))
        return lines

    def _line(self, name: str, cells: Sequence[str]) -> str:
        text = _pad(_middle(name, self._name + 2), self._name + 2)
        return (text + "".join(f"  {_pad(_middle(cell, self._column), self._column)}" for cell in cells)).rstrip()


def called(section: str, row: Row) -> str:
    """What a row is about, in words."""
    return printable(OWN.get(row.name, row.name) if section in ("gpu", "time") else row.name)


def _pad(text: str, width: int) -> str:
    return text + " " * max(width - display_width(text), 0)


def _middle(text: str, width: int) -> str:
    """As much of the beginning and the end as fits: versions and paths differ at their ends."""
    if display_width(text) <= width:
        return text
    if not text.isascii():
        return cut(text, width)
    half = (width - 1) // 2
    return f"{text[: width - 1 - half]}…{text[len(text) - half :] if half else ''}"


def cells(row: Row) -> list[str]:
    """The values of a row, as they are shown."""
    return [printable(_text(row.name, value)) for value in row.values]


def _text(name: str, value: Any) -> str:
    """A value as it stands in its column."""
    if isinstance(value, dict) and "change" in value:
        return _changed(value)
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if is_number(value):
        return _number(name, value)
    if isinstance(value, list):
        return f"list of {len(value)}"
    if isinstance(value, dict):
        return ", ".join(value) or "-"
    return str(value) if name != "snapshot" else str(value)[:12]


def _changed(value: dict[str, Any]) -> str:
    counts = "binary" if value.get("binary") else f"+{value['added']} -{value['deleted']}"
    if value["change"] == "mode":
        return "mode"
    return counts if value["change"] == "changed" else f"{value['change']} {counts}"


def _number(name: str, value: float) -> str:
    if name in SIZES:
        return human_bytes(int(value))
    if name in DURATIONS:
        return human_duration(value)
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def signed(row: Row) -> str:
    """The difference of a row's numbers; empty where it has none."""
    difference = row.difference
    if difference is None or difference != difference:
        return ""
    sign = "-" if difference < 0 else "+"
    return sign + _number(row.name, abs(difference))
