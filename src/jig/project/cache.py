"""Parsed files, kept as JSON by the hash of their bytes."""

from __future__ import annotations

import os

from jig.project.yaml import LIST, MAP, NULL, PLAIN, QUOTED, Node
from jig.runner.folder import make_private
from jig.runner.quick_json import dumps, loads

ENTRIES_LIMIT = 256


def fetch(entry: str) -> Node | None:
    """The node kept under this path, None when there is none that is whole."""
    try:
        with open(entry, encoding="ascii") as stream:
            return _from_json(loads(stream.read()))
    except (OSError, ValueError, RecursionError):
        return None  # an entry that is not there, or not whole, costs one parse and nothing else


def _from_json(value: object) -> Node:
    match value:
        case [str(kind), int(line), str(text), list(children)] if (
            kind in (LIST, MAP) or (kind in (NULL, PLAIN, QUOTED) and not children)
        ) and not (kind == MAP and len(children) % 2):
            return Node(kind, line, text, tuple(_from_json(child) for child in children))
    raise ValueError("not a node")


def keep(entry: str, root: Node) -> None:
    """Keeps a node, readable by its owner only; a cache that grew too large starts anew."""
    folder = os.path.dirname(entry)
    aside = f"{entry}.{os.getpid()}.tmp"
    try:
        make_private(folder)
        with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as stream:
            stream.write(dumps(root))
        os.replace(aside, entry)
        names = os.listdir(folder)
        for name in names if len(names) > ENTRIES_LIMIT else ():
            if name != os.path.basename(entry):
                os.unlink(os.path.join(folder, name))
    except OSError:
        return  # a cache that cannot be written is not used: the file itself was read well
