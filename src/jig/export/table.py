"""Runs as comma-separated values: a row for each run, or a row for each point."""

from __future__ import annotations

import csv
import io

from jig.export import points
from jig.runner.folder import RunFolder
from jig.runner.quick_json import dumps
from jig.store.logged import LATEST
from jig.store.record import utc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

SPACES = ("params", "metrics", "tags")
POINT_COLUMNS = ("run_id", "rank", "name", "step", "time_utc", "value")


def runs(records: Sequence[dict[str, Any]]) -> Iterator[str]:
    """A line of column names and one for each record: its own keys, then `params.…`, `metrics.…` and `tags.…`."""
    logged = {f"{space}.{name}": None for space in SPACES for one in records for name in one.get(space) or ()}
    own = {name: None for one in records for name in _own(one)}
    columns = [*own, *sorted(logged, key=lambda name: SPACES.index(name.partition(".")[0]))]
    yield _line(columns)
    for one in records:
        told = {f"{space}.{name}": value for space in SPACES for name, value in (one.get(space) or {}).items()}
        told.update((name, one[name]) for name in _own(one))
        yield _line([cell(told.get(column)) for column in columns])


def _own(record: dict[str, Any]) -> list[str]:
    """The record's own keys: what was logged stands before `run_id`, and under `metrics` and `params` as well."""
    names = list(record)
    return [name for name in names[names.index("run_id") :] if name not in SPACES]


def series(found: Iterable[tuple[str, RunFolder, str]]) -> Iterator[str]:
    """A line of column names and one for each point, of each run (its id, its folder, and which one nested there)."""
    yield _line(POINT_COLUMNS)
    for run_id, folder, nested in found:
        for rank, file in points.files(folder).items():
            for point in points.read(folder, file, nested):
                moment = utc(point.time) if abs(point.time) < LATEST else ""
                row = (run_id, rank, point.name, point.step, moment, point.value)
                yield _line([cell(value) for value in row])


def cell(value: Any) -> str:
    """A value as text: numbers so that they read back exactly, lists and objects as JSON, nothing as nothing."""
    if value is None:
        return ""
    return value if isinstance(value, str) else dumps(value)


def _line(cells: Iterable[str]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(cells)
    return out.getvalue()
