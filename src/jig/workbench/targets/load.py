"""What the GPUs of a machine do now: asked at most once in a few seconds, however many cards and pages show it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

from jig import machines
from jig.project import ComputeTarget

FRESH_S = 2.5  # an answer of this age is still now
Answer = dict[str, Any]  # of the verb `gpu`


class Loads:
    """The answers by machine: targets on the same one share them."""

    def __init__(self, work: Callable[[Callable[[], Answer]], Awaitable[Answer]]) -> None:
        """`work` calls something that blocks, in a thread."""
        self._work = work
        self._asked: dict[tuple[str, str], tuple[float, asyncio.Task[Answer]]] = {}

    async def get(self, target: ComputeTarget) -> Answer:
        """The answer of now, or of a moment ago; a JigError when the machine does not answer."""
        key = (target.username or "", target.address or "")
        when, task = self._asked.get(key, (0.0, None))
        if task is None or (task.done() and (time.monotonic() - when > FRESH_S or task.cancelled())):
            task = asyncio.ensure_future(self._ask(target, key))
            self._asked[key] = (float("inf"), task)
        return await asyncio.shield(task)

    async def _ask(self, target: ComputeTarget, key: tuple[str, str]) -> Answer:
        try:
            return await self._work(lambda: machines.for_target(target).ask("gpu"))
        finally:
            self._asked[key] = (time.monotonic(), self._asked[key][1])
