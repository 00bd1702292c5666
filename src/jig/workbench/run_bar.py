"""The run bar: Run submits as the command line does, Plan shows what that would do."""

from __future__ import annotations

import os
import shlex
from collections.abc import Awaitable, Callable

from nicegui import ui

from jig import submit as pipeline
from jig.errors import JigError, UsageError
from jig.workbench import frame, trouble
from jig.workbench.dialogs import dialog
from jig.workbench.gate import is_text
from jig.workbench.session import Session
from jig.workbench.words import say

SCRIPTS = (".py", ".sh", ".R", ".ipynb")
NEVER = {"aml_config", "__pycache__", "node_modules", "outputs"}
MOST_SCRIPTS = 300
MOST_FOLDERS = 2000

Saver = Callable[[], Awaitable[None]]


async def build(session: Session) -> None:
    """The bar."""
    project = session.here()

    def look() -> tuple[list[str], list[str]]:
        try:
            return list(project.run_config_names()), scripts(project.root)
        except JigError:  # the folder is away: the page says so, and Run does
            return [], []

    RunBar(session, project.root, *await session.work(look))


def save_first(saver: Saver) -> None:
    """Call this before a run of the page that is being built is submitted: what is edited in it is part of the code."""
    client = ui.context.client
    if not hasattr(client, "jig_savers"):
        client.jig_savers = []  # type: ignore[attr-defined]
    client.jig_savers.append(saver)  # type: ignore[attr-defined]


def scripts(root: str) -> list[str]:
    """What could be run, those at the top first; of a very large folder, what is found soon."""
    found: list[str] = []
    for count, (folder, folders, names) in enumerate(os.walk(root)):
        folders[:] = sorted(one for one in folders if one not in NEVER and not one.startswith(".") and is_text(one))
        below = os.path.relpath(folder, root)
        found += [os.path.normpath(os.path.join(below, name)) for name in sorted(names) if _is_script(name)]
        if len(found) >= MOST_SCRIPTS or count >= MOST_FOLDERS:
            break
    return sorted(found[:MOST_SCRIPTS], key=lambda path: (path.count(os.sep), path))


def _is_script(name: str) -> bool:
    return name.endswith(SCRIPTS) and is_text(name)


class RunBar:
    """The fields, which keep what was typed from page to page, and the two buttons."""

    def __init__(self, session: Session, root: str, names: list[str], known: list[str]) -> None:
        """Stands where it is made; with the run configurations and the scripts that it offers."""
        self._session, self._root = session, root
        typed = session.typed.get(root) or (
            "local" if "local" in names else names[0] if names else None,
            "train.py" if "train.py" in known else known[0] if known else "",
            "",
        )
        config = typed[0] if typed[0] in names else None
        self._config = ui.select(names, value=config, label=say("bar.config"))
        self._config.props("outlined dense options-dense").classes("jig-bar-config")
        listed = f"jig-scripts-{self._config.id}"
        self._script = ui.input(say("bar.script"), value=typed[1]).classes("jig-bar-script")
        self._script.props(f"outlined dense spellcheck=false list={listed}").on("keydown.enter", self._run)
        with ui.element("datalist").props(f"id={listed}"):
            for path in known:
                ui.element("option").props["value"] = path
        self._arguments = ui.input(say("bar.arguments"), value=typed[2]).classes("jig-bar-arguments")
        self._arguments.props("outlined dense spellcheck=false").on("keydown.enter", self._run)
        plan = ui.button(say("bar.plan"), on_click=self._plan).props("flat no-caps dense").classes("jig-bar-plan")
        plan.tooltip(say("bar.plan.help"))
        self._button = ui.button(say("bar.run"), on_click=self._run).props("unelevated no-caps icon=play_arrow")
        frame.shortcut(self._button, "x", say("bar.run.key"))

    def _wanted(self) -> pipeline.Wanted:
        if not self._config.value:
            self._session.here().run_config_names()  # why there is none to choose, if there is a reason
            raise UsageError(say("bar.config.none"), say("bar.config.none.hint"))
        script = (self._script.value or "").strip()
        try:
            arguments = tuple(shlex.split(self._arguments.value or ""))
        except ValueError as error:
            raise UsageError(say("bar.arguments.wrong", why=error), say("bar.arguments.wrong.hint")) from error
        self._session.typed[self._root] = (self._config.value, script, self._arguments.value or "")
        return pipeline.Wanted(self._root, str(self._config.value), script or None, arguments, followed=False)

    async def _saved(self) -> None:
        if self._session.here().root != self._root:  # the page stayed, because something in it is not saved
            raise UsageError(say("bar.elsewhere", project=self._root), say("bar.elsewhere.hint"))
        for saver in getattr(ui.context.client, "jig_savers", ()):
            await saver()

    async def _run(self) -> None:
        warnings: list[str] = []
        self._button.props("loading")
        try:
            await self._saved()
            wanted = self._wanted()
            submitted = await self._session.work(lambda: pipeline.submit(wanted, pipeline.Teller(warnings.append)))
            submitted.held.release()
            frame.show_jobs()
            ui.notify(say("bar.started", run=submitted.handle.run_id), type="positive", position="bottom-left")
        except JigError as error:
            _tell(error)
        finally:
            self._button.props(remove="loading")
        for text in warnings:
            ui.notify(text, type="warning", position="bottom-left", multi_line=True)

    async def _plan(self) -> None:
        from jig.plan_text import render

        warnings: list[str] = []

        def look(wanted: pipeline.Wanted) -> str:
            return render(*pipeline.dry_run(wanted, pipeline.Teller(warnings.append)))

        async def run() -> None:
            shown.close()
            assert self._button.parent_slot is not None
            with self._button.parent_slot:  # what is said of it stands in the bar: the dialog is gone by then
                await self._run()

        try:
            await self._saved()
            wanted = self._wanted()
            text = await self._session.work(lambda: look(wanted))
        except JigError as error:
            _tell(error)
            return
        with dialog(say("bar.plan.title"), wide=True) as shown:
            for warning in warnings:
                ui.label(warning).classes("jig-job-why")
            ui.label(text).classes("jig-pre").props('tabindex="0"')
            with ui.element("div").classes("jig-line jig-end"):
                ui.button(say("bar.close"), on_click=shown.close).props("flat no-caps")
                ui.button(say("bar.run"), on_click=run).props("unelevated no-caps icon=play_arrow")


def _tell(error: JigError) -> None:
    with dialog(say("bar.failed")) as shown:
        trouble.show(error)
        with ui.element("div").classes("jig-line jig-end"):
            ui.button(say("bar.close"), on_click=shown.close).props("flat no-caps autofocus")
