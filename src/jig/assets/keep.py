"""Keeping the content of an asset: its bytes as blobs, and a list of them that says that they are needed."""

from __future__ import annotations

import os
import stat

from jig.assets.link import FILE, TREE
from jig.errors import StoreError
from jig.runner import manifest
from jig.runner.blobs import CHUNK, BlobStore
from jig.runner.folder import Home, RunFolder, make_private
from jig.runner.quick_json import dumps_lines, loads
from jig.store import runs
from jig.system import lock
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

PLAIN = 0o644  # modes do not travel with outputs, so an asset has none either


class Content(Value):
    """What an artifact is, by its bytes."""

    kind: str
    size: int
    sha256: str
    entries: tuple[tuple[str, int, str], ...]  # path below the artifact, size, blob; of a file only itself

    @property
    def blobs(self) -> tuple[str, ...]:
        """Every blob that it takes."""
        own = (self.sha256,) if self.kind == TREE else ()
        return (*own, *dict.fromkeys(blob for _, _, blob in self.entries))


def artifact(folder: RunFolder, wanted: str, nested: str = "") -> str:
    """The artifact's path as the record has it: `outputs/model.pkl`, also where only `model.pkl` was said.

    A nested run has its outputs in a folder of those of the run that it is in.
    """
    said = wanted.rstrip("/")
    below = [f"outputs/nested/{nested}/{said.removeprefix('outputs/')}"] if nested else []
    for name in (*below, said, f"outputs/{said}") if said else ():
        path = os.path.normpath(name)
        if _is_tree(folder, path) or _is_file(folder, path):
            return path.replace(os.sep, "/")
    known = ", ".join(runs.attachments(folder)[:20]) or "none"
    raise StoreError(f"the run {folder.id} has no artifact {wanted!r}", f"it has {known}")


def _is_file(folder: RunFolder, path: str) -> bool:
    try:
        return os.path.isfile(runs.artifact_path(folder, path))
    except ValueError:
        return False


def _is_tree(folder: RunFolder, path: str) -> bool:
    """Whether this is a folder of outputs: really there, not where a link of the script's would lead."""
    if path.split(os.sep)[0] != "outputs":
        return False
    place = os.path.join(folder.work, path)
    real = os.path.join(os.path.realpath(folder.path), "work", path)
    return os.path.isdir(place) and os.path.realpath(place) == real


def take(store: BlobStore, folder: RunFolder, path: str) -> Content:
    """Store the bytes of an artifact, and say what they are. Links and pipes in a folder are left where they are."""
    if not _is_tree(folder, path):
        blob, size = store.add(_pieces(os.path.realpath(runs.artifact_path(folder, path))))
        return Content(FILE, size, blob, (("", size, blob),))
    top, entries = os.path.join(folder.work, path), []
    for parent, folders, names in os.walk(top):
        folders.sort()
        for name in names:
            place = os.path.join(parent, name)
            if stat.S_ISREG(os.lstat(place).st_mode):
                blob, size = store.add(_pieces(place))
                entries.append((os.path.relpath(place, top).replace(os.sep, "/"), size, blob))
    entries.sort()
    listed = manifest.encode(["f", name, PLAIN, size, blob] for name, size, blob in entries)
    return Content(TREE, sum(size for _, size, _ in entries), store.put(listed), tuple(entries))


def _pieces(path: str) -> Iterator[bytes]:
    """The bytes of a plain file; a script that still runs may put a pipe there at any moment."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(path, flags), "rb", buffering=0) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise StoreError(f"{path} is no plain file")
        while piece := file.read(CHUNK):
            yield piece


def kept(store: BlobStore, kind: str, sha256: str) -> Content | None:
    """The content of this digest as it is kept here, None when some of it is missing."""
    try:
        if kind == FILE:
            size = os.stat(store.place(sha256)).st_size
            return Content(FILE, size, sha256, (("", size, sha256),))
        listed = manifest.decode(store.read(sha256))
    except (FileNotFoundError, ValueError):
        return None
    entries = tuple((entry[1], entry[3], entry[4]) for entry in listed if entry[0] == "f")
    if not all(store.has(blob, size) for _, size, blob in entries):
        return None
    return Content(TREE, sum(size for _, size, _ in entries), sha256, entries)


class Kept:
    """The lists of what must be kept, under a jig home; locked while this is held."""

    def __init__(self, home: Home) -> None:
        make_private(home.assets)
        self._folder = home.assets
        self._file = os.open(os.path.join(home.assets, "lock"), os.O_RDWR | os.O_CREAT, 0o600)
        lock(self._file)

    def __enter__(self) -> Kept:
        return self

    def __exit__(self, *exc: object) -> None:
        os.close(self._file)

    def add(self, root: str, name: str, version: int, content: Content) -> None:
        """Keep this content for a version of an asset of the project in `root`."""
        told = {"asset": name, "version": version, "project_root": root, "blobs": list(content.blobs)}
        write_whole(self._place(root, name, version, content.sha256), dumps_lines(told))

    def drop(self, root: str, name: str) -> list[str]:
        """Keep nothing more for this asset; returns the blobs that were kept for it."""
        dropped = []
        for path, told in self._all():
            if (told.get("project_root"), told.get("asset")) == (root, name):
                dropped += told["blobs"]
                os.unlink(path)
        return dropped

    def _place(self, root: str, name: str, version: int, digest: str) -> str:
        from hashlib import sha256

        # The digest too: two branches of a project may both have a version 1.
        key = sha256("\0".join((root, name, str(version), digest)).encode(errors="surrogateescape")).hexdigest()
        return os.path.join(self._folder, key[:32] + ".json")

    def _all(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for name in sorted(os.listdir(self._folder)):
            if name.endswith(".json"):
                path = os.path.join(self._folder, name)
                with open(path, "rb") as file:
                    yield path, loads(file.read())


def write_whole(path: str, text: str) -> None:
    """Write a file aside and put it in place, so that it is there whole or not at all, also after a power cut."""
    aside = f"{path}.{os.getpid()}.new"
    try:
        with open(aside, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    except BaseException:
        if os.path.lexists(aside):
            os.unlink(aside)
        raise
