"""Whoever attaches, asked by dialogs, from the thread that attaches."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Coroutine
from typing import Any, TypeVar

from nicegui import ui

from jig.machines.attach import Person
from jig.workbench import dialogs
from jig.workbench.words import say

Answer = TypeVar("Answer")
PATIENCE_S = 600.0


class Asked:
    """The person in front of a page. What is told is gathered in `said`."""

    def __init__(self, place: ui.element, password: str) -> None:
        """Dialogs open at `place`; the password is given once, when it is first asked for."""
        self.said: list[str] = []
        self._place, self._password = place, password
        self._loop = asyncio.get_running_loop()

    def person(self) -> Person:
        """For `jig.machines.attach`."""
        return Person(self.said.append, self.said.append, self._confirm, self._ask_password)

    def _confirm(self, question: str) -> bool:
        async def ask() -> str:
            with self._place:
                return await dialogs.choose(say("attach.key.title"), question, {"yes": say("attach.key.yes")})

        return self._wait(ask(), "") == "yes"

    def _ask_password(self, prompt: str) -> str | None:
        if self._password:
            given, self._password = self._password, ""
            return given

        async def ask() -> str | None:
            with self._place:
                return await dialogs.ask(say("attach.title"), prompt, "", say("attach.go"), secret=True)

        return self._wait(ask(), None) or None

    def _wait(self, question: Coroutine[Any, Any, Answer], otherwise: Answer) -> Answer:
        future = asyncio.run_coroutine_threadsafe(question, self._loop)
        try:
            return future.result(PATIENCE_S)
        except (concurrent.futures.TimeoutError, concurrent.futures.CancelledError):  # the page was closed
            future.cancel()
            return otherwise
