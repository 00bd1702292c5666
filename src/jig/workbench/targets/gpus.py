"""The GPUs of a machine on its card: load and memory as they are now, who has them, and who waits."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from nicegui import ui

from jig.cli import gpu, gpu_text
from jig.workbench.targets.load import Answer
from jig.workbench.words import say

TREND = 40  # looks that are kept for the small curve
WIDTH, HEIGHT = 120, 26


class Gpus:
    """Stands where it is made; `show` fills it, and fills it again."""

    def __init__(self) -> None:
        self._place = ui.element("div").classes("jig-gpus")
        self._rows: dict[str, _Row] = {}
        self._said = ""
        self._queue: ui.label | None = None

    def show(self, found: Answer) -> None:
        """What the machine said."""
        look, holders = found["look"], found["holders"]
        devices = {str(device["uuid"]): device for device in look["devices"]}
        said = "\n".join(gpu_text.complaint(look) if devices else gpu_text.nothing(look))
        if list(devices) != list(self._rows) or said != self._said or self._queue is None:
            self._said = said
            self._draw(look, devices)
        for uuid, device in devices.items():
            mine = [holder for holder in holders if uuid in gpu.held(holder)]
            self._rows[uuid].show(device, gpu.device_lines(device, mine, found["time"]))
        if self._queue is not None:
            self._queue.text = "\n".join(gpu.waiting_lines(holders, found["time"])) or say("targets.queue.none")

    def _draw(self, look: Mapping[str, Any], devices: Mapping[str, Mapping[str, Any]]) -> None:
        self._place.clear()
        trends = {uuid: row.trend for uuid, row in self._rows.items()}
        self._rows = {}
        with self._place:
            if self._said:
                ui.label(self._said).classes("jig-soft jig-said")
            for uuid, device in devices.items():
                self._rows[uuid] = _Row(device, trends.get(uuid))
            with ui.element("dl").classes("jig-facts jig-card-facts"):
                with ui.element("dt"):
                    ui.label(say("targets.queue"))
                with ui.element("dd"):
                    self._queue = ui.label().classes("jig-said")


class _Row:
    """One device."""

    def __init__(self, device: Mapping[str, Any], trend: deque[float | None] | None) -> None:
        self.trend: deque[float | None] = trend if trend is not None else deque(maxlen=TREND)
        self._index = str(device["index"])
        with ui.element("section").classes("jig-gpu"):
            with ui.element("div").classes("jig-line"):
                name = ui.label(say("gpus.one", index=self._index, name=str(device["name"])))
                name.classes("jig-strong jig-grow jig-cut").tooltip(str(device["uuid"]))
                self._about = ui.label().classes("jig-soft jig-small")
                self._curve = ui.html("", sanitize=False).classes("jig-trend").props('aria-hidden="true"')
            self._load, self._load_said = self._meter(say("gpus.load"))
            self._memory, self._memory_said = self._meter(say("gpus.memory"))
            self._who = ui.label().classes("jig-soft jig-small jig-said")

    def _meter(self, what: str) -> tuple[ui.element, ui.label]:
        with ui.element("div").classes("jig-metered"):
            ui.label(what).classes("jig-soft")
            with ui.element("div").classes("jig-meter") as meter:
                meter.props('role="meter" aria-valuemin="0" aria-valuemax="100"')
                meter.props["aria-label"] = say("gpus.label", what=what, index=self._index)
                ui.element("div")
            return meter, ui.label().classes("jig-number")

    def show(self, device: Mapping[str, Any], who: list[str]) -> None:
        """As it is now; `who` are the lines about leases and processes."""
        busy, total, free = (gpu_text.number(device.get(key)) for key in ("busy_percent", "memory_bytes", "free_bytes"))
        self.trend.append(busy)
        _fill(self._load, busy)
        self._load_said.text = say("gpus.unknown") if busy is None else say("gpus.percent", percent=f"{busy:.0f}")
        if total and free is not None:
            _fill(self._memory, 100 * (total - free) / total)
            self._memory_said.text = say("gpus.of", used=gpu_text.gib(total - free), total=gpu_text.gib(total))
        else:
            _fill(self._memory, None)
            self._memory_said.text = say("gpus.unknown")
        self._about.text = ", ".join(gpu.power_and_heat(device))
        self._curve.content = curve(list(self.trend))
        self._who.text = "\n".join(line.strip() for line in who)


def _fill(meter: ui.element, percent: float | None) -> None:
    meter.props["aria-valuenow"] = f"{percent or 0:.0f}"
    meter.default_slot.children[0].style(f"width: {min(100.0, percent or 0.0):.1f}%")
    meter.update()


def curve(values: list[float | None]) -> str:
    """The last loads as a small drawing: numbers only, so that it can be nothing else."""
    step = WIDTH / (TREND - 1)
    first = TREND - len(values)
    points = " ".join(
        f"{(first + at) * step:.1f},{HEIGHT - 2 - min(value, 100.0) / 100 * (HEIGHT - 4):.1f}"
        for at, value in enumerate(values)
        if value is not None
    )
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"><polyline points="{points}" '
        'fill="none" stroke="var(--jig-accent)" stroke-width="1.5"/></svg>'
    )
