"""The list of files in a snapshot: made by the client, stored as a blob, laid out by the runner.

One JSON array a line: ["f", path, mode, size, blob] a file, ["l", path, target] a link, ["d", path] an empty folder.
"""

import os

from jig.runner.quick_json import dumps_short, loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable, List

    from jig.runner.blobs import BlobStore


SHAPES = {"f": (str, str, int, int, str), "l": (str, str, str), "d": (str, str)}
NOT_PARTS = {"", ".", ".."}


def encode(entries: "Iterable[List[Any]]") -> bytes:
    """The manifest's bytes; their hash is the snapshot's id."""
    return b"".join(dumps_short(entry).encode() + b"\n" for entry in entries)


def decode(data: bytes) -> "List[List[Any]]":
    """The entries; ValueError when one of them does not have its shape or leaves the folder."""
    entries = loads(b"[" + data.rstrip(b"\n").replace(b"\n", b",") + b"]")  # type: List[List[Any]]
    for entry in entries:
        _check(entry)
    return entries


def _check(entry: "Any") -> None:
    shape = SHAPES.get(entry[0]) if isinstance(entry, list) and entry else None
    if shape is None or tuple(map(type, entry)) != shape:
        raise ValueError("a manifest entry has the wrong shape: %r" % (entry,))
    if not NOT_PARTS.isdisjoint(entry[1].split("/")) or "\0" in entry[1]:
        raise ValueError("a manifest entry leaves its folder: %r" % (entry[1],))


def lay_out(entries: "Iterable[List[Any]]", blobs: "BlobStore", folder: str) -> None:
    """Write every file, link and empty folder of the snapshot under `folder`, which must be new."""
    made = {""}
    for entry in entries:
        path = entry[1]
        parent = path if entry[0] == "d" else path.rpartition("/")[0]
        if parent not in made:
            os.makedirs(native(os.path.join(folder, parent)), exist_ok=True)
            made.add(parent)
        place = native(os.path.join(folder, path))
        if entry[0] == "f":
            blobs.copy_out(entry[4], place, entry[2])
        elif entry[0] == "l":
            os.symlink(native(entry[2]), place)


def native(name: str) -> "Any":
    """The name as the system takes it, whatever the locale: Python 3.6 would encode it as ASCII where LC_ALL is C."""
    return name if os.name == "nt" else name.encode("utf-8", "surrogateescape")
