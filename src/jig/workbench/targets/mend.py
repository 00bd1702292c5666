"""A fix that is a line of a project file, made after the person has seen which line that is."""

from __future__ import annotations

from jig.doctor import Edit
from jig.workbench import dialogs
from jig.workbench.files import document, settings
from jig.workbench.gate import within
from jig.workbench.session import Session
from jig.workbench.words import say


async def ask_and_mend(session: Session, root: str, edit: Edit) -> bool:
    """Ask, and change the project's file; False when the person would rather not. UsageError where it is not safe."""
    if edit.value is None:
        text = say("targets.fix.remove", name=edit.key, file=edit.file)
    else:
        text = say("targets.fix.set", file=edit.file, name=edit.key, value=edit.value)
    if not await dialogs.choose(say("targets.fix.title"), text, {"do": say("targets.fix.do")}):
        return False
    place = within(root, edit.file)

    def change() -> None:
        before = document.read(place)
        document.write(before, settings.with_value(before.text, edit.key, edit.value))

    await session.work(change)
    return True
