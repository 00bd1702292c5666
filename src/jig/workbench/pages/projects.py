"""Projects: open a folder, create one from a template, go back to a recent one."""

from __future__ import annotations

import os

from nicegui import ui

from jig import templates
from jig.cli.terminal import printable
from jig.project.names import FOLDER
from jig.workbench.gate import is_text
from jig.workbench.pages.pictures import picture
from jig.workbench.session import Session
from jig.workbench.trouble import Trouble
from jig.workbench.words import say


def build(session: Session) -> None:
    """The page."""
    with ui.element("div").classes("jig-columns"):
        with ui.element("section").classes("jig-narrow"):
            if not session.kept.recent:
                _empty()
            _open(session)
            _recent(session)
        with ui.element("section").classes("jig-wide"):
            _title(say("projects.new.title"))
            with ui.element("div").classes("jig-gallery"):
                for name in templates.names():
                    _card(session, name)


def _title(text: str) -> None:
    ui.label(text).classes("jig-title").props('role="heading" aria-level="2"')


def _empty() -> None:
    with ui.element("div").classes("jig-empty"):
        _title(say("projects.empty.title"))
        ui.label(say("projects.empty"))


def _open(session: Session) -> None:
    _title(say("projects.open.title"))

    async def go() -> None:
        with trouble:
            await session.open(field.value)

    with ui.element("div").classes("jig-line"):
        field = ui.input(say("projects.open.label")).props("outlined dense spellcheck=false").classes("jig-grow")
        field.on("keydown.enter", go)
        ui.button(say("projects.open"), on_click=go).props("unelevated no-caps")
    trouble = Trouble()


@ui.refreshable
def _recent(session: Session) -> None:
    if not session.kept.recent:
        return
    _title(say("projects.recent"))
    trouble = Trouble()
    with ui.element("ul").classes("jig-list"):
        for root in session.kept.recent:
            _one(session, root, trouble)


def _one(session: Session, root: str, trouble: Trouble) -> None:
    name = printable(os.path.basename(root))
    is_open = session.project is not None and session.project.root == root

    async def go() -> None:
        with trouble:
            await session.open(root)

    async def look() -> None:
        """Whether it is there still; not before the page is shown, because a disk that is away may not answer."""
        is_there = await session.work(lambda: os.path.isdir(os.path.join(root, FOLDER)))
        if not is_there and not button.is_deleted:
            button.props("disabled")
            mark.set_text(say("projects.recent.gone"))
            mark.set_visibility(True)

    def forget() -> None:
        session.forget(root)
        _recent.refresh()

    with ui.element("li").classes("jig-item"):
        with ui.element("button").classes("jig-item-main").on("click", go) as button:
            button.props('type="button"')
            button.props["aria-label"] = say("projects.recent.open", name=name)
            with ui.element("span").classes("jig-item-name"):
                ui.label(name).classes("jig-strong")
                mark = ui.label(say("projects.recent.now")).classes("jig-mark")
                mark.set_visibility(is_open)
            ui.label(printable(root)).classes("jig-path")
        away = ui.button(icon="close", on_click=forget).props("flat round dense size=sm").classes("jig-tool")
        away.props["aria-label"] = say("projects.recent.forget", name=name)
        ui.timer(0, look, once=True)


def _card(session: Session, name: str) -> None:
    with ui.element("button").classes("jig-card").props('type="button"') as card:
        card.props["aria-label"] = say("projects.new.choose", name=name)
        ui.html(picture(name), sanitize=False).classes("jig-picture").props('aria-hidden="true"')
        ui.label(name).classes("jig-strong")
        ui.label(templates.summary(name)).classes("jig-soft")
    card.on("click", lambda: _ask(session, name))


def _ask(session: Session, name: str) -> None:
    """Ask where, and make it there."""

    async def make() -> None:
        with trouble:
            folder = os.path.abspath(os.path.expanduser(field.value.strip() or os.curdir))
            await session.work(lambda: templates.create(name, folder))
            await session.open(folder)

    with ui.dialog() as dialog, ui.card().classes("jig-dialog"):
        dialog.props["aria-label"] = say("projects.new.dialog", name=name)
        _title(say("projects.new.dialog", name=name))
        ui.label(templates.summary(name)).classes("jig-soft")
        field = ui.input(say("projects.new.label"), value=_free(session, name)).classes("jig-full")
        field.props("outlined dense autofocus spellcheck=false").on("keydown.enter", make)
        field.props["hint"] = say("projects.new.help")
        trouble = Trouble()
        with ui.element("div").classes("jig-line jig-end"):
            ui.button(say("projects.new.cancel"), on_click=dialog.close).props("flat no-caps")
            ui.button(say("projects.new.create"), on_click=make).props("unelevated no-caps")
    dialog.on("hide", dialog.delete)
    dialog.open()


def _free(session: Session, name: str) -> str:
    """A folder that is not there yet, beside the open project or where the server was started."""
    beside = os.path.dirname(session.project.root) if session.project else session.start_folder
    tries = (name, *(f"{name}-{number}" for number in range(2, 100)))
    free = next((path for one in tries if not os.path.lexists(path := os.path.join(beside, one))), beside)
    return free if is_text(free) else ""
