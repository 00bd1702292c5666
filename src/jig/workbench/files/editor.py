"""The editor of one file: its text, what is wrong with it, its form, and what happens when it changes elsewhere."""

from __future__ import annotations

import asyncio

from nicegui import ui

from jig.errors import Fault, JigError
from jig.workbench import dialogs, keys
from jig.workbench.files import checks, completion, document, form, mending
from jig.workbench.files.faults import Faults
from jig.workbench.gate import within
from jig.workbench.session import Session
from jig.workbench.trouble import Trouble
from jig.workbench.words import say

CHECK_AFTER_S = 0.25  # of not typing
LEAVING = "window.onbeforeunload = {dirty} ? (e => e.preventDefault()) : null"


class Editor:
    """Edits one file of the project at a time."""

    def __init__(self, session: Session) -> None:
        """Stands where it is made: the text in the middle, the form at the right."""
        self._session, self._root = session, session.here().root
        self.path = ""  # from the project's folder; empty: none is open
        self._asked = ""  # what is being read
        self._document: document.Document | None = None
        self._was_dirty = False
        self._typed = 0
        self._shown: object = None
        with ui.element("section").classes("jig-editor") as self._panel:
            self._panel.props["aria-label"] = say("editor.label")
            with ui.element("div").classes("jig-line jig-editor-head"):
                self._name = ui.label().classes("jig-strong jig-grow jig-path-name")
                self._state = ui.label().classes("jig-soft").props('aria-live="polite"')
                self._save = ui.button(say("editor.save"), on_click=self.save).props("unelevated no-caps dense")
                keys.sheet().add(self._save, "Ctrl+s", say("editor.save"))
            self.trouble = Trouble()
            self._empty = ui.label(say("editor.none")).classes("jig-empty")
            self._text = ui.codemirror("", on_change=self._changed, keymap={"Mod-s": self._save_by_key}, indent="  ")
            self._text.classes("jig-code")
            self._faults = Faults(self._text)
        self._form = ui.element("aside").classes("jig-form")
        self._form.props["aria-label"] = say("form.title")
        self._form_trouble: Trouble | None = None
        self._show()

    @property
    def is_dirty(self) -> bool:
        """Whether there is something to save."""
        return self._document is not None and self._text.value != self._document.text

    async def open(self, path: str) -> bool:
        """Show another file; False when it cannot be, or the person would rather stay."""
        if path == self.path or not await self.leave():
            return path == self.path
        self._asked = path
        with self.trouble:
            place = within(self._root, path)
            found = await self._session.work(lambda: document.read(place))
            if path == self._asked:  # else another was chosen meanwhile
                self._asked, self.path = "", path
                self._take(found)
            return True
        return False

    def close(self) -> None:
        """Show nothing; what was not saved is given up."""
        self.path, self._document = "", None
        self._text.value = ""
        self._show()

    async def leave(self) -> bool:
        """Whether what is shown may be given up: asks when it is not saved."""
        if not self.is_dirty:
            return True
        answers = {"save": say("editor.leave.save"), "drop": say("editor.leave.drop")}
        chosen = await dialogs.choose(say("editor.leave.title"), say("editor.leave", file=self.path), answers, "drop")
        return chosen == "drop" or (chosen == "save" and await self.save())

    async def save(self) -> bool:
        """Write the file, unless it changed elsewhere and theirs is to be kept."""
        before = self._document
        if before is None:
            return False
        with self.trouble:
            place = within(self._root, self.path)
            if place != before.path:
                self._document = before = before._replace(path=place)
            if await self._session.work(lambda: document.digest(before.path)) not in (before.digest, ""):
                return await self._differ(before)
            text = self._text.value or ""
            self._document = await self._session.work(lambda: document.write(before, text))
            self._show()
            return True
        return False

    async def look(self) -> None:
        """See whether the file changed elsewhere: taken over where nothing is unsaved, else the person is asked."""
        before = self._document
        if before is None or self._form.is_deleted:
            return
        now = await self._session.work(lambda: document.digest(before.path))
        if before is not self._document or now in (before.digest, ""):
            return
        with self.trouble:
            if self.is_dirty:
                await self._differ(before)
            else:
                self._take(await self._session.work(lambda: document.read(before.path)))

    async def _differ(self, before: document.Document) -> bool:
        """It changed elsewhere and here: the person says which of the two goes on. Nothing is written before."""
        theirs = await self._session.work(lambda: document.read(before.path))
        self._document = before._replace(digest=theirs.digest)  # asked once for each change
        answers = {"mine": say("editor.differ.mine"), "theirs": say("editor.differ.theirs")}
        chosen = await dialogs.choose(say("editor.differ.title"), say("editor.differ", file=self.path), answers)
        if chosen == "theirs":
            self._take(theirs)
        elif chosen == "mine":
            return await self.save()
        return False

    def _take(self, found: document.Document) -> None:
        self._document = found
        self._faults.clear()
        self._text.set_language(found.language)  # type: ignore[arg-type]
        self._text.value = found.text
        completion.offer(self._text, self.path)
        self._show()
        self._check_soon()

    def _changed(self) -> None:
        self._show()
        self._check_soon()

    def _check_soon(self) -> None:
        self._typed += 1
        number = self._typed

        async def later() -> None:
            await asyncio.sleep(CHECK_AFTER_S)
            if number == self._typed and not self._form.is_deleted:
                text, path = self._text.value or "", self.path
                found, fixes = await self._session.work(lambda: _checked(path, text))
                if number == self._typed and not self._form.is_deleted:
                    self._faults.show(found, checks.kind(path) is not None, fixes)
                    self._draw_form(text)

        with self._panel:
            ui.timer(0, later, once=True)

    def _draw_form(self, text: str) -> None:
        kind = checks.kind(self.path)
        shows = (self.path, form.fields(kind, text)) if kind in form.HAVE else None
        if shows == self._shown:
            return
        self._shown = shows
        self._form.clear()
        self._form.set_visibility(shows is not None)
        with self._form:
            if kind is not None and shows is not None:
                form.build(kind, text, self._apply)
                self._form_trouble = Trouble()

    def _apply(self, change: form.Change) -> None:
        """A change of the form, made to the text; where it is not safe that is said beside it."""
        if self._form_trouble is None:
            return
        with self._form_trouble:
            try:
                text = change(self._text.value or "")
                kind = checks.kind(self.path)
                if kind in form.KEYS:  # its fields show it already: they are not drawn anew under the person's hands
                    self._shown = (self.path, form.fields(kind, text))
                self._text.value = text
            except JigError:
                self._shown = None  # the form shows again what the text says
                raise

    async def _save_by_key(self) -> None:
        await self.save()

    def _show(self) -> None:
        is_open, dirty = self._document is not None, self.is_dirty
        self._name.text = self.path
        self._state.text = say("editor.unsaved") if dirty else say("editor.saved") if is_open else ""
        self._save.set_enabled(dirty)
        self._save.set_visibility(is_open)
        self._empty.set_visibility(not is_open)
        self._text.classes(add="" if is_open else "jig-no-code", remove="jig-no-code" if is_open else "")
        if not is_open:
            self._faults.clear()
            self._form.set_visibility(False)
        if dirty != self._was_dirty:
            self._was_dirty = dirty
            ui.run_javascript(LEAVING.format(dirty="true" if dirty else "false"))

    def set_dark(self, dark: bool) -> None:
        """The colours of the text."""
        self._text.theme = "vscodeDark" if dark else "vscodeLight"


def _checked(path: str, text: str) -> tuple[tuple[Fault, ...], dict[int, str]]:
    found = checks.faults(path, text)
    return found, mending.fixes(path, text, found)
