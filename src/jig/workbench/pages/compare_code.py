"""The patch from the first run's code to another's, as `jig history diff` makes it; only ever shown as text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from nicegui import ui

from jig.cli.side_by_side import letters
from jig.cli.terminal import printable
from jig.compare.patch import Patch
from jig.frozen import Frozen
from jig.store.queries import Found
from jig.views import patches
from jig.workbench.session import Session
from jig.workbench.trouble import Trouble
from jig.workbench.words import say

MOST_LINES = 3000  # of one patch
CLASSES = {"+": "jig-added", "-": "jig-deleted", "@": "jig-hunk"}


async def build(session: Session, found: Sequence[Found]) -> None:
    """The changes from the first run to each other one."""
    ui.label(say("compare.patch")).classes("jig-title").props('role="heading" aria-level="2"')
    for letter, other in list(zip(letters(len(found)), found, strict=True))[1:]:
        with Trouble():
            made = await session.work(lambda other=other: patches(Frozen(found[0]), Frozen(other)))  # type: ignore[misc]
            ui.label(say("compare.patch.between", letter=letter)).classes("jig-strong")
            if not made:
                ui.label(say("compare.patch.same")).classes("jig-soft")
            for one in made:
                _file(one)


def _file(one: Patch) -> None:
    with ui.expansion(value=one.added + one.deleted <= 200).classes("jig-file") as file:
        with file.add_slot("header"), ui.element("div").classes("jig-line jig-full"):
            ui.label(printable(one.change.path)).classes("jig-strong jig-grow")
            ui.label(say("compare.patch.lines", added=one.added, deleted=one.deleted)).classes("jig-soft")
        text = one.text.decode("utf-8", "replace")
        lines = text.split("\n")
        with ui.element("pre").classes("jig-patch").props('tabindex="0"'):
            for kind, some in groupby(lines[:MOST_LINES], _class):
                ui.label("\n".join(printable(line, keep="\t") for line in some)).classes(kind)
        if len(lines) > MOST_LINES:
            ui.label(say("compare.patch.long", most=MOST_LINES)).classes("jig-soft")


def _class(line: str) -> str:
    if line.startswith(("diff ", "index ", "--- ", "+++ ", "old mode", "new mode", "new file", "deleted file")):
        return "jig-head"
    return CLASSES.get(line[:1], "jig-plain")
