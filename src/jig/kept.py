"""What is kept of a project's files, so that it may be overwritten: in git, in runs, and in folders frozen for that."""

from __future__ import annotations

import os
import stat

from jig import snapshot
from jig.runner import manifest
from jig.runner.blobs import BlobStore
from jig.runner.folder import Home, make_private
from jig.runner.quick_json import dumps_lines, loads
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


class Lost(Value):
    """Something in the folder that would be gone: a file with the hash of its bytes, or a link with where it leads."""

    path: str
    is_link: bool
    content: str
    identity: tuple[int, ...]


def kept_folder(home: Home) -> str:
    """Where folders are noted that were kept before something was put in their place."""
    return os.path.join(home.path, "kept")


def unkept(home: Home, root: str, lost: list[Lost]) -> set[str]:
    """The paths whose content is nowhere else: not in git's last commit, and not in the frozen code of any run."""
    from jig.origin import committed

    in_git = committed(root)
    left = {one.path: one for one in lost if not _is_committed(root, one, in_git)}
    store = BlobStore(home.blobs)
    perhaps = {path: one for path, one in left.items() if one.is_link or store.has(one.content)}
    for entries in _kept_code(home, store):
        if not perhaps:
            break
        blobs = {entry[4] for entry in entries if entry[0] == "f"}
        links = {(entry[1], entry[2]) for entry in entries if entry[0] == "l"}
        for path, one in list(perhaps.items()):
            if (path, one.content) in links if one.is_link else one.content in blobs:
                del perhaps[path], left[path]
    return set(left)


def _is_committed(root: str, one: Lost, in_git: set[str]) -> bool:
    from jig.compare.patch import git_name

    if not in_git:
        return False
    if one.is_link:
        data = one.content.encode("utf-8", "surrogateescape")
    else:
        with open(os.path.join(root, one.path), "rb") as file:
            data = file.read()
    kind = "sha256" if len(next(iter(in_git))) == 64 else "sha1"
    return git_name(data, kind) in in_git


def _kept_code(home: Home, store: BlobStore) -> Iterable[list[list[Any]]]:
    """The lists of files of all that is kept, each once, the newest first."""
    seen = set()
    for place in sorted(_plans(home), key=_age, reverse=True):
        name = _snapshot_of(place)
        if name and name not in seen:
            seen.add(name)
            try:
                yield manifest.decode(store.read(name))
            except (FileNotFoundError, ValueError):  # it is on another machine, or gone: it keeps nothing here
                continue


def _age(place: str) -> str:
    """A run's id ends with when it was made."""
    return place.rpartition("_")[2]


def _plans(home: Home) -> Iterable[str]:
    parents = [home.runs, kept_folder(home)]
    if os.path.isdir(home.mirror):
        parents += [os.path.join(home.mirror, login) for login in os.listdir(home.mirror)]
    for parent in parents:
        for name in os.listdir(parent) if os.path.isdir(parent) else []:
            if not name.startswith("."):
                yield os.path.join(parent, name)


def _snapshot_of(folder: str) -> str:
    try:
        with open(os.path.join(folder, "plan.json"), "rb") as file:
            return str(loads(file.read())["snapshot"]["id"])
    except (OSError, ValueError, KeyError, TypeError):  # reserved only, or of another kind
        return ""


def keep(home: Home, root: str, lost: list[Lost], project: str) -> str:
    """Freeze the folder as it is, and ignored files that would be overwritten; returns what to restore to undo that."""
    import time

    store = BlobStore(home.blobs)
    taken = snapshot.take(root, store, snapshot.cache_path(home.path, root), large=True)
    entries = {entry[1]: entry for entry in taken.entries}
    for one in lost:
        if one.path not in entries:
            entries[one.path] = _frozen_now(root, one, store)
    listed = [entries[path] for path in sorted(entries)]
    for entry in listed:  # the cache may know of a file whose bytes were collected since
        if entry[0] == "f" and not store.has(entry[4], entry[3]):
            _frozen_now(root, Lost(entry[1], False, entry[4], ()), store)
    name = store.put(manifest.encode(listed))
    created = time.time()
    kept = f"{project}_{int(created * 1000)}-kept"
    place = os.path.join(kept_folder(home), kept)
    make_private(place)
    counts = {"files": len(listed), "bytes": sum(entry[3] for entry in listed if entry[0] == "f")}
    about = {"run_id": kept, "project": project, "project_root": root, "created": created}
    with open(os.path.join(place, "plan.json.new"), "w") as file:
        file.write(dumps_lines({**about, "snapshot": {"id": name, **counts}}))
    os.replace(file.name, os.path.join(place, "plan.json"))
    return kept


def _frozen_now(root: str, one: Lost, store: BlobStore) -> list[Any]:
    if one.is_link:
        return ["l", one.path, one.content]
    place = os.path.join(root, one.path)
    with open(place, "rb") as file:
        name, size = store.add(iter(lambda: file.read(1 << 20), b""))
    return ["f", one.path, stat.S_IMODE(os.stat(place).st_mode), size, name]
