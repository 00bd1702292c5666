"""Removing runs and what nothing refers to any more, safely beside runs that are being submitted."""

import os
import shutil
import sys
import time

from jig.runner import blobs, events, manifest, wire
from jig.runner.folder import BOX, Home, RunFolder, is_held
from jig.runner.quick_json import loads
from jig.runner.status import ALIVE, ELSEWHERE, status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Set

RESERVED_S = 7 * 86400.0  # an empty run folder is a reservation; one this old belongs to a client that died
RUNNER_S = 30 * 86400.0


def remove_run(home: Home, run_id: str) -> str:
    """Remove an ended run's folder; `alive` or `elsewhere` when it may not be."""
    folder = home.run(run_id)
    seen = status(home, run_id)
    if seen in (ALIVE, ELSEWHERE):
        return seen
    lock_path = folder.lock(home)
    aside = os.path.join(home.runs, ".old-%s-%d" % (folder.id, os.getpid()))
    try:
        os.rename(folder.path, aside)  # first, so that a reader sees the folder whole or not at all
        delete(aside)
        os.unlink(lock_path)
    except FileNotFoundError:
        return "removed"
    return "removed"


def delete(path: str) -> int:
    """Remove a file, a link or a folder; returns the bytes given back. What is gone already is no error."""
    try:
        freed = size_of(path)
        if os.path.isdir(path) and not os.path.islink(path):
            for parent, _, _ in os.walk(path):
                os.chmod(parent, 0o700)  # a script may have taken away the right to change its own folders
            shutil.rmtree(path)
        else:
            os.unlink(path)
    except FileNotFoundError:
        return 0
    return freed


def size_of(path: str) -> int:
    """Bytes that a file or folder takes."""
    if not os.path.isdir(path) or os.path.islink(path):
        return os.lstat(path).st_size
    total = 0
    for parent, _, names in os.walk(path):
        for name in names:
            try:
                total += os.lstat(os.path.join(parent, name)).st_size
            except FileNotFoundError:
                continue
    return total


def clean(home: Home, request: "Dict[str, Any]") -> "Dict[str, Any]":
    """Give back what no run needs: leftovers, unused blobs and, if asked, code copies of ended runs, and images."""
    from jig.runner import env_cache

    freed = {"leftovers": _leftovers(home) + env_cache.leftovers(home.path), "work": 0, "images": 0}
    if request.get("work"):
        freed["work"] = sum(_drop_work(home, folder) for folder in run_folders(home))
    freed["blobs"] = unused_blobs(home)
    freed["runner"] = _old_runners(home, request.get("runner", ""))
    answer = {"freed": freed}  # type: Dict[str, Any]
    if sys.platform != "win32":
        from jig.runner import image_store

        answer["engine"] = image_store.clean(home, 0.0 if request.get("images") else None)
        freed["images"] = answer["engine"]["freed"]
    return answer


def run_folders(home: Home) -> "List[RunFolder]":
    """Every run that stands there whole."""
    names = sorted(os.listdir(home.runs)) if os.path.isdir(home.runs) else []
    found = [RunFolder(os.path.join(home.runs, name)) for name in names if not name.startswith(".")]
    return [folder for folder in found if os.path.exists(folder.plan)]


def run_ids(home: Home) -> "List[str]":
    """The ids of the runs that are here."""
    return [folder.id for folder in run_folders(home)]


def _leftovers(home: Home) -> int:
    freed = 0
    for name in os.listdir(home.runs) if os.path.isdir(home.runs) else []:
        path = os.path.join(home.runs, name)
        if name.startswith(".old-") or (name.startswith(".new-") and not _held(path)):
            freed += delete(path)
        elif not name.startswith(".") and time.time() - os.stat(path).st_mtime > RESERVED_S:
            try:
                os.rmdir(path)  # only an empty one: the kernel decides, so a run that just arrived is safe
            except OSError:
                continue
    return freed


