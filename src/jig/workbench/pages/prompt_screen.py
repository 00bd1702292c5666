"""The command prompt: a terminal in the project's folder, which goes on while other pages are looked at."""

from __future__ import annotations

import contextlib
import sys

from nicegui import background_tasks, ui
from nicegui.events import XtermDataEventArguments, XtermResizeEventArguments

from jig.workbench.prompt_path import Prompt, prompt
from jig.workbench.session import Session
from jig.workbench.trouble import Trouble
from jig.workbench.words import say

if sys.platform != "win32":
    from jig.workbench.terminals import Terminal, terminals

assert sys.platform != "win32"

ANSWER_S = 5.0
LOOK = {
    "fontFamily": "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace",
    "fontSize": 13,
    "cursorBlink": True,
    "scrollback": 5000,
    "screenReaderMode": False,
    "theme": {"background": "#10161d", "foreground": "#e6edf3", "cursor": "#2dd4bf"},
}
# The terminal is as large as its place; it tells so itself, by the event `resize`.
FIT = """
new ResizeObserver(() => {{ const it = getElement({id}); if (it?.$el.offsetParent) it.fit(); }})
  .observe(getElement({id}).$el)
"""


async def show(session: Session) -> None:
    """Draw the page."""
    project, client = session.here(), ui.context.client
    with ui.element("div").classes("jig-prompt"):
        with ui.element("div").classes("jig-line jig-prompt-head"):
            ui.label(say("prompt.help")).classes("jig-soft jig-grow")
            again = ui.button(say("prompt.again"), icon="restart_alt").props("outline dense no-caps padding=4px")
        trouble = Trouble()
        screen = ui.xterm(LOOK).classes("jig-screen")
        screen.props('role="application"').props["aria-label"] = say("page.prompt")
    terminal: Terminal | None = None
    early = ""  # typed before there is one

    def start() -> Prompt:
        made = prompt(project, session.home.path)
        if made.trouble:
            ui.notify(made.trouble, type="warning", multi_line=True, close_button=say("prompt.close"))
        return made

    async def tell(text: str) -> None:
        await screen.run_method("write", text, timeout=ANSWER_S)
        if terminal is not None and terminal.ended:
            screen.write(f"\r\n{say('prompt.ended')}\r\n")
            terminal.unwatch(screen)

    async def attach() -> None:
        nonlocal terminal, early
        with trouble, contextlib.suppress(TimeoutError):  # the page is gone again
            # The size comes first: a shell that is told of another one draws its prompt anew, over what stands there.
            await screen.run_method("fit", timeout=ANSWER_S)
            rows = await screen.run_method("getRows", timeout=ANSWER_S)
            columns = await screen.run_method("getColumns", timeout=ANSWER_S)
            terminal = terminals(session).get(client.tab_id or client.id, project.root, start, (rows, columns))
            terminal.unwatch(screen)
            screen.run_terminal_method("reset")
            screen.write(terminal.text)
            terminal.watch(screen, tell)
            terminal.type(early)
            early = ""
            screen.run_terminal_method("focus")

    async def anew() -> None:
        if terminal is not None:
            terminal.close()
        await attach()

    def typed(event: XtermDataEventArguments) -> None:
        nonlocal early
        if terminal is None:
            early += str(event.data)
        elif terminal.ended:
            background_tasks.create(attach_in_page())
        else:
            terminal.type(str(event.data))

    async def attach_in_page() -> None:
        with screen:
            await attach()

    def resized(event: XtermResizeEventArguments) -> None:
        if terminal is not None:
            terminal.resize(event.rows, event.cols)

    def left() -> None:
        if terminal is not None:
            terminal.unwatch(screen)

    screen.on_data(typed)
    screen.on_resize(resized)
    again.on_click(anew)
    client.on_disconnect(left)
    await client.connected()
    ui.run_javascript(FIT.format(id=screen.id))
    await attach()
    client.on_connect(attach_in_page)  # after a while without the server
