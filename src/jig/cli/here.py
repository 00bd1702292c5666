"""Where the person stands: the project of the current folder, if any, and the record."""

from __future__ import annotations

import os
import sys

from jig.errors import UsageError
from jig.project import Project
from jig.store.queries import Found, Store


def store() -> Store:
    """The record; what it has to tell goes to stderr."""
    return Store(lambda text: print(f"jig: {text}", file=sys.stderr))


def project_name(folder: str | None = None) -> str | None:
    """The name of the project around the folder; None outside any, unless a folder was named."""
    try:
        return Project.find(os.path.abspath(folder or os.curdir)).name
    except UsageError:
        if folder is not None:
            raise
        return None


def find_run(wanted: str | None) -> Found:
    """The run that was named, or the latest of this project (of all, outside a project)."""
    return store().find(wanted, project_name())
