"""The pages that there are, and the parts of the frame; each module is loaded when it is first shown."""

from __future__ import annotations

import inspect
from importlib import import_module

from fastapi import Request
from nicegui import ui

from jig.errors import JigError
from jig.values import Value
from jig.workbench import frame, rows, run_files, trouble

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jig.workbench.session import Session


class Page(Value):
    """A page: its name (the key `page.NAME` in words), path, icon, module, and the key that leads to it.

    The module has `build(session, **parts)`, plain or async; `parts` are what stands in braces in the path. A page
    without a key is not in the navigation. `project`: it needs one to be open.
    """

    name: str
    path: str
    icon: str
    module: str
    key: str = ""
    project: bool = True


PAGES = (
    Page("projects", "/", "folder_open", "jig.workbench.pages.projects", "g p", project=False),
    Page("files", "/files", "description", "jig.workbench.pages.files", "g f"),
    Page("targets", "/targets", "dns", "jig.workbench.pages.targets", "g t"),
    Page("history", "/history", "table_chart", "jig.workbench.pages.history", "g h"),
    Page("notebooks", "/notebooks", "menu_book", "jig.workbench.pages.notebooks", "g n"),
    Page("compare", "/compare", "compare_arrows", "jig.workbench.pages.compare"),
    Page("prompt", "/prompt", "terminal", "jig.workbench.pages.prompt", "g c"),
    Page("run", "/runs/{run_id}", "", "jig.workbench.pages.run"),
)


def register(session: Session) -> None:
    """Make every page known to the framework."""
    rows.serve(session)
    for page in PAGES:
        ui.page(page.path, response_timeout=30.0)(_shown(session, page))
    run_files.register(session)


def _shown(session: Session, page: Page):  # type: ignore[no-untyped-def]  # the framework looks at the signature itself
    async def show(request: Request) -> None:
        if page.project and session.project is None:
            ui.navigate.to("/")
            return
        async with frame.around(session, page, [one for one in PAGES if one.key]):
            try:
                built = import_module(page.module).build(session, **request.path_params)
                if inspect.isawaitable(built):
                    await built
            except JigError as error:
                trouble.show(error)

    return show
