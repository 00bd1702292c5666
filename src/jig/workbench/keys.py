"""Keyboard shortcuts: an element that has a key is clicked by it, and a sheet lists them all."""

from __future__ import annotations

from nicegui import ui

from jig.workbench.words import say


class Sheet:
    """The help sheet of one page."""

    def __init__(self) -> None:
        """Shown by `open`."""
        self._keys: list[tuple[str, str]] = []
        ui.context.client.jig_sheet = self  # type: ignore[attr-defined]
        self._dialog = ui.dialog().props(f'aria-label="{say("frame.help.title")}"')

    def add(self, element: ui.element, key: str, text: str) -> None:
        """Give the element this key: one, or two one after the other with a space between."""
        element.props(f'data-key="{key}" aria-keyshortcuts="{key}"')
        self._keys.append((key, text))

    def open(self) -> None:
        """Show it, as it is now."""
        self._dialog.clear()
        with self._dialog, ui.card().classes("jig-sheet"):
            ui.label(say("frame.help.title")).classes("jig-title").props('role="heading" aria-level="2"')
            with ui.element("dl").classes("jig-keys"):
                for key, text in self._keys:
                    with ui.element("dt"):
                        for part in key.split():
                            ui.label(part).classes("jig-key")
                    with ui.element("dd"):
                        ui.label(text)
            ui.label(say("frame.help.note")).classes("jig-soft")
            ui.button(say("frame.help.close"), on_click=self._dialog.close).props("flat no-caps autofocus")
        self._dialog.open()


def sheet() -> Sheet:
    """The sheet of the page that is being built."""
    found: Sheet = ui.context.client.jig_sheet  # type: ignore[attr-defined]
    return found
