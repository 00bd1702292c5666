"""Freezing the code: which files, their content, and a cache that makes an unchanged tree cost a stat per file."""

from __future__ import annotations

import os
import stat
import time

from jig.digest import name_of
from jig.errors import SnapshotError
from jig.ignore import ENVIRONMENT_MARKS, NEVER, NEVER_AT_TOP, Rules
from jig.runner import manifest
from jig.runner.blobs import CHUNK, LARGE, BlobStore, sha256
from jig.runner.folder import default_home, make_private
from jig.runner.quick_json import dumps, loads
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

WARN_BYTES = 100 * 10**6
LARGE_BYTES = 10**9
SMALL_BYTES = 4 << 20
TICK_NS = 20 * 10**6  # two changes this close may carry the same time stamp, so such a file is hashed again next time
COARSE_TICK_NS = 2 * 10**9  # on disks that stamp whole seconds
EPOCH = 1


class Snapshot(Value):
    """The frozen code: its content id and entries as `runner.manifest` writes them."""

    id: str
    entries: list[list[Any]]
    files: int
    bytes: int


class _Found(Value):
    """What a walk over the project saw."""

    files: dict[str, os.stat_result]
    links: dict[str, str]
    empty: list[str]
    kept: list[str]
    skipped: list[str]
    ignore_files: dict[str, list[int]]


def _identity(status: os.stat_result) -> list[int]:
    return [status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino, status.st_mode]


class Hasher(BlobStore):
    """A store that keeps nothing: names what it is given. For a plan that is only to be looked at."""

    def __init__(self) -> None:
        super().__init__(os.devnull)

    def put(self, data: bytes) -> str:
        """The name that the bytes would have."""
        return self.add(iter([data]))[0]

    def add(self, chunks: Iterator[bytes], expect: str = "") -> tuple[str, int]:
        """The name and size that the stream would have."""
        digest, size = sha256(LARGE), 0
        for chunk in chunks:
            digest.update(chunk)
            size += len(chunk)
        return digest.hexdigest(), size


class _RulesChanged(Exception):
    """An ignore file is not the one that the cached decisions were made by."""


class _Walk:
    """One pass over the folder. Decisions of an earlier pass are reused while the ignore files are the same."""

    def __init__(self, root: str, cached: dict[str, Any]) -> None:
        self._root = root
        self._home = default_home()  # one that lies inside the project is not part of it
        self._rules = Rules(root)
        self._cached_ignores = cached.get("ignore_files", {})
        self._known_kept = set(cached.get("kept", ()))
        self._known_files = cached.get("files", {})
        self._known_skipped = set(cached.get("skipped", ()))
        self._cached = bool(cached)
        self._pending: list[tuple[str, str]] = []  # ignore files not read yet: (folder, path)
        self.found = _Found({}, {}, [], [], [], {})

    def run(self) -> _Found:
        self._folder(self._root, "")
        if self._cached and set(self._cached_ignores) != set(self.found.ignore_files):
            raise _RulesChanged
        return self.found

    def _folder(self, path: str, prefix: str) -> bool | None:
        """Walk one folder; False when nothing in it is kept, None when it is a virtual environment."""
        with os.scandir(path) as listing:
            entries = list(listing)
        names = {entry.name for entry in entries}
        if prefix and any(mark in names for mark in ENVIRONMENT_MARKS):
            return None
        ignore_file = self._rules.file_here(prefix, names)
        if ignore_file is not None:
            self._meet_rules(prefix, ignore_file)
        found, kept_any = self.found, False
        for entry in entries:
            name = entry.name
            if name in NEVER or (not prefix and name in NEVER_AT_TOP) or name.endswith(".pyc"):
                continue
            place = prefix + name
            is_folder = entry.is_dir(follow_symlinks=False)
            if is_folder and entry.path == self._home:
                continue
            if self._skips(place, is_folder):
                found.skipped.append(place)
            elif is_folder:
                found.kept.append(place)
                kept = self._folder(entry.path, place + "/")
                if kept is False:
                    found.empty.append(place)
                kept_any = kept_any or kept is not None
            elif entry.is_symlink():
                found.links[place] = os.readlink(entry.path)
                kept_any = True
            elif entry.is_file(follow_symlinks=False):
                found.files[place] = entry.stat(follow_symlinks=False)
                kept_any = True
        return kept_any

    def _meet_rules(self, folder: str, path: str) -> None:
        identity = _identity(os.stat(os.path.join(self._root, path)))
        self.found.ignore_files[path] = identity
        if self._cached and self._cached_ignores.get(path) != identity:
            raise _RulesChanged
        self._pending.append((folder, path))

    def _skips(self, place: str, is_folder: bool) -> bool:
        if not self.found.ignore_files:
            return False
        if place in self._known_skipped:
            return True
        if place in (self._known_kept if is_folder else self._known_files):
            return False
        for folder, path in self._pending:
            self._rules.add(folder, path)
        self._pending.clear()
        return self._rules.ignores(place, is_folder)


