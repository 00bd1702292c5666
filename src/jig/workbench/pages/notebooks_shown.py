"""The project's notebooks as a list with previews, and the server's state with what can be done about it."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Iterator

from nicegui import ui

from jig.workbench import dialogs, frame, trouble
from jig.workbench.chosen import Chosen
from jig.workbench.files.listing import Entry, listing
from jig.workbench.gate import within
from jig.workbench.notebook_file import Cell, Output, read
from jig.workbench.session import Session
from jig.workbench.words import say

if sys.platform != "win32":
    from jig.notebook.known import Known
    from jig.workbench.jupyters import address, jupyters

assert sys.platform != "win32"

LOOK_S = 1.5
MOST = 300
SUFFIX = ".ipynb"
BAD, GOOD, BUSY = ("jig-reach jig-bad", "jig-reach jig-ok", "jig-reach jig-asking")


class Notebooks:
    """The page."""

    def __init__(self, session: Session) -> None:
        """Stands where it is made."""
        self._session, self._project = session, session.here()
        self._jupyters = jupyters(session)
        self._going: Known | None = None
        self._busy = ""
        self._names: list[str] | None = None
        with ui.element("article").classes("jig-target").props(f'aria-label="{say("notebooks.server")}"'):
            dialogs.heading(say("notebooks.server"))
            ui.label(say("notebooks.help")).classes("jig-soft")
            with ui.element("div").props('aria-live="polite"') as self._state:
                self._icon = ui.icon("").props('aria-hidden="true"')
                self._text = ui.label()
            with ui.element("div").classes("jig-line"):
                plain = say("notebooks.plain")
                choices = {"": plain, **{name: name for name in self._project.run_config_names()}}
                self._config = ui.select(choices, value="", label=say("notebooks.config"))
                self._config.props("outlined dense").classes("jig-axis")
                self._start = ui.button(say("notebooks.start"), icon="play_arrow", on_click=self.start)
                self._open = ui.link(say("notebooks.open"), new_tab=True).classes("jig-get-words")
                self._open.props('rel="noopener noreferrer"')
                self._stop = ui.button(say("notebooks.stop"), icon="stop", on_click=self.stop).props("outline")
            for button in (self._start, self._stop):
                button.props("no-caps unelevated")
            self._trouble = trouble.Trouble()
            self._said = ui.label().classes("jig-pre jig-pre-wrap jig-notebook-said").props('tabindex="0"')
            self._said.props["aria-label"] = say("notebooks.said")
        frame.shortcut(self._start, "s", say("notebooks.start"))
        with ui.element("div").classes("jig-columns"):
            self._list = ui.element("section").classes("jig-narrow")
            self._chosen = Chosen(session, ui.element("section").classes("jig-wide"))
        ui.timer(LOOK_S, self.refresh)

    async def refresh(self) -> None:
        """Look at the server and the folder again."""
        going, said, names = await self._session.work(self._look)
        if self._list.is_deleted:
            return
        changed, self._going = going != self._going, going
        self._show_state()
        self._said.set_text(said if going or self._busy else "")
        if names != self._names or changed:
            self._names = names
            self._draw()

    def _look(self) -> tuple[Known | None, str, list[str]]:
        return self._jupyters.going(self._project), self._jupyters.said(self._project), _notebooks(self._project.root)

    def _show_state(self) -> None:
        going = self._going
        if self._busy:
            icon, text, look = "hourglass_empty", self._busy, BUSY
        elif going:
            first = going.config or say("notebooks.plain")
            icon, text, look = "check_circle", say("notebooks.going", config=first), GOOD
        else:
            icon, text, look = "radio_button_unchecked", say("notebooks.none"), BUSY
        self._icon.props["name"] = icon
        self._icon.update()
        self._text.set_text(text)
        self._state.classes(replace=look)
        self._start.set_visibility(not going)
        self._config.set_visibility(not going)
        for shown in (self._open, self._stop):
            shown.set_visibility(going is not None)
        for button in (self._start, self._stop):
            button.set_enabled(not self._busy)
        if going:
            self._open.props["href"] = address(going)
            self._open.update()

    async def start(self) -> None:
        """Start the server, and say what it says meanwhile."""
        config = str(self._config.value or "")
        await self._do(say("notebooks.starting"), self._jupyters.start(self._project, config))

    async def stop(self) -> None:
        """End the server, and its kernels."""
        await self._do(say("notebooks.stopping"), self._session.work(lambda: self._jupyters.stop(self._project)))

    async def _do(self, busy: str, doing: Awaitable[None]) -> None:
        self._busy = busy
        self._show_state()
        try:
            with self._trouble:
                await doing
        finally:
            self._busy = ""
        await self.refresh()

    def _draw(self) -> None:
        self._list.clear()
        with self._list:
            names = self._names or []
            if not names:
                with ui.element("div").classes("jig-empty"):
                    dialogs.heading(say("notebooks.empty.title"))
                    ui.label(say("notebooks.empty"))
                return
            with ui.element("ul").classes("jig-list"):
                for name in names[:MOST]:
                    self._row(name)
            if len(names) > MOST:
                ui.label(say("outputs.more", count=len(names) - MOST)).classes("jig-soft")

    def _row(self, name: str) -> None:
        with ui.element("li").classes("jig-item"):
            with ui.element("button").classes("jig-item-main").on("click", lambda: self._show(name)) as main:
                main.props('type="button"').props["aria-label"] = say("notebooks.show", name=name)
                ui.label(name).classes("jig-wrap")
            if self._going:
                link = ui.link(target=address(self._going, name), new_tab=True).classes("jig-get")
                link.props('rel="noopener noreferrer"').props["aria-label"] = say("notebooks.open.one", name=name)
                with link:
                    ui.icon("open_in_new").props('aria-hidden="true"')

    async def _show(self, name: str) -> None:
        """The preview: text and pictures, nothing that a browser executes."""
        await self._chosen.show(name, lambda: read(within(self._project.root, name)), _cells)


def _cells(found: tuple[list[Cell], int]) -> None:
    cells, count = found
    if not cells:
        ui.label(say("notebooks.no_cells")).classes("jig-soft")
    for cell in cells:
        _cell(cell)
    if count > len(cells):
        ui.label(say("outputs.more", count=count - len(cells))).classes("jig-soft")


def _cell(cell: Cell) -> None:
    with ui.element("div").classes(f"jig-cell jig-cell-{cell.kind}"):
        if cell.kind == "code":
            ui.label(say("notebooks.number", number=cell.number or " ")).classes("jig-cell-number").props(
                'aria-hidden="true"'
            )
        with ui.element("div").classes("jig-cell-body"):
            ui.label(cell.source).classes("jig-pre" if cell.kind == "code" else "jig-cell-words")
            for output in cell.outputs:
                _output(output)


def _output(output: Output) -> None:
    if output.kind == "picture":
        picture = ui.element("img").classes("jig-shown")
        picture.props["src"] = output.content
        picture.props["alt"] = say("notebooks.picture")
    elif output.kind == "hidden":
        ui.label(say("notebooks.hidden", kinds=output.content)).classes("jig-soft")
    else:
        ui.label(output.content).classes(f"jig-cell-said jig-cell-{output.kind}")


def _notebooks(root: str) -> list[str]:
    return list(_below(listing(root).entries))


def _below(entries: tuple[Entry, ...]) -> Iterator[str]:
    for entry in entries:
        if entry.is_folder:
            yield from _below(entry.inside)
        elif entry.name.endswith(SUFFIX) and entry.is_text:
            yield entry.path
