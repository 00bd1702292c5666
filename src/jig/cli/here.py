"""Where the person stands: the project of the current folder, if any, and the record."""

from __future__ import annotations

import os
import sys

from jig.errors import StoreError, UsageError
from jig.project import Project
from jig.store.queries import Found, Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any


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
    return find_runs((wanted,))[0]


def find_runs(words: Sequence[str | None]) -> list[Found]:
    """The runs that were named: by id, by a unique beginning, or as `last`, `last~1`, `last~2` …"""
    record, project = store(), project_name()
    return [record.find(word, project) for word in words]


def find_kept(wanted: str | None) -> Found:
    """The run that was named, or the folder that was kept under this name before a restore."""
    from jig.kept import kept_folder
    from jig.machines.local import LocalMachine
    from jig.runner.folder import Home, RunFolder, default_home, is_run_id

    if wanted is None:
        raise UsageError("no run was named", "for example:  jig project restore --run-id last")
    home = Home(default_home())
    folder = RunFolder(os.path.join(kept_folder(home), wanted))
    if is_run_id(wanted) and os.path.exists(folder.plan):
        return Found(wanted, folder, LocalMachine(home.path))
    return find_run(wanted)


def project_around(folder: str, plan: Mapping[str, Any]) -> str:
    """The folder of the project that a run belongs to: the one around here, if it is that."""
    try:
        project = Project.find(folder)
    except UsageError:
        project = None
    if project is not None and project.name == plan["project"]:
        return project.root
    if project is None and os.path.isdir(str(plan["project_root"])):
        return str(plan["project_root"])
    raise UsageError(
        f"the run {plan['run_id']} belongs to the project {plan['project']}, and {folder} does not",
        "go to its folder first",
    )
