"""The doctor's findings, with a button that copies each fix."""

from __future__ import annotations

from collections.abc import Iterable

from nicegui import ui

from jig.doctor import BAD, OK, WARN, Finding
from jig.workbench.words import say

ICONS = {OK: "check_circle", WARN: "warning", BAD: "cancel", "note": "info"}


def build(found: Iterable[Finding], wants_gpu: bool) -> None:
    """List them, the worst first; what only a GPU run minds is a note where no GPU is asked for."""
    marked = [(_mark(finding, wants_gpu), finding) for finding in found]
    order = [BAD, WARN, "note", OK]
    with ui.element("ul").classes("jig-findings"):
        for mark, finding in sorted(marked, key=lambda one: order.index(one[0])):
            _one(mark, finding)


def _mark(finding: Finding, wants_gpu: bool) -> str:
    return "note" if finding.status == BAD and finding.only_gpu and not wants_gpu else finding.status


def _one(mark: str, finding: Finding) -> None:
    with ui.element("li").classes(f"jig-finding jig-{mark}"):
        icon = ui.icon(ICONS[mark])
        icon.props["role"], icon.props["aria-label"] = "img", mark
        with ui.element("div").classes("jig-grow"):
            with ui.element("div"):
                ui.label(finding.what).classes("jig-strong jig-inline")
                ui.label(finding.found).classes("jig-inline jig-said")
            if finding.fix:
                with ui.element("div").classes("jig-fix"):
                    ui.label(say("editor.fix", fix=finding.fix)).classes("jig-grow jig-said jig-soft")
                    copy(finding.fix, say("targets.copy", what=finding.what))


def copy(text: str, label: str) -> None:
    """A button that copies a text."""

    def do() -> None:
        ui.clipboard.write(text)
        ui.notify(say("targets.copied"))

    button = ui.button(icon="content_copy", on_click=do).props("flat round dense size=sm").classes("jig-tool")
    button.props["aria-label"] = label
    button.tooltip(label)
