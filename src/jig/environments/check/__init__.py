"""What can be wrong with a conda file before anything is built: one module for each kind of mistake."""

from __future__ import annotations

from jig.values import Value

ERROR, WARNING, NOTE = "error", "warning", "note"


class Remark(Value):
    """What a check has to say about a line of the file."""

    severity: str
    line: int
    message: str
    fix: str = ""
