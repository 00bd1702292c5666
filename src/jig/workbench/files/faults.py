"""What is wrong with the text: its lines marked, and a list as the command line has it."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence

from nicegui import ui

from jig.errors import Fault
from jig.workbench.words import say

# Not by the element's properties: what those send brings the whole text along, as the server knows it, and on a slow
# way to it that is older than what the person has typed by then.
MARK = """(async () => {
  const element = getElement(%d);
  await element.editorPromise;
  const shown = Object.entries(%s).filter(([line]) => line <= element.editor.state.doc.lines);
  element.setDecorations(shown.map(([line]) => ({kind: "line", line: Number(line), class: "jig-fault-line"})));
  element.setLineTooltips(Object.fromEntries(shown));
})()"""


class Faults:
    """The faults of the text in an editor; stands where it is made."""

    def __init__(self, text: ui.codemirror) -> None:
        self._text = text
        self._place = ui.element("div").classes("jig-faults").props('aria-live="polite"')

    def clear(self) -> None:
        """Take the list away, and the marks."""
        self._place.clear()
        self._mark({})

    def _mark(self, lines: dict[int, str]) -> None:
        ui.run_javascript(MARK % (self._text.id, json.dumps(lines)))

    def show(self, found: Sequence[Fault], is_checked: bool, fixes: dict[int, str]) -> None:
        """Mark the lines and list the faults; of a file that is checked it is said when there are none.

        `fixes`: what the text would be without a fault, by its place in the list.
        """
        lines: dict[int, str] = {}
        for fault in found:
            said = f"{fault.message}\n{say('editor.fix', fix=fault.fix)}" if fault.fix else fault.message
            lines[fault.line or 1] = "\n".join(filter(None, (lines.get(fault.line or 1), said)))
        self._mark(lines)
        self._place.clear()
        with self._place:
            for at, fault in enumerate(found):
                self._one(fault, fixes.get(at))
            if is_checked and not found:
                ui.label(say("editor.no_faults")).classes("jig-soft")

    def _one(self, fault: Fault, fixed: str | None) -> None:
        """A fault; a click shows its line, another one mends it where that is sure."""
        name = os.path.basename(fault.file)
        with ui.element("div").classes("jig-fault-row"):
            button = ui.element("button").classes("jig-fault").props('type="button"')
            with button.on("click", lambda: self._text.reveal_line(fault.line or 1)):
                place = f"{name}:{fault.line}" if fault.line else name
                ui.label(place).classes("jig-fault-place")
                with ui.element("div"):
                    ui.label(fault.message)
                    if fault.fix:
                        ui.label(say("editor.fix", fix=fault.fix)).classes("jig-soft")
            if fixed is not None:  # the text is checked again then, and Undo brings back what was there
                fix = ui.button(say("targets.fix.short"), on_click=lambda: self._text.set_value(fixed))
                fix.props("outline no-caps dense size=sm").classes("jig-fix-button")
                fix.props["aria-label"] = say("targets.fix", what=fault.message)
