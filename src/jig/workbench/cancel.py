"""Ending a run from a page: a question first, then what `jig cancel` does."""

from __future__ import annotations

from nicegui import ui

from jig.errors import StoreError
from jig.store.queries import Found
from jig.sweep.children import is_sweep
from jig.workbench.dialogs import dialog
from jig.workbench.session import Session
from jig.workbench.trouble import Trouble
from jig.workbench.words import say


def cancel(found: Found) -> None:
    """End a run, or a sweep with its runs; when this returns no process of it is left. Blocks."""
    if is_sweep(found.plan()):
        from jig.cli.sweep_cancel import cancel as cancel_sweep

        cancel_sweep(found, None)
        return
    from jig.cli.display import cancel as end

    if found.run().final:
        return
    if not end(found.folder, found.machine, None):
        raise StoreError(say("cancel.going", run=found.id), say("cancel.going.hint", run=found.id))
    run = found.run()
    if run.survivors:
        raise StoreError(say("cancel.left", run=found.id, processes=", ".join(map(str, run.survivors))))


def ask(session: Session, run_id: str) -> None:
    """Ask whether to end the run, and end it."""

    async def go() -> None:
        with trouble:
            yes.props("loading")
            try:
                found = await session.read(lambda store: store.find(run_id, None))
                await session.work(lambda: cancel(found))
                shown.close()
            finally:
                yes.props(remove="loading")

    with dialog(say("cancel.title", run=run_id)) as shown:
        ui.label(say("cancel.text")).classes("jig-soft")
        trouble = Trouble()
        with ui.element("div").classes("jig-line jig-end"):
            ui.button(say("cancel.no"), on_click=shown.close).props("flat no-caps autofocus")
            yes = ui.button(say("cancel.yes"), on_click=go).props("unelevated no-caps color=negative")
