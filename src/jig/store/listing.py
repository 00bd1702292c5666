"""The statement that finds the runs to list."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from jig.store.conditions import Columns
    from jig.store.keys import Key
    from jig.store.where import Expression

MOST = (1 << 63) - 1
NEWEST_FIRST = "runs.run_number DESC, runs.nested"


def order(sort: Sequence[tuple[Key, bool]], columns: Columns) -> str:
    """ORDER BY for keys and whether each is backwards: numbers, then texts, then runs that lack it; newest first."""
    from jig.store.keys import LOGGED, TEXT

    terms = []
    for key, backwards in sort:
        number, text, _ = columns.of(key)
        way = " DESC" if backwards else ""
        if key.kind == TEXT:
            terms += [f"{text} IS NULL", text + way]
        elif key.kind != LOGGED:
            terms += [f"{number} IS NULL", number + way]
        else:
            terms += [f"CASE WHEN {number} IS NOT NULL THEN 0 WHEN {text} IS NOT NULL THEN 1 ELSE 2 END"]
            terms += [number + way, f"CASE WHEN {number} IS NULL THEN {text} END{way}"]
    return ", ".join([*terms, NEWEST_FIRST])


def listing(
    known: Callable[[str, str], int | None],
    project: str | None,
    limit: int | None,
    where: Expression | None,
    sort: Sequence[tuple[Key, bool]],
    nested: bool,
    archived: bool,
    offset: int = 0,
) -> tuple[str, list[Any]]:
    """The statement that finds the keys of the runs to list, and the values of its parameters."""
    conditions, joins, in_order = ["runs.status IS NOT NULL"], "", NEWEST_FIRST
    values: list[Any] = []
    if project:
        conditions.append("runs.name = ?")
        values.append(project)
    # Who asks about it means it.
    if not (nested or (where is not None and where.names("parent_run_id"))):
        conditions.append("runs.nested = 0")
    if not (archived or (where is not None and where.names("archived", "hidden"))):
        conditions.append("runs.archived = 0")
    if where is not None or sort:
        from jig.store.conditions import Columns

        columns = Columns(known)
        if where is not None:
            asked, of_where = where.sql(columns)
            conditions.append(asked)
            values += of_where
        in_order = order(sort, columns)
        joins = columns.joins()
    cut = f" LIMIT {min(int(limit), MOST)}" if limit is not None else ""
    if offset:
        cut = f"{cut or ' LIMIT -1'} OFFSET {min(int(offset), MOST)}"
    text = f"SELECT runs.key FROM runs{joins} WHERE {' AND '.join(conditions)} ORDER BY {in_order}{cut}"
    return text, values
