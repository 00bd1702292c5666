"""The rows of the table of runs, a page at a time: what the browser asks for while a person scrolls."""

from __future__ import annotations

import json

from fastapi import Response
from nicegui import app

from jig.cli.history_list import for_a_table
from jig.cli.show import short
from jig.errors import JigError
from jig.store import keys
from jig.store.where import parse
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from jig.store.queries import Store
    from jig.workbench.session import Session

PATH = "/history/rows"
PAGE = 100
MOST = 1000  # rows of one answer


class Asked(Value):
    """Some rows: which runs, in which order, from where to where, and columns by the ids the table gave them."""

    where: str
    archived: bool
    columns: tuple[tuple[str, str], ...]
    sort: tuple[tuple[str, bool], ...]
    start: int
    end: int


def serve(session: Session) -> None:
    """Answer the browser."""

    async def rows(ask: str) -> Response:
        try:
            asked = _asked(json.loads(ask))
            project = session.here().name
            found = await session.read(lambda store: answer(store, project, asked))
        except (ValueError, KeyError, TypeError, JigError):
            return Response("", 400)  # what a person writes wrong is told beside the field
        return Response(json.dumps(found), media_type="application/json", headers={"cache-control": "no-store"})

    app.add_api_route(PATH, rows, response_model=None)


def _asked(said: dict[str, Any]) -> Asked:
    columns = tuple((str(one), str(name)) for one, name in said["columns"])
    sort = tuple((str(one), bool(backwards)) for one, backwards in said["sort"])
    start = max(int(said["start"]), 0)
    return Asked(str(said["where"]), bool(said["archived"]), columns, sort, start, min(int(said["end"]), start + MOST))


def answer(store: Store, project: str, asked: Asked) -> dict[str, Any]:
    """The rows, and how many there are in all."""
    where = parse(asked.where) if asked.where.strip() else None
    names = dict(asked.columns)
    sort = order([(names[one], backwards) for one, backwards in asked.sort if one in names])
    found = store.list(
        project, max(asked.end - asked.start, 0), where, sort, archived=asked.archived, offset=asked.start
    )
    chosen = [(one, keys.key(name)) for one, name in asked.columns]
    rows = []
    for record in found:
        shown = for_a_table(record)
        cells = {one: text(keys.raw(shown, key)) for one, key in chosen}
        rows.append({"id": record["run_id"], **cells})
    return {"rows": rows, "count": store.count(project, where, archived=asked.archived)}


def order(sort: list[tuple[str, bool]]) -> str:
    """The order as the command line writes it; names in backquotes, so that they may have commas."""
    return ",".join(("-" if backwards else "") + "`" + name.replace("`", "``") + "`" for name, backwards in sort)


def text(value: Any) -> str:
    """A value as a cell shows it."""
    return "" if value is None else short(value)
