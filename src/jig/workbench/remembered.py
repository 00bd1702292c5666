"""What the Workbench remembers between starts: `workbench.json` in the jig home."""

from __future__ import annotations

import json
import os
import secrets

from jig.errors import JigError
from jig.runner.folder import make_private
from jig.values import Value
from jig.workbench.words import say

NAME = "workbench.json"


class View(Value):
    """How a person looks at the runs of a project: the query, the order as the command line has it, the columns."""

    project: str
    name: str = ""
    where: str = ""
    sort: str = ""
    columns: tuple[str, ...] = ()
    archived: bool = False


class Kept(Value):
    """The recent projects, newest first; dark or light (None: as the system has it); the port; what cookies hold.

    And the views of runs that were given a name.
    """

    recent: tuple[str, ...] = ()
    dark: bool | None = None
    port: int = 0
    key: str = ""
    views: tuple[View, ...] = ()


def read(home: str) -> Kept:
    """What was kept; a file that is missing or makes no sense is as good as none."""
    try:
        with open(os.path.join(home, NAME), encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError):
        found = {}
    found = found if isinstance(found, dict) else {}
    recent, dark, port, key, views = (found.get(name) for name in Kept._fields)
    return Kept(
        tuple(root for root in recent if isinstance(root, str)) if isinstance(recent, list) else (),
        dark if isinstance(dark, bool) else None,
        port if isinstance(port, int) and 0 < port < 65536 else 0,
        key if isinstance(key, str) and len(key) >= 32 else secrets.token_urlsafe(32),
        tuple(view for one in (views if isinstance(views, list) else ()) if (view := _view(one)) is not None),
    )


def _view(found: object) -> View | None:
    """A view as it was written; None for what is none."""
    if not isinstance(found, dict) or set(found) != set(View._fields):
        return None
    columns = found["columns"] if isinstance(found["columns"], list) else [None]
    texts = (found["project"], found["name"], found["where"], found["sort"], *columns)
    if not all(isinstance(one, str) for one in texts):
        return None
    return View(**{**found, "columns": tuple(columns), "archived": found["archived"] is True})


def write(home: str, kept: Kept) -> None:
    """Write it aside, for this user's eyes only, and rename it into place."""
    place = os.path.join(home, NAME)
    aside = f"{place}.{os.getpid()}"
    try:
        make_private(home)
        with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            json.dump({**kept._asdict(), "views": [view._asdict() for view in kept.views]}, file, indent=1)
        os.replace(aside, place)
    except OSError as error:
        raise JigError(say("kept.unwritten", file=place, why=error.strerror), say("kept.unwritten.hint")) from error
