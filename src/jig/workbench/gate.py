"""The one gate to files: all that pages read and write goes through here."""

from __future__ import annotations

import os

from jig.errors import UsageError


def within(root: str, path: str) -> str:
    """The real path of something at or below `root`, relative to it or absolute; UsageError for anything outside.

    Links are followed first, so one that leads out is outside.
    """
    top = os.path.realpath(root)
    if "\0" in path:
        raise UsageError("a name with a zero byte in it is no file")
    place = os.path.realpath(os.path.join(top, path))
    if place != top and not place.startswith(os.path.join(top, "")):
        raise UsageError(f"{path!r} is outside of {top}", "only files of the project and of its runs are shown")
    return place
