"""Parallel coordinates and scatter over the chosen columns of the runs that were asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nicegui import ui

from jig.store.where import Expression
from jig.workbench.pages.axes import LINE, TEXT, Axis, axis
from jig.workbench.remembered import View
from jig.workbench.session import Session
from jig.workbench.words import say

MOST = 1000  # runs in a picture
NOT_DRAWN = ("run_id", "description", "note")
MOST_AXES = 10  # side by side; more cannot be read
COLOURS = ["#2563eb", "#0d9488", "#ca8a04", "#dc2626"]  # from low to high


class Charts:
    """Where a chart stands, if one is shown."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._kind = "table"
        self._x = self._y = ""
        self._frame: object = None  # kind, note and axes of what is drawn
        self._ids: list[str] = []
        self._axes: list[Axis] = []
        self._drawn: ui.echart | None = None
        self._place = ui.element("div").classes("jig-charts")

    async def show(self, kind: str, view: View, where: Expression | None) -> None:
        """Draw this kind of chart; none for the table."""
        self._kind = kind
        await self.refresh(view, where)

    async def refresh(self, view: View, where: Expression | None) -> None:
        """Draw again what is shown."""
        if self._kind == "table":
            self._place.clear()
            self._frame = None
            return
        records, count = await self._session.read(
            lambda store: (
                store.list(view.project, MOST, where, view.sort or None, archived=view.archived),
                store.count(view.project, where, archived=view.archived),
            )
        )
        if self._kind == "table" or self._place.is_deleted:
            return
        all_axes = [found for name in view.columns if name not in NOT_DRAWN and (found := axis(name, records))]
        axes = [one for one in all_axes if len(one.words) != 1]  # a word that all share tells nothing
        ids = [str(record["run_id"]) for record in records]
        frame = (self._kind, max(count, MOST), [one.name for one in axes])
        if frame == self._frame:  # a field that is being chosen from stays open
            if (ids, axes) != (self._ids, self._axes):
                self._ids, self._axes = ids, axes
                self._update()
            return
        self._frame, self._ids, self._axes, self._drawn = frame, ids, axes, None
        self._place.clear()
        with self._place:
            if len(axes) < 2:
                ui.label(say("history.charts.few")).classes("jig-empty")
                return
            if count > MOST:
                ui.label(say("history.charts.first", most=MOST, count=f"{count:,}")).classes("jig-soft")
            if self._kind == "parallel":
                self._drawn = self._chart(self._options(), say("history.parallel"))
            else:
                self._scatter()

    def _options(self) -> dict[str, Any]:
        ids, axes = self._ids, self._axes
        if self._kind == "scatter":
            named = {one.name: one for one in axes}
            return scatter(ids, named[self._x], named[self._y])
        # What few runs have, such as the counts of a sweep, would be an axis that most lines pass by.
        usual = [one for one in axes if 2 * sum(value is not None for value in one.values) >= len(ids)]
        return parallel(ids, (usual if len(usual) > 1 else axes)[:MOST_AXES])

    def _update(self) -> None:
        if self._drawn is not None:
            self._drawn.options.clear()
            self._drawn.options.update(self._options())
            self._drawn.update()

    def _scatter(self) -> None:
        names = [one.name for one in self._axes]
        fitting = sorted(self._axes, key=lambda one: ("value", "time", "category").index(one.kind))
        self._y = self._y if self._y in names else fitting[0].name
        self._x = self._x if self._x in names else fitting[1].name

        def turn() -> None:
            self._x, self._y = str(across.value), str(up.value)
            self._update()

        with ui.element("div").classes("jig-line"):
            across = ui.select(names, label=say("history.scatter.x"), value=self._x, on_change=turn)
            up = ui.select(names, label=say("history.scatter.y"), value=self._y, on_change=turn)
            for field in (across, up):
                field.props("outlined dense options-dense").classes("jig-axis")
        self._drawn = self._chart(self._options(), say("history.scatter"))

    def _chart(self, options: dict[str, Any], label: str) -> ui.echart:
        chart = ui.echart(options, renderer="svg").classes("jig-chart jig-chart-tall")
        chart.props('role="img"').props["aria-label"] = label
        return chart


def parallel(ids: Sequence[str], axes: Sequence[Axis]) -> dict[str, Any]:
    """A line for each run through all axes, in the colour of the last one that has numbers."""
    found: dict[str, Any] = {
        "animation": False,
        "parallelAxis": [{"dim": at, **one.options()} for at, one in enumerate(axes)],
        "parallel": {"left": 50, "right": 110, "top": 40, "bottom": 30},
        "tooltip": {"trigger": "item"},
        "series": [
            {
                "type": "parallel",
                "lineStyle": {"width": 1.5, "opacity": 0.6},
                "data": [
                    {"name": run, "value": [one.values[at] if one.values[at] is not None else "-" for one in axes]}
                    for at, run in enumerate(ids)
                ],
            }
        ],
    }
    for at in reversed(range(len(axes))):
        numbers = [value for value in axes[at].values if value is not None]
        if axes[at].kind == "value" and min(numbers, default=0) < max(numbers, default=0):
            found["visualMap"] = {
                "type": "continuous", "dimension": at, "min": min(numbers), "max": max(numbers), "calculable": False,
                "show": False, "inRange": {"color": COLOURS},
            }  # fmt: skip
            break
    return found


def scatter(ids: Sequence[str], x: Axis, y: Axis) -> dict[str, Any]:
    """A point for each run that has both."""
    return {
        "animation": False,
        "grid": {"left": 70, "right": 40, "top": 40, "bottom": 50},
        "tooltip": {"trigger": "item"},
        "xAxis": {**x.options(), "nameLocation": "middle", "nameGap": 30, "splitLine": {"lineStyle": {"color": LINE}}},
        "yAxis": {**y.options(), "splitLine": {"lineStyle": {"color": LINE}}},
        "textStyle": {"color": TEXT},
        "series": [
            {
                "type": "scatter",
                "symbolSize": 9,
                "itemStyle": {"color": "var(--jig-accent)", "opacity": 0.75},
                "data": [
                    {"name": run, "value": [x.values[at], y.values[at]]}
                    for at, run in enumerate(ids)
                    if x.values[at] is not None and y.values[at] is not None
                ],
            }
        ],
    }
