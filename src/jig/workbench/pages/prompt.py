"""The command prompt, where there is one."""

from __future__ import annotations

import sys

from jig.errors import JigError
from jig.workbench.session import Session
from jig.workbench.words import say


async def build(session: Session) -> None:
    """The page."""
    if sys.platform != "win32":
        from jig.workbench.pages.prompt_screen import show

        await show(session)
        return
    raise JigError(say("prompt.windows"), say("prompt.windows.hint"))