def _held(staged: str) -> bool:
    """Whether the runner that makes this folder still lives: it takes the lock before anything else can fail."""
    try:
        is_new = time.time() - os.stat(staged).st_mtime < 60
    except FileNotFoundError:
        return False
    return is_new or is_held(os.path.join(staged, "lock"))


def _drop_work(home: Home, folder: RunFolder) -> int:
    """Remove an ended run's copy of the code, and its home in a container; what it wrote into outputs/ stays."""
    past = events.read(folder.events)
    # A script may have put a link in the folder's place: what it leads to is not ours to remove.
    ended = bool(past) and past[-1]["event"] in events.FINAL
    if not ended or not os.path.isdir(folder.work) or os.path.islink(folder.work):
        return 0
    dropped = [os.path.join(folder.work, name) for name in os.listdir(folder.work) if name != "outputs"]
    return sum(map(delete, dropped + [os.path.join(folder.path, BOX)]))


def unused_blobs(home: Home) -> int:
    """Remove blobs that no run refers to, and return the bytes given back; nothing while somebody is submitting."""
    store = blobs.BlobStore(home.blobs)
    if not os.path.isdir(store.path):
        return 0
    freed = 0
    with blobs.UsingBlobs(store, alone=True, wait=False) as using:
        if not using.held:
            return 0
        used = _used(home, store) | _promoted(home)
        for name in list(store.names()):
            if name not in used:
                freed += delete(store.place(name))
        for name in os.listdir(store.path):
            if name.startswith(".new-"):
                freed += delete(os.path.join(store.path, name))
    return freed


def _used(home: Home, store: blobs.BlobStore) -> "Set[str]":
    used = set()  # type: Set[str]
    for folder in run_folders(home):
        _add_used(folder, store, used)
    for folder in _elsewhere(home):
        try:
            _add_used(folder, store, used)
        except (AttributeError, KeyError, TypeError, ValueError):  # another machine's doing: it keeps nothing here
            continue
    return used


def _add_used(folder: RunFolder, store: blobs.BlobStore, used: "Set[str]") -> None:
    with open(folder.plan) as file:
        plan = loads(file.read())
    used.update(plan.get("attachments", {}).values())
    used.update(plan.get("environment", {}).get("files", ()))
    snapshot = plan["snapshot"]["id"]
    if snapshot in used:
        return
    try:
        entries = manifest.decode(store.read(snapshot))
    except FileNotFoundError:  # the record of this run has lost its list of files; its own copy is all there is
        return
    used.add(snapshot)
    used.update(entry[4] for entry in entries if entry[0] == "f")


def _elsewhere(home: Home) -> "List[RunFolder]":
    """What else refers to blobs: copies of runs on other machines, and folders that were kept before a restore."""
    parents = [os.path.join(home.path, "kept")]
    if os.path.isdir(home.mirror):
        parents += [os.path.join(home.mirror, login) for login in os.listdir(home.mirror)]
    places = [os.path.join(parent, name) for parent in parents if os.path.isdir(parent) for name in os.listdir(parent)]
    return [folder for folder in map(RunFolder, places) if os.path.exists(folder.plan)]


def _promoted(home: Home) -> "Set[str]":
    """The blobs of promoted artifacts, which outlive their runs; Refused when a list of them cannot be read."""
    used = set()  # type: Set[str]
    for name in os.listdir(home.assets) if os.path.isdir(home.assets) else []:
        if name.endswith(".json"):
            path = os.path.join(home.assets, name)
            try:
                with open(path) as file:
                    used.update(loads(file.read())["blobs"])
            except FileNotFoundError:  # given up this moment
                continue
            except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
                hint = "mend or remove that file: it lists what must be kept for an asset"
                raise wire.Refused("nothing was removed: %s cannot be read (%r)" % (path, error), hint)
    return used


def _old_runners(home: Home, current: str) -> int:
    freed = 0
    for name in os.listdir(home.runner) if os.path.isdir(home.runner) else []:
        path = os.path.join(home.runner, name)
        if name != current and time.time() - os.stat(path).st_mtime > RUNNER_S:
            freed += delete(path)
    return freed
