"""The doctor's findings: a button makes a fix that is a line of a project file, another one copies it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

from nicegui import ui

from jig.doctor import BAD, OK, WARN, Edit, Finding
from jig.workbench.words import say

Mend = Callable[[Edit], Awaitable[None]]
ICONS = {OK: "check_circle", WARN: "warning", BAD: "cancel", "note": "info"}


def build(found: Iterable[Finding], wants_gpu: bool, mend: Mend | None = None) -> None:
    """List them, the worst first; what only a GPU run minds is a note where no GPU is asked for.

    `mend` makes an edit of a project file, where the place has a way to show what became of it.
    """
    marked = [(_mark(finding, wants_gpu), finding) for finding in found]
    order = [BAD, WARN, "note", OK]
    with ui.element("ul").classes("jig-findings"):
        for mark, finding in sorted(marked, key=lambda one: order.index(one[0])):
            _one(mark, finding, mend)


def _mark(finding: Finding, wants_gpu: bool) -> str:
    return "note" if finding.status == BAD and finding.only_gpu and not wants_gpu else finding.status


def _one(mark: str, finding: Finding, mend: Mend | None) -> None:
    with ui.element("li").classes(f"jig-finding jig-{mark}"):
        icon = ui.icon(ICONS[mark])
        words = {OK: say("findings.ok"), WARN: say("findings.warn"), BAD: say("findings.bad")}
        icon.props["role"], icon.props["aria-label"] = "img", words.get(mark, say("findings.note"))
        with ui.element("div").classes("jig-grow"):
            with ui.element("div"):
                ui.label(finding.what).classes("jig-strong jig-inline")
                ui.label(finding.found).classes("jig-inline jig-said")
            if finding.fix:
                with ui.element("div").classes("jig-fix"):
                    ui.label(say("editor.fix", fix=finding.fix)).classes("jig-grow jig-said jig-soft")
                    if finding.edit is not None and mend is not None:
                        _fix(finding.edit, mend, finding.what)
                    copy(finding.fix, say("targets.copy", what=finding.what))


def _fix(edit: Edit, mend: Mend, what: str) -> None:
    button = ui.button(say("targets.fix.short"), on_click=lambda: mend(edit)).props("outline no-caps dense size=sm")
    button.classes("jig-fix-button").props["aria-label"] = say("targets.fix", what=what)


def copy(text: str, label: str) -> None:
    """A button that copies a text."""

    def do() -> None:
        ui.clipboard.write(text)
        ui.notify(say("targets.copied"))

    button = ui.button(icon="content_copy", on_click=do).props("flat round dense size=sm").classes("jig-tool")
    button.props["aria-label"] = label
    button.tooltip(label)
