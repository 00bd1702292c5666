"""Project files to nodes with line numbers; most commands find them in a cache and never import yaml."""

from __future__ import annotations

import os

from jig.digest import name_of
from jig.errors import Fault, ProjectError
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

# Part of each cache entry's name: raise it whenever the same bytes would parse to another node.
EPOCH = 1
SIZE_LIMIT = 1_000_000

NULL, PLAIN, QUOTED, LIST, MAP = "null", "plain", "quoted", "list", "map"


class Node(Value):
    """One value of a file. Scalars keep their text as written; a map's children are key, value, key, value …"""

    kind: str
    line: int
    text: str
    children: tuple[Node, ...]

    @property
    def is_scalar(self) -> bool:
        """Whether this is a single value, null included."""
        return self.kind in (NULL, PLAIN, QUOTED)

    def pairs(self) -> Iterator[tuple[Node, Node]]:
        """The (key, value) pairs of a map, in the order they stand in the file."""
        return zip(self.children[::2], self.children[1::2], strict=True)


def load(path: str, cache_dir: str | None, shown: str = "") -> Node | None:
    """The parsed file, None when it is empty; raises ProjectError with every fault of its syntax."""
    root, faults = read(path, cache_dir, shown)
    if faults:
        raise ProjectError(faults)
    return root


def read(path: str, cache_dir: str | None, shown: str = "") -> tuple[Node | None, list[Fault]]:
    """As `load`, but with the traps that were stepped over as faults, so that the rest can be checked too."""
    shown = shown or path
    data = _bytes(path, shown)
    if cache_dir is None:
        return parse(_text(data, shown), shown)
    from jig.project import cache

    entry = os.path.join(cache_dir, f"{name_of(data)}.{EPOCH}.json")
    root = cache.fetch(entry)
    if root is not None:
        return root, []
    root, faults = parse(_text(data, shown), shown)
    if root is not None and not faults and not _holds_secret(root):
        cache.keep(entry, root)
    return root, faults


def parse(text: str, shown: str, pure: bool = False) -> tuple[Node | None, list[Fault]]:
    """The text as a node, and the traps stepped over; raises ProjectError when nothing can be read.

    `pure` parses without the C library.
    """
    from jig.project import traps, tree

    text, faults = traps.before(text, shown)
    failure: Fault | None = None
    root: Node | None = None
    try:
        root = tree.compose(text, shown, pure)
    except ProjectError as error:
        failure = error.faults[0]
    if failure or (root is not None and root.kind != MAP):
        repaired, found = traps.after(text, shown)
        faults += found
        if repaired != text:
            try:
                root, failure = tree.compose(repaired, shown, pure), None
            except ProjectError as error:
                # Behind a trap this may be a mere echo of it; alone it is the better of the two.
                failure = None if faults else error.faults[0]
                root = None
    if failure and not faults:
        raise ProjectError([failure])
    if faults and root is None:
        raise ProjectError(sorted(faults, key=lambda fault: fault.line))
    return root, faults


def _bytes(path: str, shown: str) -> bytes:
    try:
        if os.path.exists(path) and not os.path.isfile(path):
            raise ProjectError([Fault(shown, 0, "", "this is not a regular file", "put a text file in its place")])
        with open(path, "rb") as stream:  # noqa: PTH123
            data = stream.read(SIZE_LIMIT + 1)
    except OSError as error:
        raise ProjectError([Fault(shown, 0, "", f"could not be read: {error.strerror}")]) from error
    if len(data) > SIZE_LIMIT:
        raise ProjectError([Fault(shown, 0, "", f"larger than {SIZE_LIMIT:,} bytes: not a file of settings")])
    return data


def _text(data: bytes, shown: str) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ProjectError([Fault(shown, 1, "", "the file is UTF-16 text", "save it as UTF-8")])
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"byte 0x{data[error.start]:02x} is not UTF-8 text"
        raise ProjectError([Fault(shown, line, "", message, "save the file as UTF-8")]) from error


def _holds_secret(node: Node) -> bool:
    """Whether the file holds a password (not a mere reference to one) or a URL with one: it is never copied."""
    for key, value in node.pairs() if node.kind == MAP else ():
        if key.text == "password" and value.kind != NULL and not value.text.startswith("AzureMlSecret="):
            return True
    _, mark, address = node.text.partition("://")
    if mark and ("?" in address or "@" in address.partition("/")[0] or "/t/" in address):
        return True
    return any(_holds_secret(child) for child in node.children)
