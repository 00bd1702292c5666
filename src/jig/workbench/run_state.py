"""The state of a run, as a mark with an icon, a word and a colour: never the colour alone."""

from __future__ import annotations

from nicegui import ui

from jig.store.runs import STATES

ICONS = {
    "queued": "schedule", "preparing": "build", "running": "play_arrow", "completed": "check",
    "failed": "error_outline", "canceled": "block", "lost": "help_outline",
}  # fmt: skip
LOOKS = {word: (state, ICONS[state]) for state, word in STATES.items()}


def mark(state: str) -> None:
    """The mark."""
    look, icon = LOOKS.get(state, ("lost", "help_outline"))
    with ui.element("span").classes(f"jig-state jig-state-{look}"):
        ui.icon(icon).props('aria-hidden="true"')
        ui.label(state)
