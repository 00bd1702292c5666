"""What is wrong with the text: its lines marked, and a list as the command line has it."""

from __future__ import annotations

import os
from collections.abc import Sequence

from nicegui import ui

from jig.errors import Fault
from jig.workbench.words import say


class Faults:
    """The faults of the text in an editor; stands where it is made."""

    def __init__(self, text: ui.codemirror) -> None:
        self._text = text
        self._place = ui.element("div").classes("jig-faults").props('aria-live="polite"')

    def clear(self) -> None:
        """Take the list away."""
        self._place.clear()

    def show(self, found: Sequence[Fault], is_checked: bool) -> None:
        """Mark the lines and list the faults; of a file that is checked it is said when there are none."""
        lines: dict[int, str] = {}
        for fault in found:
            said = f"{fault.message}\nfix: {fault.fix}" if fault.fix else fault.message
            lines[fault.line or 1] = "\n".join(filter(None, (lines.get(fault.line or 1), said)))
        last = (self._text.value or "").count("\n") + 1
        self._text.decorations = [
            {"kind": "line", "line": line, "class": "jig-fault-line"} for line in lines if line <= last
        ]
        self._text.props["line-tooltips"] = lines
        self._place.clear()
        with self._place:
            for fault in found:
                self._one(fault)
            if is_checked and not found:
                ui.label(say("editor.no_faults")).classes("jig-soft")

    def _one(self, fault: Fault) -> None:
        """A fault; a click shows its line."""
        name = os.path.basename(fault.file)
        button = ui.element("button").classes("jig-fault").props('type="button"')
        with button.on("click", lambda: self._text.reveal_line(fault.line or 1)):
            place = f"{name}:{fault.line}" if fault.line else name
            ui.label(place).classes("jig-fault-place")
            with ui.element("div"):
                ui.label(fault.message)
                if fault.fix:
                    ui.label(say("editor.fix", fix=fault.fix)).classes("jig-soft")
