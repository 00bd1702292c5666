"""Choosing columns: everything that a run's record has, and whatever runs have logged."""

from __future__ import annotations

from nicegui import ui

from jig.store import keys
from jig.store.queries import Store
from jig.workbench.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jig.workbench.pages.history import History


def known(store: Store) -> list[str]:
    """The names that can be columns: metrics and parameters first, then what every record has, then tags."""
    logged = store.index.names()
    plain = [name if name not in keys.OWN else f"{space}.{name}" for space, name in logged if space != "tags"]
    tags = [f"{space}.{name}" for space, name in logged if space == "tags"]
    return list(dict.fromkeys((*plain, *keys.OWN, *tags)))


async def ask_for_columns(history: History) -> None:
    """A list to choose from; the table follows at once."""
    names = await history.session.read(known)
    now = history.view.columns

    async def choose() -> None:
        await history.look(history.view._replace(columns=tuple(field.value)))

    with ui.dialog() as dialog, ui.card().classes("jig-dialog"):
        dialog.props["aria-label"] = say("history.columns.title")
        ui.label(say("history.columns.title")).classes("jig-title").props('role="heading" aria-level="2"')
        ui.label(say("history.columns.help")).classes("jig-soft")
        field = ui.select(
            list(dict.fromkeys((*now, *names))),
            label=say("history.columns.label"),
            value=list(now),
            multiple=True,
            with_input=True,
            clearable=True,
            on_change=choose,
        ).classes("jig-full")
        field.props("outlined use-chips options-dense")
        with ui.element("div").classes("jig-line jig-end"):
            ui.button(say("history.close"), on_click=dialog.close).props("unelevated no-caps")
    dialog.on("hide", dialog.delete)
    dialog.open()
