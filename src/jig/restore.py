"""Putting a folder back to what a run had frozen: nothing is lost on the way, and only code is touched.

What would be overwritten or deleted must be kept somewhere already, in git's last commit or in the frozen code of a
run, unless the person insists; and in any case it is frozen first.
"""

from __future__ import annotations

import os
import stat

from jig import kept, snapshot
from jig.digest import name_of
from jig.errors import SnapshotError, StoreError
from jig.ignore import NEVER, NEVER_AT_TOP, RESTORING, Rules
from jig.kept import Lost
from jig.runner.blobs import UsingBlobs
from jig.runner.folder import Home, default_home, make_private
from jig.system import lock
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from jig.frozen import Frozen

SHOWN = 10
GO_ON = "the same command goes on where this one stopped"


class Todo(Value):
    """What a restore would do."""

    root: str
    writes: list[list[Any]]  # entries of the manifest
    deletes: list[str]
    lost: list[Lost]
    hollow: list[str]  # empty folders that go
    unchanged: int


class Restored(Value):
    """What a restore did; `back` is what to restore to undo it, empty where nothing was there before."""

    written: tuple[str, ...]
    deleted: tuple[str, ...]
    unchanged: int
    back: str


def restore(root: str, frozen: Frozen, project: str, force: bool, tell: Callable[[str], None]) -> Restored:
    """Make the folder what it was; StoreError when that would lose something, and nothing is touched then."""
    home = Home(default_home())
    make_private(home.path)
    os.makedirs(root, exist_ok=True)
    root = os.path.realpath(root)
    name = f"restore-{name_of(os.fsencode(root), 6)}.lock"
    held = os.open(os.path.join(home.local_state(), name), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if not lock(held, wait=False):
            raise StoreError(f"another restore works on {root}", "wait until it has ended")
        _sweep(root)
        with UsingBlobs(frozen.store):
            return _restore(home, root, frozen, project, force, tell)
    finally:
        os.close(held)


def _restore(home: Home, root: str, frozen: Frozen, project: str, force: bool, tell: Callable[[str], None]) -> Restored:
    check_paths(frozen.entries, frozen.run_id)
    todo = plan(root, frozen)
    if not todo.writes and not todo.deletes and not todo.hollow:
        return Restored((), (), todo.unchanged, "")
    endangered = kept.unkept(home, root, todo.lost)
    if endangered and not force:
        raise _refusal(sorted(endangered))
    _fetch(frozen, todo)
    back = kept.keep(home, root, todo.lost, project) if todo.lost else ""
    if back:
        tell(f"the folder as it is now is kept; to have it back:  jig project restore --run-id {back}")
    try:
        try:
            staged = _stage(root, frozen, todo)
            _check_unchanged(todo)
        except OSError as error:
            raise StoreError(f"nothing is restored: {error}", "mend that, and run the command again") from error
        try:
            _carry_out(todo, staged)
        except OSError as error:
            raise StoreError(f"{root} is only partly restored: {error}", GO_ON) from error
    finally:
        _sweep(root)
    return Restored(tuple(entry[1] for entry in todo.writes), tuple(todo.deletes), todo.unchanged, back)


def _refusal(paths: list[str]) -> StoreError:
    names = "\n".join(f"  {path}" for path in paths[:SHOWN])
    more = f"\n  and {len(paths) - SHOWN} more" if len(paths) > SHOWN else ""
    return StoreError(
        f"this would overwrite or delete work that is neither committed nor part of a run:\n{names}{more}",
        "commit it, or say --force: then the folder is kept first, and can be had back",
    )


def check_paths(entries: Iterable[list[Any]], run_id: str) -> None:
    """Refuse a list that would write where no snapshot reaches: it did not come from jig, whoever sent it."""
    entries = list(entries)
    solid = {entry[1] for entry in entries if entry[0] != "d"}
    for entry in entries:
        parts = entry[1].split("/")
        if any("/".join(parts[:depth]) in solid for depth in range(1, len(parts))):
            raise StoreError(f"the frozen code of {run_id} names {entry[1]!r} below something that is no folder")
        reserved = {part.lower() for part in parts} & {name.lower() for name in NEVER}
        if reserved or parts[0] in NEVER_AT_TOP or (os.name == "nt" and "\\" in entry[1]):
            raise StoreError(f"the frozen code of {run_id} names {entry[1]!r}, which is never part of a run")
        if entry[0] == "l" and _leaves(parts[:-1], entry[2]):
            raise StoreError(f"the frozen code of {run_id} has a link that leaves the folder: {entry[1]} -> {entry[2]}")


def _leaves(folder: list[str], target: str) -> bool:
    aimed = os.path.normpath("/".join([*folder, target]))
    return os.path.isabs(target) or aimed == os.pardir or aimed.startswith(os.pardir + os.sep)


def plan(root: str, frozen: Frozen) -> Todo:
    """What must happen for the folder to be what was frozen."""
    now = _entries_now(root)
    wanted = frozen.by_path
    writes, deletes, lost, unchanged = [], [], {}, 0
    ignored = _ignored_then(frozen)
    for path, entry in now.items():
        if path in wanted or entry[0] == "d" or ignored(path):
            continue
        deletes.append(path)
        lost[path] = _lost(root, entry)
    for path, entry in wanted.items():
        there = now.get(path)
        if there is None or there[0] == "d":  # a folder that counts as empty may have ignored files
            there = _entry_there(root, entry, deletes)
        if there == entry:
            unchanged += entry[0] != "d"
            continue
        writes.append(entry)
        if there is not None and there[0] != "d" and there[:1] + there[-1:] != entry[:1] + entry[-1:]:
            lost[path] = _lost(root, there)
    deleted = set(deletes)
    for entry in writes:
        _check_way(root, entry[1], deleted)
    hollow = [path for path, entry in now.items() if entry[0] == "d" and path not in wanted and not ignored(path)]
    return Todo(root, writes, sorted(deletes), [lost[path] for path in sorted(lost)], hollow, unchanged)


def _entries_now(root: str) -> dict[str, list[Any]]:
    cache = snapshot.cache_path(default_home(), root)
    return {entry[1]: entry for entry in snapshot.take(root, snapshot.Hasher(), cache, large=True).entries}


def _entry_there(root: str, wanted: list[Any], deletes: list[str]) -> list[Any] | None:
    """What stands at a path that the walk passed over: an ignored file, a folder that is not empty, or nothing."""
    path = wanted[1]
    place = os.path.join(root, path)
    try:
        status = os.lstat(place)
    except (FileNotFoundError, NotADirectoryError):
        return None
    if stat.S_ISLNK(status.st_mode):
        return ["l", path, os.readlink(place)]
    if stat.S_ISREG(status.st_mode):
        return ["f", path, stat.S_IMODE(status.st_mode), status.st_size, _hash(place)]
    if stat.S_ISDIR(status.st_mode) and (wanted[0] == "d" or _all_go(root, path, deletes)):
        return ["d", path]
    raise StoreError(f"{path} is in the way of a file of that name", "move it away first")


def _all_go(root: str, path: str, deletes: list[str]) -> bool:
    """Whether nothing is left in a folder after the deletes."""
    gone = set(deletes)
    for parent, folders, names in os.walk(os.path.join(root, path)):
        below = os.path.relpath(parent, root).replace(os.sep, "/")
        links = [name for name in folders if os.path.islink(os.path.join(parent, name))]
        if any(f"{below}/{name}" not in gone for name in [*names, *links]):
            return False
    return True


def _check_way(root: str, path: str, deletes: set[str]) -> None:
    """No file or link may stand where a folder on the way to the path must be: what is written would land elsewhere."""
    parts = path.split("/")[:-1]
    for depth in range(1, len(parts) + 1):
        above = "/".join(parts[:depth])
        place = os.path.join(root, above)
        if (os.path.islink(place) or (os.path.lexists(place) and not os.path.isdir(place))) and above not in deletes:
            raise StoreError(f"{above} is in the way of the folder of {path}", "move it away first")


def _hash(place: str) -> str:
    with open(place, "rb") as file:
        return snapshot.Hasher().add(iter(lambda: file.read(1 << 20), b""))[0]


def _lost(root: str, entry: list[Any]) -> Lost:
    status = os.lstat(os.path.join(root, entry[1]))
    identity = (status.st_mtime_ns, status.st_size, status.st_ino)
    return Lost(entry[1], entry[0] == "l", str(entry[-1]), identity)


def _ignored_then(frozen: Frozen) -> Callable[[str], bool]:
    """Whether the run's own ignore rules left a path out: then it was there, perhaps, and is none of our business."""
    import tempfile

    by_path = frozen.by_path
    with tempfile.TemporaryDirectory() as folder:
        files = [path for path in by_path if path.rpartition("/")[2] in (".amlignore", ".gitignore")]
        for path in files:
            place = os.path.join(folder, path)
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, "wb") as file:
                file.write(frozen.read(by_path[path][4]) if by_path[path][0] == "f" else b"")
        rules = Rules(folder)
        for path in sorted(files, key=lambda path: path.count("/")):
            above = path[: len(path) - len(path.rpartition("/")[2])]
            if rules.file_here(above, {path.rpartition("/")[2]}) == path:
                rules.add(above, path)

    def ignored(path: str) -> bool:
        parts = path.split("/")
        folders = ("/".join(parts[:depth]) for depth in range(1, len(parts)))
        return any(rules.ignores(above, True) for above in folders) or rules.ignores(path, False)

    return ignored


