"""The one gate to files: all that pages read and write goes through here."""

from __future__ import annotations

import os

from jig.errors import UsageError
from jig.workbench.words import say


def is_text(name: str) -> bool:
    """Whether a name of a file is one that a browser can be told: on a disk any bytes are."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def within(root: str, path: str) -> str:
    """The real path of something at or below `root`, relative to it or absolute; UsageError for anything outside.

    Links are followed first, so one that leads out is outside.
    """
    top = os.path.realpath(root)
    if "\0" in path:
        raise UsageError(say("gate.zero"))
    place = os.path.realpath(os.path.join(top, path))
    if place != top and not place.startswith(os.path.join(top, "")):
        raise UsageError(say("gate.outside", path=repr(path), top=top), say("gate.outside.hint"))
    return place
