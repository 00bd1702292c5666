"""Curves of runs over each other: the points that `jig history plot` draws, fewer where a pixel has many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nicegui import ui

from jig.cli.plot_curves import Sheet, Wanted, thinned
from jig.cli.side_by_side import letters
from jig.plot.chart import STEP, TIME, Chart
from jig.store.queries import Found
from jig.workbench.chosen import Chosen
from jig.workbench.pages.axes import LINE, TEXT
from jig.workbench.session import Session
from jig.workbench.words import say

FIRST = 4  # metrics that are drawn to begin with
PIXELS = 600  # a chart is hardly wider; of each pixel the highest and the lowest stay
DASHES = ("solid", "dashed", "dotted")


def drawn(found: Sequence[Found], wanted: Wanted) -> list[Chart]:
    """The charts; blocks while files are read."""
    return [thinned(chart, PIXELS) for chart in Sheet(found, wanted).charts(patient=True)]


def names(found: Sequence[Found]) -> list[str]:
    """The metrics that can be drawn."""
    sheet = Sheet(found, Wanted())
    for source in sheet.sources:
        source.look()
    return sheet.names()


async def build(session: Session, found: Sequence[Found]) -> None:
    """A chart for each chosen metric, with a curve for each run."""
    known = await session.work(lambda: names(found))
    if not known:
        return

    async def draw() -> None:
        wanted = Wanted(tuple(metrics.value), x=TIME if by_time.value else STEP, log=bool(log.value))
        await chosen.show("", lambda: drawn(found, wanted) if wanted.metrics else [], put)

    def put(charts: list[Chart]) -> None:
        for chart in charts:
            one = ui.echart(options(chart, [run.id for run in found]), renderer="svg").classes("jig-chart")
            one.props('role="img"').props["aria-label"] = chart.title

    ui.label(say("compare.curves")).classes("jig-title").props('role="heading" aria-level="2"')
    with ui.element("div").classes("jig-line"):
        metrics = ui.select(known, label=say("compare.curves.metrics"), value=known[:FIRST], multiple=True)
        metrics.props("outlined dense options-dense use-chips").classes("jig-grow").on_value_change(draw)
        by_time = ui.switch(say("compare.curves.time"), on_change=draw).props("dense")
        log = ui.switch(say("compare.curves.log"), on_change=draw).props("dense")
    chosen = Chosen(session, ui.element("div").classes("jig-curves"))
    await draw()


def options(chart: Chart, runs: Sequence[str]) -> dict[str, Any]:
    """The chart for ECharts: what is not a finite number is a gap."""
    from jig.workbench.pages.compare import COLOURS

    letter = dict(zip(runs, letters(len(runs)), strict=True))
    axis = {"axisLabel": {"color": TEXT}, "axisLine": {"lineStyle": {"color": TEXT}}}
    axis |= {"splitLine": {"lineStyle": {"color": LINE}}}
    series = []
    for curve in chart.curves:
        at = runs.index(curve.label)
        points = [
            [x, y if y - y == 0.0 and (y > 0 or not chart.log) else None]
            for x, y in zip(curve.xs, curve.ys, strict=True)
        ]
        colour = COLOURS[at % len(COLOURS)]
        series.append(
            {
                "type": "line",
                "name": letter[curve.label],
                "data": points,
                "showSymbol": len(points) < 50,
                "symbolSize": 4,
                "itemStyle": {"color": colour},
                "lineStyle": {"color": colour, "width": 1.5, "type": DASHES[at // len(COLOURS) % len(DASHES)]},
            }
        )
    return {
        "animation": False,
        "title": {"text": chart.title, "textStyle": {"color": TEXT, "fontSize": 13}, "left": 0, "top": 0},
        "legend": {"show": True, "right": 0, "top": 0, "textStyle": {"color": TEXT}},
        "grid": {"left": 60, "right": 16, "top": 36, "bottom": 44},
        "tooltip": {"trigger": "axis"},
        "dataZoom": [{"type": "inside", "filterMode": "none"}],
        "xAxis": {
            **axis, "type": "value", "scale": True, "nameLocation": "middle", "nameGap": 26,
            "name": say("compare.curves.x.time" if chart.x == TIME else "compare.curves.x.step"),
            "nameTextStyle": {"color": TEXT},
        },
        "yAxis": {**axis, "type": "log" if chart.log else "value", "scale": True},
        "series": series,
    }  # fmt: skip
