"""Tables as people have them: data frames, lists of rows, columns by name. Nothing is imported that is not there."""

import json
from itertools import islice

from jig.track.artifacts import keep_new
from jig.track.place import say_once
from jig.track.values import Unusable, describe, plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_FOLDER = "tables"
_MOST_ROWS = 10000
_LONGEST = 16 * 1024  # characters of a table that stands in the metrics file itself; a larger one is a file of its own


class NoTable(Exception):
    """What was handed over is no table, and why."""


def is_table(value: "object") -> bool:
    """Whether `log` keeps it as a table: a data frame, of whatever package."""
    return any(kind.__name__ == "DataFrame" for kind in type(value).__mro__)


def keep(name: str, value: "Any", columns: "Any" = None) -> "str | None":
    """The table as the JSON of a metric's value; a large one is kept as a file. None outside a run, for a large one."""
    titles, rows = _parts(value, columns)
    titles = [title if isinstance(title, str) else describe(title) for title in titles]
    if len(rows) > _MOST_ROWS:
        say_once(
            "table " + name,
            "{!r} has more than {:,} rows, and the first of them are kept; a file in outputs/ can have all".format(
                name, _MOST_ROWS
            ),
        )
        del rows[_MOST_ROWS:]
    for row in rows:
        if len(row) != len(titles):
            raise NoTable("a row has {} cells, and there are {} columns".format(len(row), len(titles)))
    text = json.dumps({"columns": titles, "rows": [[_cell(cell) for cell in row] for row in rows]})
    if len(text) <= _LONGEST:
        return '{"table": ' + text + "}"
    path = keep_new(_FOLDER, name, "json", text.encode("ascii"))
    return None if path is None else '{"table": ' + json.dumps(path) + "}"


def _parts(value: "Any", columns: "Any") -> "tuple[list[Any], list[list[Any]]]":
    if is_table(value):
        return _of_frame(value)
    if isinstance(value, dict):
        titles = list(value)
        lists = [_list(value[title]) for title in titles]
        if len(set(map(len, lists))) > 1:
            raise NoTable("the columns are of different lengths")
        return titles, [[column[place] for column in lists] for place in range(len(lists[0]) if lists else 0)]
    rows = _list(value)
    if rows and all(hasattr(row, "keys") for row in rows):
        titles = list(columns) if columns is not None else _titles(rows)
        return titles, [[row.get(title) for title in titles] for row in rows]
    rows = [_list(row) for row in rows]
    width = len(rows[0]) if rows else 0
    return (list(columns) if columns is not None else [str(number) for number in range(width)]), rows


def _of_frame(frame: "Any") -> "tuple[list[Any], list[list[Any]]]":
    """Of pandas, of polars and of what behaves like one of them."""
    frame = frame.head(_MOST_ROWS + 1)
    if hasattr(type(frame), "rows"):
        return list(frame.columns), [list(row) for row in frame.rows()]
    split = frame.to_dict("split")
    titles, rows, index = list(split["columns"]), [list(row) for row in split["data"]], list(split["index"])
    if index != list(range(len(rows))):  # rows that have names: the first column
        return ["index"] + titles, [[index[place]] + row for place, row in enumerate(rows)]
    return titles, rows


def _titles(rows: "list[Any]") -> "list[Any]":
    titles = []
    for row in rows:
        titles += [title for title in list(row) if title not in titles]
    return titles


def _list(value: "Any") -> "list[Any]":
    if isinstance(value, (str, bytes)) or not hasattr(value, "__iter__"):
        raise NoTable("{} is no data frame, list of rows, or columns by name".format(type(value).__name__))
    return list(value.tolist() if hasattr(type(value), "tolist") else islice(value, _MOST_ROWS + 1))


def _cell(value: "Any") -> "Any":
    """A number, a text, a list, or null; what is none of these becomes text."""
    if value is None:
        return None
    try:
        return plain(value)
    except Unusable:
        return str(value)
