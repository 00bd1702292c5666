"""Dialogs, which are gone from the page when they are closed; questions: one of a few answers, or a line of text."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from nicegui import ui

from jig.workbench.words import say


@contextlib.contextmanager
def dialog(title: str, wide: bool = False) -> Iterator[ui.dialog]:
    """What is built inside the `with` stands in it; it is open afterwards."""
    with _titled(title, wide) as found:
        yield found
    found.on("hide", found.delete)
    found.open()


async def choose(title: str, text: str, answers: dict[str, str], danger: str = "") -> str:
    """Ask; the word of the chosen answer, empty when none was. `answers`: word → what its button says."""
    with _titled(title) as dialog:
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
    with _titled(title) as dialog:
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


@contextlib.contextmanager
def _titled(title: str, wide: bool = False) -> Iterator[ui.dialog]:
    with ui.dialog() as found, ui.card().classes("jig-dialog-wide" if wide else "jig-dialog"):
        found.props["aria-label"] = title
        heading(title)
        yield found


async def _answer(dialog: ui.dialog) -> object:
    dialog.open()
    found = await dialog
    dialog.delete()
    return found
