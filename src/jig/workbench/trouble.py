"""Errors shown in place: the same message and hint as on the command line."""

from __future__ import annotations

from types import TracebackType

from nicegui import ui

from jig.cli.terminal import printable
from jig.errors import JigError
from jig.workbench.words import say


class Trouble:
    """A place of a page where an error is shown: `with trouble:` around what may fail; empty while nothing has."""

    def __init__(self) -> None:
        """Stands where it is made."""
        self._place = ui.element("div").classes("jig-trouble-place").props('aria-live="polite"')

    def __enter__(self) -> Trouble:
        self._place.clear()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> bool:
        if not isinstance(error, JigError):
            return False
        with self._place:
            show(error)
        return True

    def clear(self) -> None:
        """Take the error away."""
        self._place.clear()


def show(error: JigError) -> None:
    """The message and the hint, as plain text with its line breaks."""
    with ui.element("div").classes("jig-trouble").props('role="alert"'):
        ui.icon("error_outline").props('aria-hidden="true"')
        with ui.element("div"):
            ui.label(printable(error.message, keep="\n\t")).classes("jig-trouble-message")
            if error.hint:
                with ui.element("div").classes("jig-trouble-hint"):
                    ui.label(say("trouble.hint")).classes("jig-strong")
                    ui.label(printable(error.hint, keep="\n\t"))
