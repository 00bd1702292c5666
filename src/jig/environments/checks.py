"""Looks a conda file over before anything is built: what cannot work on the target, where it stands, what to write."""

from __future__ import annotations

from jig.environments.check import NOTE, WARNING, addresses, cuda, gpu_builds, python, repeats, tensorflow, wheels
from jig.environments.check.addresses import Answer
from jig.environments.check.aim import aim
from jig.environments.check.lines import read
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from jig.project import ComputeTarget, CondaSpec

DEADLINE_S = 1.5  # for all addresses together
_CHECKS = (python.remarks, tensorflow.remarks, gpu_builds.remarks, cuda.remarks, wheels.remarks)


class Finding(Value):
    """Something in the file that a person should know; no secret of a URL is in it."""

    severity: str  # "error": it cannot work; "warning": it may not do what is wanted; "note": good to know
    file: str
    line: int
    message: str
    fix: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" if self.line else self.file
        text = f"{place}: {self.severity}: {self.message}"
        return f"{text}\n    fix: {self.fix}" if self.fix else text


def findings(
    conda: CondaSpec,
    target: ComputeTarget,
    facts: dict[str, Any],
    ask: Callable[[Sequence[str]], Mapping[str, Answer]],
    root: str = "",
) -> list[Finding]:
    """Everything that can be told without building, in the file's order; `ask` is given all URLs in one call.

    `root` is the project's folder, where files that the list names are looked up.
    """
    content = read(conda, root)
    there = aim(target, facts)
    remarks = list(content.unread)
    for check in _CHECKS:
        remarks += check(content, there)
    remarks += repeats.remarks(content)
    urls = addresses.addresses(content)
    if urls:
        remarks += addresses.remarks(content, ask(urls))
    order = {WARNING: 1, NOTE: 2}
    remarks.sort(key=lambda remark: (remark.line, order.get(remark.severity, 0)))
    return [Finding(one.severity, conda.file, one.line, one.message, one.fix) for one in remarks]


def ask(urls: Sequence[str], deadline_s: float = DEADLINE_S) -> dict[str, Answer]:
    """Look at the URLs from this computer, all at once; what has not answered by the deadline counts as late."""
    from jig.environments.check.asking import look

    return look(urls, deadline_s)
