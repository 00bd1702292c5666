"""Where the person stands: the project of the current folder, if any, and the record."""

from __future__ import annotations

import os
import sys

from jig.errors import StoreError, UsageError
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


def find_going(wanted: str | None) -> Found:
    """The run to end: the one that was named, or the only one of this project that is going."""
    record, project = store(), project_name()
    if wanted is not None:
        return record.find(wanted, project)
    going = record.going(project)
    if len(going) == 1 and project is not None:
        return record.find(going[0], project)
    if not going:
        raise StoreError("no run is going", "jig history list shows those that ended")
    raise UsageError(f"which run? going are {', '.join(going)}", "name it:  jig cancel ID")


def find_run(wanted: str | None) -> Found:
    """The run that was named, or the latest of this project (of all, outside a project)."""
    return store().find(wanted, project_name())
