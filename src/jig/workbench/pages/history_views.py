"""Saved views: a query, an order and columns under a name, kept for the project."""

from __future__ import annotations

from nicegui import ui

from jig.errors import UsageError
from jig.workbench.remembered import View
from jig.workbench.trouble import Trouble
from jig.workbench.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jig.workbench.pages.history import History

LONGEST = 80


class Views:
    """A button with a menu: what was saved, and how to save what is shown."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._plain = history.view
        with ui.button(say("history.views"), icon="bookmark_border").props("outline no-caps"):
            self._menu = ui.menu().classes("jig-menu")
        self._fill()

    def _fill(self) -> None:
        session = self._history.session
        self._menu.clear()
        with self._menu:
            ui.menu_item(say("history.views.all"), lambda: self._history.look(self._plain))
            for view in session.kept.views:
                if view.project == self._history.view.project:
                    self._item(view)
            ui.separator()
            ui.menu_item(say("history.views.save"), self._ask)

    def _item(self, view: View) -> None:
        with ui.menu_item(on_click=lambda: self._history.look(view)), ui.element("div").classes("jig-line jig-full"):
            ui.label(view.name).classes("jig-grow")
            away = ui.button(icon="close").props("flat round dense size=sm").classes("jig-tool")
            away.on("click.stop", lambda: self._forget(view))
            away.props["aria-label"] = say("history.views.forget", name=view.name)

    def _forget(self, view: View) -> None:
        session = self._history.session
        session.keep(session.kept._replace(views=tuple(one for one in session.kept.views if one != view)))
        self._menu.close()
        self._fill()

    def _ask(self) -> None:
        """Ask for a name, and save what is shown under it."""
        session, view = self._history.session, self._history.view

        def save() -> None:
            with trouble:
                name = (field.value or "").strip()
                if not name or len(name) > LONGEST or not name.isprintable():
                    raise UsageError(say("history.views.bad", most=LONGEST))
                others = [one for one in session.kept.views if (one.project, one.name) != (view.project, name)]
                session.keep(session.kept._replace(views=(*others, view._replace(name=name))))
                dialog.close()
                self._fill()

        with ui.dialog() as dialog, ui.card().classes("jig-dialog"):
            dialog.props["aria-label"] = say("history.views.save")
            ui.label(say("history.views.title")).classes("jig-title").props('role="heading" aria-level="2"')
            field = ui.input(say("history.views.name"), value=view.name).classes("jig-full")
            field.props("outlined dense autofocus spellcheck=false").on("keydown.enter", save)
            trouble = Trouble()
            with ui.element("div").classes("jig-line jig-end"):
                ui.button(say("history.cancel"), on_click=dialog.close).props("flat no-caps")
                ui.button(say("history.save"), on_click=save).props("unelevated no-caps")
        dialog.on("hide", dialog.delete)
        dialog.open()
