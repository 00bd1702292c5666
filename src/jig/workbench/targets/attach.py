"""Attach as a guided form: the words of `jig computetarget attach`, and dialogs where that would ask."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from nicegui import ui

from jig.cli import attach
from jig.cli.computetarget import GROUP
from jig.cli.grammar import Args, Command, parse
from jig.errors import UsageError
from jig.project.compute import CONTAINERS, IMAGE
from jig.workbench import dialogs
from jig.workbench.session import Session
from jig.workbench.targets import findings
from jig.workbench.targets.person import Asked
from jig.workbench.trouble import Trouble
from jig.workbench.words import say

HERE, MASTER = "localdocker", "master"


class Form:
    """The dialog; `done` is called when a target was attached."""

    def __init__(self, session: Session, done: Callable[[], Awaitable[None]]) -> None:
        self._session, self._done = session, done
        with ui.dialog().props("persistent") as self._dialog, ui.card().classes("jig-dialog jig-attach") as self._card:
            self._dialog.props["aria-label"] = say("attach.title")
            dialogs.heading(say("attach.title"))
            self._fields()
            self._trouble = Trouble()
            self._progress = ui.label().classes("jig-soft").props('aria-live="polite"')
            with ui.element("div").classes("jig-line jig-end"):
                self._cancel = ui.button(say("dialog.cancel"), on_click=self._dialog.close).props("flat no-caps")
                self._go = ui.button(say("attach.go"), on_click=self._attach).props("unelevated no-caps")
        self._dialog.on("hide", self._dialog.delete)
        self._dialog.open()

    def _fields(self) -> None:
        kinds = {
            "remotedocker": say("attach.kind.remotedocker"),
            "remote": say("attach.kind.remote"),
            HERE: say("attach.kind.localdocker"),
            MASTER: say("attach.kind.master"),
            "cluster": say("attach.kind.cluster"),
        }
        self._kind = ui.select(kinds, label=say("attach.kind"), value="remotedocker", on_change=self._fit)
        self._kind.props("outlined dense").classes("jig-full")
        self._name = _field(say("attach.name"), say("attach.name.help"))
        self._address = _field(say("attach.address"), say("attach.address.help"))
        self._master = _field(say("attach.master"))
        self._user = _field(say("attach.user"))
        self._password = ui.input(say("attach.password"), password=True, password_toggle_button=True)
        self._password.props("outlined dense autocomplete=off").classes("jig-full")
        self._password.props["hint"] = say("attach.password.help")
        self._key = _field(say("attach.key"), say("attach.key.help"))
        self._image = _field(say("attach.image"))
        self._image.props["placeholder"] = IMAGE
        self._gpu = ui.switch(say("form.gpu"))
        self._fit()

    def _fit(self) -> None:
        """Show the fields that this kind has."""
        kind = self._kind.value
        for field in (self._address, self._user, self._password, self._key):
            field.set_visibility(kind not in (HERE, MASTER))
        self._master.set_visibility(kind in (MASTER, "cluster"))
        self._master.props["hint"] = say("attach.master.help" if kind == MASTER else "attach.master.optional")
        self._image.set_visibility(kind in CONTAINERS)
        self._gpu.set_visibility(kind in CONTAINERS)

    def _words(self) -> list[str]:
        """The form as a command line, less the password, which is given when it is asked for."""
        kind = self._kind.value
        words = ["cluster" if kind == MASTER else str(kind), "--project", self._session.here().root]
        options = {"--name": self._name}
        if kind == MASTER:
            options["--address"] = self._master
            if not self._master.value.strip().startswith("spark://"):
                raise UsageError(say("attach.master.none"), say("attach.master.none.hint"))
        elif kind != HERE:
            if kind == "cluster":
                options["--master"] = self._master
            options |= {"--address": self._address, "--username": self._user, "--private-key-file": self._key}
        if kind in CONTAINERS:
            options["--image"] = self._image
        words += [f"{option}={field.value.strip()}" for option, field in options.items() if field.value.strip()]
        return words + (["--gpu"] if kind in CONTAINERS and self._gpu.value else [])

    async def _attach(self) -> None:
        asked = Asked(self._card, "" if self._kind.value in (HERE, MASTER) else self._password.value)
        for button in (self._cancel, self._go):
            button.disable()
        self._progress.text = say("attach.going")
        with self._trouble:
            args = _parsed(self._words())
            done = await self._session.work(lambda: attach.carry_out(args, asked.person()))
            self._show(done, asked.said)
            await self._done()
            return
        self._progress.text = ""
        for button in (self._cancel, self._go):
            button.enable()

    def _show(self, done: attach.Attached, said: list[str]) -> None:
        """What was found there."""
        self._card.clear()
        with self._card:
            dialogs.heading(say("attach.done", name=done.target.name))
            for text in said:
                ui.label(text).classes("jig-said")
            with ui.element("div").classes("jig-scroll"):
                findings.build(done.found, done.wants_gpu)
            with ui.element("div").classes("jig-line jig-end"):
                ui.button(say("attach.close"), on_click=self._dialog.close).props("unelevated no-caps autofocus")


def _field(label: str, hint: str = "") -> ui.input:
    field = ui.input(label).props("outlined dense spellcheck=false autocomplete=off").classes("jig-full")
    if hint:
        field.props["hint"] = hint
    return field


def _parsed(words: list[str]) -> Args:
    command = GROUP.find("attach")
    assert isinstance(command, Command)
    return parse(command, words, "computetarget attach")
