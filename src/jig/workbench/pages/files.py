"""Files: the project's tree and an editor."""

from __future__ import annotations

from nicegui import ui

from jig.errors import UsageError
from jig.workbench import dialogs, frame, run_bar
from jig.workbench.files import document
from jig.workbench.files.editor import Editor
from jig.workbench.files.listing import Entry, Listing, listing
from jig.workbench.gate import within
from jig.workbench.session import Session
from jig.workbench.words import say

LOOK_EVERY_S = 1.5
HEADER = (
    "<span :class=\"['jig-node', props.node.ignored ? 'jig-ignored' : '']\">"
    "<q-icon :name=\"props.node.folder ? 'folder' : 'description'\" aria-hidden=\"true\"></q-icon>"
    "<span>{{ props.node.label }}</span></span>"
)


async def build(session: Session) -> None:
    """The page."""
    with ui.element("div").classes("jig-files"):
        page = _Files(session)
    await page.refresh()


class _Files:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._root = session.here().root
        self._seen: Listing | None = None
        self._dark: bool | None = None
        with ui.element("section").classes("jig-tree-panel") as panel:
            panel.props["aria-label"] = say("files.tree")
            with ui.element("div").classes("jig-line"):
                frame.shortcut(_tool("refresh", say("files.refresh"), self.refresh), "r", say("files.refresh"))
                frame.shortcut(_tool("note_add", say("files.new"), self._new), "n", say("files.new"))
                self._rename_button = _tool("drive_file_rename_outline", say("files.rename"), self._rename)
                self._delete_button = _tool("delete", say("files.delete"), self._delete)
            self._tree = ui.tree([], on_select=lambda event: self._choose(event.value)).classes("jig-tree")
            self._tree.props("dense no-transition no-selection-unset selected-color=primary").add_slot(
                "default-header", HEADER
            )
            self._more = ui.label(say("files.more")).classes("jig-soft")
        self._editor = Editor(session)
        run_bar.save_first(self._saved)
        ui.timer(LOOK_EVERY_S, self._look)

    async def _saved(self) -> None:
        if self._editor.is_dirty and not await self._editor.save():
            raise UsageError(say("editor.unsaved.run", file=self._editor.path), say("editor.unsaved.run.hint"))

    async def refresh(self) -> None:
        """Read the folder again."""
        found = await self._session.work(lambda: listing(self._root))
        if found == self._seen or self._tree.is_deleted:
            return
        first, self._seen = self._seen is None, found
        self._more.set_visibility(not found.is_whole)
        self._tree.props["nodes"] = [_node(entry) for entry in found.entries]
        if first:
            self._tree.expand([entry.path for entry in found.entries if entry.is_folder and not entry.is_ignored])

    async def _look(self) -> None:
        await self.refresh()
        await self._editor.look()
        dark = self._session.kept.dark
        if dark is None and self._dark is None:
            dark = await frame.is_dark()
        if dark is not None and dark != self._dark:
            self._dark = dark
            self._editor.set_dark(dark)

    def _entry(self, path: str) -> Entry | None:
        """The entry of this path, as the tree shows it."""
        found, entries = None, self._seen.entries if self._seen else ()
        parts = path.split("/")
        for depth in range(len(parts)):
            here = "/".join(parts[: depth + 1])
            found = next((entry for entry in entries if entry.path == here), None)
            entries = found.inside if found else ()
        return found

    async def _choose(self, path: str | None) -> None:
        entry = self._entry(path) if path else None
        if entry is None:
            return
        with self._editor.trouble:
            _check(entry)
            if entry.is_folder or await self._editor.open(entry.path):
                return
        if self._editor.is_dirty:  # the person would rather stay
            self._tree.select(self._editor.path)

    def _selected(self) -> str:
        path = self._tree.props.get("selected")
        if not path:
            raise UsageError(say("files.unchosen"), say("files.unchosen.hint"))
        _check(self._entry(str(path)))
        return str(path)

    async def _new(self) -> None:
        with self._editor.trouble:
            chosen = str(self._tree.props.get("selected") or "")
            entry = self._entry(chosen) if chosen else None
            folder = chosen if entry is not None and entry.is_folder and entry.is_text else chosen.rpartition("/")[0]
            name = await dialogs.ask(
                say("files.new"), say("files.new.label"), f"{folder}/" if folder else "", say("files.new.create")
            )
            if name and name.strip():
                place = within(self._root, name.strip())
                await self._session.work(lambda: document.create(place, name.strip().endswith("/")))
                await self.refresh()
                self._reveal(name.strip())
                if not name.strip().endswith("/") and await self._editor.open(name.strip()):
                    self._tree.select(name.strip())

    async def _rename(self) -> None:
        with self._editor.trouble:
            path = self._selected()
            new = await dialogs.ask(say("files.rename"), say("files.rename.label"), path, say("files.rename.do"))
            if not new or new.strip() in ("", path) or not await self._editor.leave():
                return
            source, place = self._unresolved(path), within(self._root, new.strip())
            await self._session.work(lambda: document.rename(source, place))
            if (self._editor.path + "/").startswith(path + "/"):
                self._editor.close()
            await self.refresh()
            self._reveal(new.strip())

    def _reveal(self, path: str) -> None:
        """Open the folders above a path."""
        parts = path.split("/")
        self._tree.expand(["/".join(parts[:depth]) for depth in range(1, len(parts))])

    async def _delete(self) -> None:
        with self._editor.trouble:
            path = self._selected()
            answers = {"delete": say("files.delete.do")}
            if await dialogs.choose(say("files.delete"), say("files.delete.ask", path=path), answers, "delete"):
                place = self._unresolved(path)
                await self._session.work(lambda: document.delete(place))
                if (self._editor.path + "/").startswith(path + "/"):
                    self._editor.close()
                self._tree.select(None)
                await self.refresh()

    def _unresolved(self, path: str) -> str:
        """The place of an entry itself: of a link that is the link, wherever it leads; its folder is inside."""
        folder, _, name = path.rpartition("/")
        if not name or name in (".", ".."):
            raise UsageError(say("files.no_name", name=repr(path)))
        return f"{within(self._root, folder)}/{name}"


def _check(entry: Entry | None) -> None:
    if entry is not None and not entry.is_text:
        raise UsageError(say("files.name", name=entry.name), say("files.name.hint"))


def _tool(icon: str, label: str, click: object) -> ui.button:
    button = ui.button(icon=icon, on_click=click).props("flat round dense")  # type: ignore[arg-type]
    button.props["aria-label"] = label
    return button.classes("jig-tool").tooltip(label)


def _node(entry: Entry) -> dict[str, object]:
    node: dict[str, object] = {"id": entry.path, "label": entry.name, "ignored": entry.is_ignored}
    return {**node, "folder": entry.is_folder, "children": [_node(one) for one in entry.inside]}
