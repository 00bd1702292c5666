"""One run: the summary first, then its log, curves, outputs, code, packages, and where the time went."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui

from jig.workbench import code_view, run_actions, run_state, run_summary, timeline, trouble
from jig.workbench.curves import Curves
from jig.workbench.images import Images
from jig.workbench.jobs import written
from jig.workbench.live import Change
from jig.workbench.log_view import LogView
from jig.workbench.outputs import Outputs
from jig.workbench.run_seen import Seen, look
from jig.workbench.session import Session
from jig.workbench.words import say

REMOTE_S = 3.0

Refresh = Callable[[Seen], Awaitable[None] | None]


async def build(session: Session, run_id: str) -> None:
    """The page."""
    seen = await session.read(lambda store: look(store, run_id))
    await RunPage(session, seen).draw()


class RunPage:
    """The parts of the page; each is built when it is first looked at, and goes on with the run from then."""

    def __init__(self, session: Session, seen: Seen) -> None:
        """Drawn by `draw`."""
        self._session, self._seen = session, seen
        self._refreshes: list[Refresh] = []
        self._panels: dict[str, ui.tab_panel] = {}
        self._opened: set[str] = set()

    async def draw(self) -> None:
        """Build it, and listen."""
        with ui.element("div").classes("jig-run-head"):
            self._head()
        self._trouble = trouble.Trouble()
        names = {
            "summary": say("run.summary"), "log": say("run.log"), "curves": say("run.curves"),
            "images": say("run.images"), "outputs": say("run.outputs"), "code": say("run.code"),
            "environment": say("run.environment"), "timeline": say("run.timeline"),
        }  # fmt: skip
        asked = ui.context.client.request.query_params.get("tab", "")
        first = asked if asked in names else "summary"
        with ui.tabs(on_change=lambda event: self._open(event.value)) as tabs:
            tabs.props("no-caps align=left dense inline-label").classes("jig-tabs")
            for name, text in names.items():
                ui.tab(name, text)
        with ui.tab_panels(tabs, value=first, animated=False, keep_alive=True).classes("jig-panels"):
            for name in names:
                self._panels[name] = ui.tab_panel(name)
        await self._open(first)
        self._session.live.listen(self._hear)
        if self._seen.found.machine.remote and not await self._is_whole():
            ui.timer(REMOTE_S, self._bring)

    @ui.refreshable_method
    def _head(self) -> None:
        record = self._seen.record
        run_state.mark(str(record["status"]))
        with ui.element("div").classes("jig-run-name"):
            ui.label(str(record["run_name"] or written(record))).classes("jig-strong jig-cut")
            ui.label(self._seen.found.id).classes("jig-path")
        ui.element("div").classes("jig-grow")
        run_actions.buttons(self._session, self._seen)

    async def _open(self, name: str) -> None:
        """Build the part that is looked at, once."""
        panel = self._panels.get(name)
        if panel is None or name in self._opened:
            return
        self._opened.add(name)  # before anything is waited for: the tabs tell of the first one, too
        session, seen = self._session, self._seen
        with panel:
            if name == "summary":
                self._summary()
            elif name == "log":
                log = LogView(session, seen.found)
                await log.begin(seen.run.rank)
                self._refreshes.append(lambda seen: log.refresh())
            elif name == "curves":
                curves = Curves(session, seen)
                await curves.again()
                self._refreshes.append(curves.refresh)
            elif name == "images":
                images = Images(session, seen.found)
                await images.refresh()
                self._refreshes.append(lambda seen: images.refresh())
            elif name == "outputs":
                outputs = Outputs(session, seen.found)
                await outputs.refresh()
                self._refreshes.append(lambda seen: outputs.refresh())
            elif name == "code":
                await code_view.code(session, seen.found)
            elif name == "environment":
                await code_view.packages(session, seen.found)
            else:
                self._timeline()

    @ui.refreshable_method
    def _summary(self) -> None:
        run_summary.show(self._seen)

    @ui.refreshable_method
    def _timeline(self) -> None:
        timeline.show(self._seen)

    async def _hear(self, change: Change) -> None:
        if self._seen.found.folder.id not in change.runs and not (change.listing and not self._seen.final):
            return
        with self._trouble:
            before = self._seen
            self._seen = await self._session.read(lambda store: look(store, before.found.id))
            if self._seen.record["status"] != before.record["status"]:
                self._head.refresh()
            if self._seen.record != before.record or not self._seen.final:
                self._summary.refresh()
            if self._seen.past != before.past:
                self._timeline.refresh()
            for refresh in self._refreshes:
                waiting = refresh(self._seen)
                if waiting is not None:
                    await waiting

    async def _bring(self) -> None:
        """What is new of a run on another machine: its files here grow then, and that is heard.

        The page asks too, although others do: when the machine does not answer, it is here that one wants to know.
        """
        if await self._is_whole():
            return
        with self._trouble:
            await self._session.homing.bring(self._seen.found)

    async def _is_whole(self) -> bool:
        return await self._session.work(self._seen.found.is_whole)
