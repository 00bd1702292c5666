"""Writing a listing in the form that was asked for: json, jsonc, table, tsv, yaml."""

from __future__ import annotations

import math
import sys

from jig.cli.terminal import cut, display_width, has_colour, is_terminal, printable, width_of
from jig.errors import UsageError
from jig.runner.quick_json import dumps, dumps_indented

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TextIO, TypeAlias

    Json: TypeAlias = "None | bool | int | float | str | Sequence[Json] | Mapping[str, Json]"

WIDEST_CELL = 60
NARROWEST_CELL = 8
GAP = "  "
NOT_FINITE = ("NaN", "Infinity", "-Infinity")


def show(
    value: Json,
    *,
    output: str | None = None,
    query: str | None = None,
    columns: Sequence[str] | None = None,
    stream: TextIO | None = None,
    whole: Sequence[str] = ("run_id", "name", "status"),
) -> None:
    """Write the value, or what the query makes of it, to the stream (stdout).

    Without an output it is a table at a terminal, json elsewhere. `columns` are those of table and tsv, in order; rows
    that the query made itself keep theirs. `whole` columns are names to copy from a table: never cut to fit a terminal.
    """
    stream = sys.stdout if stream is None else stream
    if query is not None:
        found = _search(query, value)
        if not _same_rows(found, value):
            columns = None
        value = found
    output = output or ("table" if is_terminal(stream) else "json")
    written = dumps(value)
    if output not in ("json", "jsonc") or "NaN" in written or "Infinity" in written:
        value = _finite(value)
    if output == "table":
        text = _table(value, columns, width_of(stream) if is_terminal(stream) else None, whole)
    elif output == "tsv":
        text = _tsv(value, columns)
    elif output == "yaml":
        text = _yaml(value, stream)
    else:
        text = _json(value, stream)
        if output == "jsonc" and has_colour(stream):
            text = _coloured(text)
    encoding = stream.encoding or "utf-8"
    stream.write(text.encode(encoding, "backslashreplace").decode(encoding))


def _search(query: str, value: Json) -> Json:
    import jmespath
    from jmespath.exceptions import JMESPathError

    advice = "JMESPath is described at https://jmespath.org; for example --query \"[?status=='Completed'].run_id\""
    try:
        found: Json = jmespath.search(query, value)
        dumps(found)  # an expression such as &a is a result to jmespath, but no value
    except (JMESPathError, TypeError) as error:  # TypeError: it also compares what cannot be compared
        place = getattr(error, "lex_position", getattr(error, "lexer_position", None))
        if place is None:
            raise UsageError(f"--query could not be answered: {error}", advice) from error
        before = display_width(printable(query[:place]))
        raise UsageError(
            f"--query is no JMESPath expression; it goes wrong here:\n  {printable(query)}\n  {' ' * before}^", advice
        ) from error
    return found


def _same_rows(found: Json, value: Json) -> bool:
    """Whether the query only chose among the rows, and made none of its own."""
    if not isinstance(found, list) or not isinstance(value, (list, tuple)):
        return False
    ours = set(map(id, value))
    return all(id(row) in ours for row in found)


def _finite(value: Json) -> Json:
    """The value with NaN and the infinities as strings: JSON has no numbers for them."""
    if isinstance(value, float) and not math.isfinite(value):
        return NOT_FINITE[0 if math.isnan(value) else 1 if value > 0 else 2]
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value


def _json(value: Json, stream: TextIO) -> str:
    text = dumps_indented(value, ascii_only=False)
    if not _encodable(text, stream):
        text = dumps_indented(value, ascii_only=True)
    # What json leaves as it is, but a terminal acts on, stands only inside strings: escape it there.
    return text.translate({code: f"\\u{code:04x}" for code in map(ord, set(text)) if _acts(code)}) + "\n"


def _acts(code: int) -> bool:
    return chr(code) != "\n" and printable(chr(code)) != chr(code)