def take(
    root: str,
    store: BlobStore,
    cache_path: str,
    large: bool = False,
    warn: Callable[[str], None] = lambda text: None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Snapshot:
    """Freeze the folder: every kept file's bytes go into the store. SnapshotError names what cannot be frozen."""
    cached = _read_cache(cache_path, root)
    try:
        found = _Walk(root, cached).run()
    except _RulesChanged:
        found = _Walk(root, {}).run()
    except OSError as error:
        raise SnapshotError(f"cannot read {error.filename}: {error.strerror}", "ignore it in .amlignore") from error
    size = sum(status.st_size for status in found.files.values())
    _check_size(found, size, large, warn)
    others = [["l", place, _checked_link(root, place, target)] for place, target in sorted(found.links.items())]
    others += [["d", place] for place in sorted(found.empty)]
    for _, place, target in others[: len(found.links)]:
        aimed = os.path.normpath(os.path.join(os.path.dirname(place), target))
        if os.path.exists(os.path.join(root, place)) and not _holds(found, aimed):
            warn(f"the link {place} points to {aimed}, which is left out: it will lead nowhere in the run")
    known = cached.get("files", {})
    changed = [place for place, status in found.files.items() if known.get(place, ())[:5] != _identity(status)]
    if not changed and len(known) == len(found.files) and cached.get("others") == others:
        entries = [["f", place, *_mode_size_blob(known[place])] for place in sorted(known)]
        return Snapshot(cached["id"], _merge(entries, others), len(known), size)
    return _hash(root, store, cache_path, found, known, changed, others, progress)


def _holds(found: _Found, place: str) -> bool:
    return place == os.curdir or place in found.files or place in found.links or place in found.kept


def _mode_size_blob(row: list[Any]) -> list[Any]:
    return [stat.S_IMODE(row[4]), row[2], row[5]]


def _merge(files: list[list[Any]], others: list[list[Any]]) -> list[list[Any]]:
    return sorted(files + others, key=lambda entry: entry[1]) if others else files


def _hash(
    root: str,
    store: BlobStore,
    cache_path: str,
    found: _Found,
    known: dict[str, list[Any]],
    changed: list[str],
    others: list[list[Any]],
    progress: Callable[[int, int], None],
) -> Snapshot:
    """Read what changed into the store, and write the cache for the next time."""
    rows = {place: known[place] for place in found.files if place in known}
    total, done = sum(found.files[place].st_size for place in changed), 0
    untrusted = set()
    for place in changed:
        progress(done, total)
        status, name, trusted = _freeze(os.path.join(root, place), place, store)
        rows[place] = [*_identity(status), name]
        done += status.st_size
        if not trusted:
            untrusted.add(place)
    entries = _merge([["f", place, *_mode_size_blob(rows[place])] for place in sorted(rows)], others)
    name = store.put(manifest.encode(entries))
    size = sum(row[2] for row in rows.values())
    for place in untrusted:
        rows[place] = [0, *rows[place][1:]]
    if isinstance(store, Hasher):
        return Snapshot(name, entries, len(rows), size)  # nothing was stored, so nothing may be remembered
    _write_cache(
        cache_path,
        {
            "epoch": EPOCH,
            "root": root,
            "id": name,
            "files": rows,
            "others": others,
            "kept": found.kept,
            "skipped": found.skipped,
            "ignore_files": found.ignore_files,
        },
    )
    return Snapshot(name, entries, len(rows), size)


def _freeze(path: str, place: str, store: BlobStore) -> tuple[os.stat_result, str, bool]:
    """Store one file's bytes as they are at one moment; also says whether its time stamp can be trusted next time."""
    try:
        for _ in range(5):
            read_at_ns = time.time_ns()
            with open(path, "rb", buffering=0) as file:
                before = os.fstat(file.fileno())
                if before.st_size <= SMALL_BYTES:
                    name = store.put(b"".join(_pieces(file)))
                else:
                    name = store.add(_pieces(file))[0]
                after = os.fstat(file.fileno())
            if _identity(before) == _identity(after):
                tick_ns = TICK_NS if after.st_mtime_ns % 10**9 else COARSE_TICK_NS
                return after, name, after.st_mtime_ns < read_at_ns - tick_ns
    except OSError as error:
        raise SnapshotError(f"cannot freeze {place}: {error.strerror}", "ignore it in .amlignore") from error
    raise SnapshotError(f"{place} keeps changing while it is read", "ignore it in .amlignore, or wait for its writer")


def _pieces(file: Any) -> Iterator[bytes]:
    while piece := file.read(CHUNK):
        yield piece


def _checked_link(root: str, place: str, target: str) -> str:
    """The link's target as it may stand in the frozen copy; SnapshotError when it leaves the project."""
    folder = os.path.dirname(os.path.join(root, place))
    real_root = os.path.realpath(root)
    real = os.path.realpath(os.path.join(folder, target))
    if real != real_root and not real.startswith(real_root + os.sep):
        raise SnapshotError(
            f"the link {place} -> {target} leaves the project",
            "copy the file into the project, keep it in the share folder, or ignore the link in .amlignore",
        )
    return os.path.relpath(real, os.path.realpath(folder)) if os.path.isabs(target) else target


def _check_size(found: _Found, size: int, large: bool, warn: Callable[[str], None]) -> None:
    if size <= WARN_BYTES:
        return
    biggest = sorted(found.files, key=lambda place: -found.files[place].st_size)[:5]
    named = "\n".join(f"  {found.files[place].st_size / 10**6:>10,.1f} MB  {place}" for place in biggest)
    text = f"the project is {size / 10**6:,.0f} MB; the largest files are\n{named}"
    if size > LARGE_BYTES and not large:
        raise SnapshotError(text, "ignore data in .amlignore, or submit with --large to send it all")
    warn(text + "\n  (data that scripts read may live in the share folder; .amlignore leaves files out)")


def _read_cache(path: str, root: str) -> dict[str, Any]:
    try:
        with open(path, encoding="ascii") as file:
            cached = loads(file.read())
    except (OSError, ValueError):  # none yet, or torn: then everything is hashed
        return {}
    fits = isinstance(cached, dict) and cached.get("epoch") == EPOCH and cached.get("root") == root
    return cached if fits else {}


def _write_cache(path: str, cached: dict[str, Any]) -> None:
    make_private(os.path.dirname(path))
    aside = f"{path}.{os.getpid()}"
    with open(aside, "w") as file:
        file.write(dumps(cached))
    os.replace(aside, path)


def cache_path(home: str, root: str) -> str:
    """Where the cache of this project lies under the jig home: nothing is written into the project itself."""
    return os.path.join(home, "cache", "snapshot", f"{name_of(os.fsencode(root), 6)}.json")
