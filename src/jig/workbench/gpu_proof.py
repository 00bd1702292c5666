"""What a run did with its GPUs, on its page: the verdict, loudly where it is a bad one, and each device."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nicegui import ui

from jig.cli import gpu_text
from jig.cli.terminal import human_duration
from jig.workbench.run_seen import Seen
from jig.workbench.words import say

ICONS = {"used": "verified", "idle": "hourglass_disabled", "not used": "cancel"}
LOOKS = {"used": "ok", "idle": "warn", "not used": "note"}


def show(seen: Seen) -> None:
    """The card."""
    proof: Mapping[str, Any] = seen.record["gpu"] or {}
    verdict = str(proof.get("verdict") or "")
    line, accusation = gpu_text.verdict(proof), gpu_text.accusation(seen.run, 100)
    look = "bad" if accusation else LOOKS.get(verdict, "note")
    with ui.element("section").classes(f"jig-proof jig-{look}") as card:
        card.props["aria-label"] = say("proof.label")
        if not line:
            ui.icon("memory").props('aria-hidden="true"')
            with ui.element("div"):
                ui.label(say("proof.title", verdict=say("proof.none"))).classes("jig-strong")
                ui.label(say("summary.gpu.none")).classes("jig-soft")
            return
        ui.icon(ICONS.get(verdict, "help_outline")).props('aria-hidden="true"')
        with ui.element("div").classes("jig-grow"):
            ui.label(say("proof.title", verdict=verdict)).classes("jig-strong")
            for text in accusation[2:]:
                ui.label(text).classes("jig-job-why")
            ui.label(line.partition(": ")[2]).classes("jig-soft jig-wrap")
            for device in proof.get("devices") or ():
                _device(device)
            if proof.get("driver"):
                ui.label(say("proof.driver", version=proof["driver"])).classes("jig-path")


def _device(device: Mapping[str, Any]) -> None:
    busy, peak = gpu_text.number(device.get("busy_s")), gpu_text.number(device.get("peak_percent"))
    parts = [say("proof.busy", time=human_duration(busy))] if busy is not None else []
    parts += [say("proof.peak", percent=f"{peak:.0f}")] if peak is not None else []
    parts.append(say("proof.memory", size=gpu_text.gib(device.get("peak_memory_bytes"))))
    with ui.element("div").classes("jig-proof-device"):
        ui.label(str(device.get("name") or say("proof.unnamed"))).classes("jig-strong")
        ui.label(", ".join(parts))
        ui.label(str(device.get("uuid") or "")).classes("jig-path")