def _fetch(frozen: Frozen, todo: Todo) -> None:
    """Have every file that is to be written here and whole, before anything is touched."""
    blobs = [entry[4] for entry in todo.writes if entry[0] == "f"]
    frozen.bring(blobs)
    for blob in blobs:
        if _hash(frozen.store.place(blob)) != blob:
            frozen.read(blob)  # takes the damaged one away, and brings it again if its machine has it


def _stage(root: str, frozen: Frozen, todo: Todo) -> list[str]:
    """Every file and link beside its place, whole: from here on there are only renames."""
    folder = os.path.join(root, RESTORING)
    os.mkdir(folder, 0o700)
    staged = []
    for number, entry in enumerate(todo.writes):
        place = os.path.join(folder, str(number))
        if entry[0] == "f":
            frozen.store.copy_out(entry[4], place, entry[2] & 0o777)
        elif entry[0] == "l":
            os.symlink(entry[2], place)
        staged.append(place)
    return staged


def _check_unchanged(todo: Todo) -> None:
    """Somebody may have gone on working since the look."""
    for one in todo.lost:
        try:
            status = os.lstat(os.path.join(todo.root, one.path))
        except FileNotFoundError:
            continue
        if (status.st_mtime_ns, status.st_size, status.st_ino) != one.identity:
            raise SnapshotError(f"{one.path} was changed this moment: nothing is restored", "run the command again")


