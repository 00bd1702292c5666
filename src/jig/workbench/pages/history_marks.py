"""What a person says of runs in the table: tags, a note, archived or not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from nicegui import ui

from jig.store.marks import check_note, tags
from jig.store.queries import Store
from jig.workbench.trouble import Trouble
from jig.workbench.words import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jig.workbench.pages.history import History


async def tag(history: History, runs: Sequence[str]) -> None:
    """Set tags of these runs, or remove some."""
    records = await history.session.read(lambda store: [store.record(run) for run in runs])
    there = list(dict.fromkeys(name for record in records for name in record["tags"]))

    async def save() -> None:
        with trouble:
            words = [word.strip() for word in (field.value or "").split("\n") if word.strip()]
            said = tags(words, list(removed.value) if removed is not None else [])
            await history.session.read(lambda store: _remark(store, runs, tags=said))
            dialog.close()
            await history.marked()

    dialog, body = _dialog(say("history.tag.title"), save)
    removed: ui.select | None = None
    with body:
        field = ui.textarea(say("history.tag.label")).classes("jig-full")
        field.props("outlined autogrow autofocus spellcheck=false")
        field.props["hint"] = say("history.tag.help")
        if there:
            removed = ui.select(there, label=say("history.tag.remove"), value=[], multiple=True, clearable=True)
            removed.classes("jig-full").props("outlined dense use-chips")
        trouble = Trouble()
    dialog.open()


async def note(history: History, runs: Sequence[str]) -> None:
    """Write the note of one run."""
    run = runs[0]
    record = await history.session.read(lambda store: store.record(run))

    async def save() -> None:
        with trouble:
            text = (field.value or "").rstrip()
            check_note(text)
            await history.session.read(lambda store: _remark(store, runs, note=text))
            dialog.close()
            await history.marked()

    dialog, body = _dialog(say("history.note.title", run=run), save)
    with body:
        field = ui.textarea(say("history.note.label"), value=record["note"] or "").classes("jig-full")
        field.props("outlined autogrow autofocus")
        trouble = Trouble()
    dialog.open()


async def archive(history: History, runs: Sequence[str]) -> None:
    """Take these runs out of the lists; where all of them are out already, put them back."""
    with history.trouble:
        records = await history.session.read(lambda store: [store.record(run) for run in runs])
        archived = not all(record["archived"] for record in records)
        await history.session.read(lambda store: _remark(store, runs, archived=archived))
        ui.notify(say("history.archived.done" if archived else "history.archived.undone", count=len(runs)))
        await history.marked()


def _remark(store: Store, runs: Sequence[str], **said: object) -> None:
    for run in runs:
        store.remark(store.find(run, None), **said)


def _dialog(title: str, save: Callable[[], Awaitable[None]]) -> tuple[ui.dialog, ui.element]:
    """A dialog with a title and buttons; the rest stands between them."""
    with ui.dialog() as dialog, ui.card().classes("jig-dialog"):
        dialog.props["aria-label"] = title
        ui.label(title).classes("jig-title").props('role="heading" aria-level="2"')
        body = ui.element("div").classes("jig-full jig-stack")
        with ui.element("div").classes("jig-line jig-end"):
            ui.button(say("history.cancel"), on_click=dialog.close).props("flat no-caps")
            ui.button(say("history.save"), on_click=save).props("unelevated no-caps")
    dialog.on("hide", dialog.delete)
    return dialog, body
