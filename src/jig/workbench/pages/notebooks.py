"""Notebooks: what there is of them, and Jupyter, where it can be started."""

from __future__ import annotations

import sys

from jig.errors import JigError
from jig.workbench.session import Session
from jig.workbench.words import say


async def build(session: Session) -> None:
    """The page."""
    if sys.platform != "win32":
        from jig.workbench.pages.notebooks_shown import Notebooks

        await Notebooks(session).refresh()
        return
    raise JigError(say("notebooks.windows"), say("notebooks.windows.hint"))