def _carry_out(todo: Todo, staged: list[str]) -> None:
    for path in todo.deletes:
        os.unlink(os.path.join(todo.root, path))
    emptied = {os.path.dirname(path) for path in todo.deletes}.union(todo.hollow)
    for path in sorted(emptied, key=len, reverse=True):
        _remove_empty(todo.root, path)
    for entry, aside in zip(todo.writes, staged, strict=True):
        _check_way(todo.root, entry[1], set())  # a link of this very list, or one that was made meanwhile
        place = os.path.join(todo.root, entry[1])
        if entry[0] == "d":
            if os.path.lexists(place) and (os.path.islink(place) or not os.path.isdir(place)):
                os.unlink(place)
            os.makedirs(place, exist_ok=True)
            continue
        os.makedirs(os.path.dirname(place), exist_ok=True)
        if os.path.isdir(place) and not os.path.islink(place):
            _remove_tree_of_folders(place)
        _put(aside, place)


def _put(aside: str, place: str) -> None:
    import errno

    try:
        os.replace(aside, place)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        import shutil  # a folder of the project is on another disk

        beside = f"{place}.{os.getpid()}"
        shutil.copy2(aside, beside, follow_symlinks=False)
        os.replace(beside, place)


def _remove_empty(root: str, path: str) -> None:
    """Folders that hold nothing any more go, up to the project's own."""
    while path:
        try:
            os.rmdir(os.path.join(root, path))
        except OSError:  # something is left in it
            return
        path = os.path.dirname(path)


def _remove_tree_of_folders(place: str) -> None:
    for parent, _, _ in os.walk(place, topdown=False):
        os.rmdir(parent)


def _sweep(root: str) -> None:
    """What a killed restore has left."""
    folder = os.path.join(root, RESTORING)
    if os.path.isdir(folder) and not os.path.islink(folder):
        import shutil

        shutil.rmtree(folder)
