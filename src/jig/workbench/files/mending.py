"""The fix of a fault, as a change of its one line: only what the checks themselves then find less wrong."""

from __future__ import annotations

import re

from jig.errors import Fault
from jig.workbench.files import checks

_NEAR = re.compile(r"did you mean `([^`]+)`\?")
_WRITE = re.compile(r"write `([^`…]+)`")


MOST = 12  # faults that are looked at


def fixes(path: str, text: str, found: tuple[Fault, ...]) -> dict[int, str]:
    """What the text would be without each fault, where that is sure, by the fault's place in the list."""
    tried = ((at, mended(path, text, fault)) for at, fault in enumerate(found[:MOST]))
    return {at: changed for at, changed in tried if changed is not None}


def mended(path: str, text: str, fault: Fault) -> str | None:
    """The text without this fault; None where a machine cannot be sure."""
    lines = text.split("\n")
    if not 0 < fault.line <= len(lines):
        return None
    for line in _tries(lines[fault.line - 1], fault):
        changed = "\n".join([*lines[: fault.line - 1], line, *lines[fault.line :]])
        left = checks.faults(path, changed)
        if len(left) < len(checks.faults(path, text)) and _of_line(left, fault) is None:
            return changed
    return None


def _tries(line: str, fault: Fault) -> list[str]:
    """What the line could be meant to be, by the words of the fix."""
    space = line[: len(line) - len(line.lstrip())]
    near, write = _NEAR.fullmatch(fault.fix), _WRITE.fullmatch(fault.fix)
    if near is not None:
        key = fault.key.rpartition(".")[2]
        head, found, rest = line.partition(key)
        return [head + near[1] + rest] if key and found and not head.strip("\"'{ ") else []
    if write is not None and write[1].startswith("- ") == line.lstrip().startswith("- "):
        comment = re.search(r"\s+#.*$", line)
        return [space + write[1] + (comment[0] if comment else "")]
    return []


def _of_line(faults: tuple[Fault, ...], fault: Fault) -> Fault | None:
    return next((one for one in faults if one.line == fault.line and one.message == fault.message), None)
