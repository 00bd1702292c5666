"""The card of one target: asked on its own, so that a slow machine holds up no other."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable

from nicegui import background_tasks, ui

from jig.cli import attached, gpu_text
from jig.doctor import BAD, Edit
from jig.errors import JigError
from jig.project import ComputeTarget
from jig.submit import Wanted, prepare
from jig.workbench import dialogs, trouble
from jig.workbench.session import Session
from jig.workbench.targets import findings
from jig.workbench.targets.gpus import Gpus
from jig.workbench.targets.load import Answer
from jig.workbench.targets.look import Seen, look
from jig.workbench.targets.mend import ask_and_mend
from jig.workbench.words import say

AGAIN_S = 30.0  # a machine that does not answer is asked again after so long


class Card:
    """A target with its state; `gone` is called when it was detached."""

    def __init__(self, session: Session, name: str, gone: Callable[[], Awaitable[None]]) -> None:
        self._session, self.name, self._gone = session, name, gone
        self._project = session.here()
        self._target: ComputeTarget | None = None  # once it is known
        self._gpus: Gpus | None = None  # once it has answered
        self._busy = False
        self._again_at = float("inf")  # one that does not answer is asked again
        with ui.element("article").classes("jig-target") as self.element:
            self.element.props["aria-label"] = name
            with ui.element("div").classes("jig-line"):
                dialogs.heading(name).classes("jig-grow jig-cut")
                self._again = ui.button(icon="refresh", on_click=self.ask).props("flat round dense")
                self._again.classes("jig-tool").props["aria-label"] = say("targets.again", name=name)
            self._about = ui.label().classes("jig-soft")
            self._state = ui.element("div").classes("jig-reach").props('aria-live="polite"')
            self._trouble = trouble.Trouble()
            self._body = ui.element("div").classes("jig-full")
            self._progress = ui.label().classes("jig-soft jig-said").props('aria-live="polite"')
            with ui.element("div").classes("jig-line jig-end") as self._actions:
                self._prepare = ui.button(say("targets.prepare"), on_click=self.prepare).props("outline no-caps dense")
                self._detach = ui.button(say("targets.detach"), on_click=self.detach).props("flat no-caps dense")
        for button in (self._prepare, self._detach):  # until it is known that they apply
            button.set_visibility(False)

    def begin(self) -> None:
        """Ask the machine, without waiting for it."""
        background_tasks.create(self._in_place(self.ask))

    async def _in_place(self, call: Callable[[], Awaitable[None]]) -> None:
        with self.element:
            await call()

    def look(self) -> None:
        """Show what its GPUs do now; nothing waits for it. One that did not answer is asked again after a while."""
        if self._busy or self.element.is_deleted:
            return
        if self._gpus is not None and self._target is not None:
            background_tasks.create(self._in_place(self._look))
        elif time.monotonic() > self._again_at:
            background_tasks.create(self._in_place(self.ask))

    async def _look(self) -> None:
        self._busy = True
        try:
            assert self._target is not None
            found = await self._session.loads.get(self._target)
            if self._gpus is not None and not self.element.is_deleted:
                self._gpus.show(found)
                if not gpu_text.has_driver(found["look"]):
                    self._gpus = None  # nothing there will change
        except JigError as error:
            self._fail(error)
        finally:
            self._busy = False

    async def ask(self) -> None:
        """Ask the machine how it is, and show what it says or why it does not."""
        self._again.disable()
        self._busy, self._gpus, self._again_at = True, None, float("inf")
        self._say_state("hourglass_empty", say("targets.asking"), "asking")
        self._trouble.clear()
        try:
            target = await self._session.work(lambda: self._project.compute_target(self.name))
            self._describe(target)
            self._target = target
            seen = await self._session.work(lambda: look(self._project, self.name))
            load = await self._session.loads.get(target)
        except JigError as error:
            self._fail(error)
            return
        finally:
            self._busy = False
            if not self.element.is_deleted:
                self._again.enable()
        if not self.element.is_deleted:
            self._show(seen, load)

    def _fail(self, error: JigError) -> None:
        """Say that it does not answer, and why."""
        self._gpus, self._again_at = None, time.monotonic() + AGAIN_S
        if not self.element.is_deleted:
            self._say_state("cancel", say("targets.unreachable"), "bad")
            self._prepare.set_visibility(False)
            self._body.clear()
            with self._trouble:
                raise error

    def _describe(self, target: ComputeTarget) -> None:
        where = f"{target.username}@{target.address}" if target.address else say("targets.here")
        where = target.spark_master or where if target.kind == "cluster" and not target.address else where
        self._about.text = say("targets.about", kind=target.kind, where=where)
        self._detach.set_visibility(target.kind != "local")

    def _say_state(self, icon: str, text: str, style: str) -> None:
        self._state.clear()
        with self._state.classes(replace=f"jig-reach jig-{style}"):
            ui.icon(icon).props('aria-hidden="true"')
            ui.label(text)

    def _show(self, seen: Seen, load: Answer) -> None:
        self._say_state("check_circle", say("targets.reachable"), "ok")
        self._prepare.set_visibility(seen.can_prepare)
        self._body.clear()
        with self._body:
            gpus = Gpus()
            gpus.show(load)
            with ui.element("dl").classes("jig-facts jig-card-facts"):
                _fact(say("targets.disk"), seen.free_disk)
            bad = any(one.status == BAD and (seen.wants_gpu or not one.only_gpu) for one in seen.findings)
            with ui.expansion(seen.verdict, value=bad or any(one.edit for one in seen.findings)).classes("jig-full"):
                findings.build(seen.findings, seen.wants_gpu, self._mend)
        if gpu_text.has_driver(load["look"]):
            self._gpus = gpus

    async def _mend(self, edit: Edit) -> None:
        with self._trouble:
            if await ask_and_mend(self._session, self._project.root, edit):
                ui.notify(say("targets.fixed", file=edit.file))
                await self.ask()

    async def prepare(self) -> None:
        """Build the environment there now, and tell how far it is."""
        loop = asyncio.get_running_loop()

        def tell(text: str) -> None:
            loop.call_soon_threadsafe(self._progress.set_text, text)

        self._prepare.disable()
        self._progress.text = say("targets.preparing")
        with self._trouble:
            wanted = Wanted(self._project.root, self.name)
            built, python = await self._session.work(lambda: prepare(wanted, tell))
            text = say("targets.prepared", python=python) if built else say("targets.own", python=python)
            loop.call_soon(self._progress.set_text, text)
            self._prepare.enable()
            return
        self._progress.text = ""
        self._prepare.enable()

    async def detach(self) -> None:
        """Forget the machine, after asking."""
        with self._trouble:
            target = await self._session.work(lambda: self._project.compute_target(self.name))
            answers = {"detach": say("targets.detach.do")}
            if target.address is not None:
                answers["key"] = say("targets.detach.key")
            title, text = say("targets.detach.title", name=self.name), say("targets.detach.ask")
            chosen = await dialogs.choose(title, text, answers, "detach")
            if chosen:
                await self._forget(target, chosen == "key")

    async def _forget(self, target: ComputeTarget, remove_key: bool) -> None:
        said: list[str] = []
        forget = attached.forget(self._project, target, remove_key, said.append)
        paths = await self._session.work(lambda: list(forget))
        said += [say("targets.deleted", path=os.path.relpath(path, self._project.root)) for path in paths]
        ui.notify("\n".join(said), multi_line=True, classes="jig-notice", timeout=15_000, close_button=True)
        await self._gone()


def _fact(name: str, text: str) -> None:
    with ui.element("dt"):
        ui.label(name)
    with ui.element("dd"):
        ui.label(text).classes("jig-said")
