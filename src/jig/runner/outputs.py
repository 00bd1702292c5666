"""Sending home what a script left in outputs/: a list with hashes first, then the bytes that are asked for."""

import hashlib
import os

from jig.runner import wire
from jig.runner.folder import Home, RunFolder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, BinaryIO, Dict, Iterator, List

CHUNK = 1 << 20


def listed(folder: RunFolder) -> "List[List[Any]]":
    """Path below outputs/, size and SHA-256 of every plain file; links and pipes stay where they are."""
    found = []  # type: List[List[Any]]
    if os.path.islink(folder.work) or os.path.islink(folder.outputs):
        return found
    for parent, folders, names in os.walk(folder.outputs):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(parent, name)
            if os.path.isfile(path) and not os.path.islink(path):
                digest = hashlib.sha256()
                size = 0
                for piece in _pieces(path, 0):
                    digest.update(piece)
                    size += len(piece)
                found.append([os.path.relpath(path, folder.outputs), size, digest.hexdigest()])
    return found


def _pieces(path: str, offset: int) -> "Iterator[bytes]":
    with open(path, "rb") as file:
        file.seek(offset)
        while True:
            piece = file.read(CHUNK)
            if not piece:
                return
            yield piece


def send(home: Home, request: "Dict[str, Any]", source: "BinaryIO", out: "BinaryIO") -> None:
    """Answer with the list, then send each wanted file from the offset that the client has already."""
    folder = home.run(request["run"])
    found = listed(folder)
    wire.write_answer(out, {"outputs": found})
    known = {entry[0] for entry in found}
    for path, offset in wire.read_request(source)["wanted"]:
        if path not in known:
            raise wire.Refused("%r is not among the outputs" % path)
        for piece in _pieces(os.path.join(folder.outputs, path), offset):
            wire.write_frame(out, {"file": path, "offset": offset, "size": len(piece)}, piece)
            offset += len(piece)
    wire.write_answer(out, {"end": "sent"})
