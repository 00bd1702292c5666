"""The table of runs: the browser asks for rows as a person scrolls; here is what it shows and what is selected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui

from jig.store import keys
from jig.workbench.remembered import View
from jig.workbench.rows import PAGE, order
from jig.workbench.words import say

ANSWER_S = 10.0
FIRST = "run_id"  # always shown: it leads to the run
WIDTHS = {"run_id": 190, "status": 120, "start_time_utc": 170, "created_utc": 170, "end_time_utc": 170, "note": 220}


class Table:
    """An AG Grid whose rows come a page at a time. Names of columns are never keys of what the browser gets."""

    def __init__(self, view: View, selected: Callable[[], object], sorted_by: Callable[[], object]) -> None:
        """`selected` and `sorted_by` are called when a person has changed these."""
        self._ids: dict[str, str] = {}
        self._view = view
        self._grid = ui.aggrid(
            {
                "rowModelType": "infinite",
                "cacheBlockSize": PAGE,
                "maxBlocksInCache": 5,
                "infiniteInitialRowCount": 1,
                "context": self._context(),
                "columnDefs": self._columns(),
                "defaultColDef": {"resizable": True, "sortable": True, "suppressHeaderMenuButton": True, "width": 130},
                "rowSelection": {"mode": "multiRow", "headerCheckbox": False, "enableClickSelection": False},
                "selectionColumnDef": {"pinned": "left", "width": 44},
                "rowHeight": 34,
                "headerHeight": 36,
                "suppressCellFocus": False,
                "overlayNoRowsTemplate": "<span></span>",
                ":getRowId": "params => params.data.id",
                ":datasource": "({getRows: params => jigHistory.rows(params)})",
                ":onCellClicked": "event => jigHistory.open(event)",
                ":onCellKeyDown": "event => jigHistory.open(event)",
            },
            auto_size_columns=False,
        ).classes("jig-runs")
        self._grid.props["aria-label"] = say("history.table")
        self._grid.on("selectionChanged", lambda: selected(), [])
        self._grid.on("sortChanged", lambda: sorted_by(), [])

    def show(self, view: View) -> None:
        """Show other runs, or other columns of them."""
        self._view = view
        self._grid.run_grid_method("setGridOption", "context", self._context())
        self._grid.run_grid_method("setGridOption", "columnDefs", self._columns())
        self._grid.run_grid_method("purgeInfiniteCache")

    def refresh(self) -> None:
        """Ask again for the rows that are there; what is selected stays so."""
        self._grid.run_grid_method("refreshInfiniteCache")

    def set_visibility(self, visible: bool) -> None:
        """Show the table, or hide it."""
        self._grid.set_visibility(visible)

    async def selected(self) -> list[str]:
        """The ids of the selected runs, in the order of the table."""
        rows = await self._grid.run_grid_method("getSelectedRows", timeout=ANSWER_S)
        return [str(row["id"]) for row in rows]

    async def sort(self) -> str:
        """The order that the person chose, as the command line writes it."""
        state = await self._grid.run_grid_method("getColumnState", timeout=ANSWER_S)
        names = {one: name for name, one in self._ids.items()}
        chosen = [one for one in state if one.get("sort") and one["colId"] in names]
        chosen.sort(key=lambda one: one.get("sortIndex") or 0)
        return order([(names[one["colId"]], one["sort"] == "desc") for one in chosen])

    def _id(self, name: str) -> str:
        return self._ids.setdefault(name, f"k{len(self._ids)}")

    def _context(self) -> dict[str, Any]:
        """What the browser sends back with each question."""
        columns = [[self._id(name), name] for name in self._names()]
        return {"where": self._view.where, "archived": self._view.archived, "columns": columns}

    def _names(self) -> list[str]:
        return list(dict.fromkeys((FIRST, *self._view.columns)))

    def _columns(self) -> list[dict[str, Any]]:
        order = [(key.written, backwards) for key, backwards in keys.sorting(self._view.sort)]
        return [self._column(name, order) for name in self._names()]

    def _column(self, name: str, order: list[tuple[str, bool]]) -> dict[str, Any]:
        one = self._id(name)
        at = next((place for place, (sorted_by, _) in enumerate(order) if sorted_by == name), None)
        found: dict[str, Any] = {
            "colId": one,
            "field": one,
            "headerName": name,
            "headerTooltip": name,
            "width": WIDTHS.get(name, 130),
            "sort": None if at is None else "desc" if order[at][1] else "asc",
            "sortIndex": at,
            "sortable": name not in keys.ONLY_SHOWN,
            ":cellClass": "params => jigHistory.kind(params)",
        }
        if name == FIRST:
            found |= {"pinned": "left", ":cellRenderer": "params => jigHistory.link(params)", ":cellClass": "() => ''"}
        if name == "status":
            found[":cellClass"] = "params => jigHistory.state(params)"
        return found