def _encodable(text: str, stream: TextIO) -> bool:
    try:
        text.encode(stream.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _coloured(text: str) -> str:
    import re

    def paint(found: re.Match[str]) -> str:
        key, string, word = found.groups()
        code = "34" if key else "32" if string else "36"
        return f"\x1b[{code}m{key or string or word}\x1b[0m"

    return re.sub(r'("(?:\\.|[^"\\])*")(?=:)|("(?:\\.|[^"\\])*")|([-\w.+]+)', paint, text)


def _yaml(value: Json, stream: TextIO) -> str:
    import json

    import yaml

    plain = json.dumps(value, ensure_ascii=False)
    readable = _encodable(plain, stream) and not any(map(_acts, map(ord, set(plain))))
    text: str = yaml.safe_dump(value, allow_unicode=readable, sort_keys=False, default_flow_style=False)
    return text.removesuffix("...\n")  # the end mark that a bare scalar gets


def _rows(value: Json, columns: Sequence[str] | None) -> tuple[list[str], list[list[Json]]]:
    """Header and rows; no header where the rows have no names for their cells."""
    items: list[Json] = value if isinstance(value, list) else [value]
    records = [item for item in items if isinstance(item, dict)]
    if len(records) == len(items) and (items or columns is not None):
        names = list(columns) if columns is not None else list(dict.fromkeys(key for item in records for key in item))
        return names, [[item.get(name) for name in names] for item in records]
    return [], [list(item) if isinstance(item, list) else [item] for item in items]


def _tsv(value: Json, columns: Sequence[str] | None) -> str:
    _, rows = _rows(value, columns)
    # The backslash is doubled so that every line can be read back exactly.
    return "".join("\t".join(printable(_exact(cell).replace("\\", "\\\\")) for cell in row) + "\n" for row in rows)


def _exact(cell: Json) -> str:
    if cell is None:
        return ""
    if isinstance(cell, (dict, list)):
        import json

        return json.dumps(cell, ensure_ascii=False)
    return cell if isinstance(cell, str) else dumps(cell)


def short(cell: Json) -> str:
    """A cell as a table shows it."""
    if isinstance(cell, float):
        return format(cell, ".6g")
    return printable(_exact(cell))


def shown_width(cell: Json) -> int:
    """How many columns a cell takes in a table that has room for it."""
    return display_width(short(_finite(cell)))


def _table(value: Json, columns: Sequence[str] | None, width: int | None, whole: Sequence[str]) -> str:
    if isinstance(value, dict):  # one thing: its parts one under the other
        names = [name for name in columns if name in value] if columns is not None else list(value)
        return _grid([], [[name, value[name]] for name in names], None, {0, 1})  # nothing to align: nothing is cut
    header, rows = _rows(value, columns)
    return _grid(header, rows, width, {index for index, name in enumerate(header) if name in whole})


def _grid(header: list[str], rows: list[list[Json]], width: int | None, whole: set[int]) -> str:
    count = max([len(header), *map(len, rows)])
    cells = [[short(cell) for cell in row] + [""] * (count - len(row)) for row in rows]
    head = [printable(name) for name in header]
    widths = [max(map(display_width, column)) for column in zip(*([head] if head else []), *cells, strict=True)]
    widths = [wide if index in whole else min(wide, WIDEST_CELL) for index, wide in enumerate(widths)]
    if width is not None:
        _narrow(widths, width, whole)
    right = [_numeric([row[index] for row in rows if index < len(row)]) for index in range(len(widths))]
    lines = [head, ["-" * wide for wide in widths], *cells] if head else cells
    return "".join(_line(line, widths, right) + "\n" for line in lines)


def _narrow(widths: list[int], width: int, whole: set[int]) -> None:
    """Take from the widest columns until the table fits, or nothing more can be taken."""
    excess = sum(widths) + len(GAP) * (len(widths) - 1) - width
    while excess > 0:
        wide, index = max(((wide, i) for i, wide in enumerate(widths) if i not in whole), default=(0, 0))
        if wide <= NARROWEST_CELL:
            return
        widths[index] -= 1
        excess -= 1


def _numeric(column: list[Json]) -> bool:
    filled = [cell for cell in column if cell is not None]
    return bool(filled) and all(
        (isinstance(cell, (int, float)) and not isinstance(cell, bool)) or cell in NOT_FINITE for cell in filled
    )


def _line(cells: list[str], widths: list[int], right: list[bool]) -> str:
    shown = []
    for text, wide, to_right in zip(cells, widths, right, strict=True):
        text = cut(text, wide)
        space = " " * (wide - display_width(text))
        shown.append(space + text if to_right else text + space)
    return GAP.join(shown).rstrip()
