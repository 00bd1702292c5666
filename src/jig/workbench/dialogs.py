"""Questions to the person: one of a few answers, or a line of text."""

from __future__ import annotations

from nicegui import ui

from jig.workbench.words import say


async def choose(title: str, text: str, answers: dict[str, str], danger: str = "") -> str:
    """Ask; the word of the chosen answer, empty when none was. `answers`: word → what its button says."""
    with ui.dialog() as dialog, ui.card().classes("jig-dialog"):
        _head(dialog, title)
        ui.label(text).classes("jig-said")
        with ui.element("div").classes("jig-line jig-end"):
            ui.button(say("dialog.cancel"), on_click=lambda: dialog.submit("")).props("flat no-caps")
            for word, label in answers.items():
                button = ui.button(label, on_click=lambda word=word: dialog.submit(word)).props("unelevated no-caps")
                if word == danger:
                    button.props("color=negative")
    return str(await _answer(dialog) or "")


async def ask(title: str, label: str, value: str, action: str, secret: bool = False) -> str | None:
    """Ask for a line of text; None when it was not given."""
    with ui.dialog() as dialog, ui.card().classes("jig-dialog"):
        _head(dialog, title)
        field = ui.input(label, value=value, password=secret).props("outlined dense autofocus spellcheck=false")
        field.classes("jig-full").on("keydown.enter", lambda: dialog.submit(field.value))
        with ui.element("div").classes("jig-line jig-end"):
            ui.button(say("dialog.cancel"), on_click=lambda: dialog.submit(None)).props("flat no-caps")
            ui.button(action, on_click=lambda: dialog.submit(field.value)).props("unelevated no-caps")
    found = await _answer(dialog)
    return None if found is None else str(found)


def heading(text: str) -> ui.label:
    """A title inside a page or dialog."""
    return ui.label(text).classes("jig-title").props('role="heading" aria-level="2"')


def _head(dialog: ui.dialog, title: str) -> None:
    dialog.props["aria-label"] = title
    heading(title)


async def _answer(dialog: ui.dialog) -> object:
    dialog.open()
    found = await dialog
    dialog.delete()
    return found
