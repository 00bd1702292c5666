"""What can be done with a run: end it, make it again, put the project's folder back to what it had."""

from __future__ import annotations

from nicegui import ui

from jig import submit as pipeline
from jig.cli.here import project_around
from jig.cli.project import restored
from jig.cli.reproduce import check_is_one, table
from jig.reproduce import Made, reproduce
from jig.workbench import cancel
from jig.workbench.dialogs import dialog
from jig.workbench.run_seen import Seen
from jig.workbench.session import Session
from jig.workbench.trouble import Trouble
from jig.workbench.words import say


def buttons(session: Session, seen: Seen) -> None:
    """The buttons, where this is called."""
    found = seen.found
    if not seen.final:
        end = ui.button(say("actions.cancel"), on_click=lambda: cancel.ask(session, found.id))
        end.props("outline no-caps icon=stop color=negative")
    if found.nested:
        return
    again = ui.button(say("actions.reproduce"), on_click=lambda: _reproduce(session, seen))
    again.props("outline no-caps icon=replay")
    back = ui.button(say("actions.restore"), on_click=lambda: _restore(session, seen))
    back.props("outline no-caps icon=settings_backup_restore")


async def _reproduce(session: Session, seen: Seen) -> None:
    """Show what would be the same, and make it when that is wanted."""
    warnings: list[str] = []

    def make(dry: bool) -> Made:
        check_is_one(seen.found, seen.plan)
        root = project_around(session.here().root, seen.plan)
        return reproduce(seen.found, pipeline.Wanted(root, "", followed=False), pipeline.Teller(warnings.append), dry)

    async def go() -> None:
        with place:
            yes.props("loading")
            try:
                made = await session.work(lambda: make(False))
            finally:
                yes.props(remove="loading")
            if made.submitted is not None:
                made.submitted.held.release()
                ui.navigate.to(f"/runs/{made.submitted.handle.run_id}")

    with dialog(say("actions.reproduce.title", run=seen.found.id), wide=True) as shown:
        ui.label(say("actions.reproduce.text")).classes("jig-soft")
        text = ui.label(say("actions.looking")).classes("jig-pre").props('tabindex="0"')
        place = Trouble()
        with ui.element("div").classes("jig-line jig-end"):
            ui.button(say("actions.close"), on_click=shown.close).props("flat no-caps")
            yes = ui.button(say("actions.reproduce"), on_click=go).props("unelevated no-caps icon=replay")
    with place:
        told = (await session.work(lambda: make(True))).reproduces
        text.set_text("\n".join([*warnings, table(told)]).rstrip())
        return
    text.set_text("")
    yes.disable()


def _restore(session: Session, seen: Seen) -> None:
    """Ask, and put the folder back; what would be lost is refused unless it is insisted on."""

    async def go() -> None:
        from jig.frozen import Frozen
        from jig.restore import restore

        with place:
            said.set_text("")
            told: list[str] = []
            root = project_around(session.here().root, seen.plan)
            force = bool(insist.value)
            done = await session.work(
                lambda: restore(root, Frozen(seen.found), str(seen.plan["project"]), force, told.append)
            )
            said.set_text("\n".join([*told, *restored(done, root, seen.found.id)]))

    with dialog(say("actions.restore.title", run=seen.found.id)) as shown:
        ui.label(say("actions.restore.text")).classes("jig-soft")
        insist = ui.checkbox(say("actions.restore.force"))
        place = Trouble()
        said = ui.label().classes("jig-pre-wrap").props('role="status"')
        with ui.element("div").classes("jig-line jig-end"):
            ui.button(say("actions.close"), on_click=shown.close).props("flat no-caps autofocus")
            ui.button(say("actions.restore"), on_click=go).props("unelevated no-caps")
