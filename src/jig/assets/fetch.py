"""Getting an asset's content: from what is kept here, or from the run that it came from."""

from __future__ import annotations

import os

from jig.assets import keep
from jig.assets.link import FILE, Link, Version
from jig.errors import JigError, MachineError, StoreError, UsageError
from jig.machines.ssh import SshMachine
from jig.project import Project
from jig.runner.blobs import BlobStore, UsingBlobs
from jig.runner.folder import RunFolder
from jig.store.queries import Found, Store
from jig.store.reserve import adopt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def download(
    store: Store, link: Link, version: Version, root: str, folder: str, overwrite: bool, warn: Callable[[str], None]
) -> list[str]:
    """Write the asset into a folder, every byte verified; returns the files. `root` is the project's folder."""
    blobs = BlobStore(store.home.blobs)
    with UsingBlobs(blobs):
        content = keep.kept(blobs, version.kind, version.sha256) or _again(store, blobs, link, version, root, warn)
        try:
            return _write(blobs, content, os.path.join(folder, version.file_name), overwrite)
        except FileNotFoundError as error:
            if keep.kept(blobs, version.kind, version.sha256):  # the folder was taken away, not a blob
                raise StoreError(f"{folder} could not be written to: {error.strerror}") from error
            # A blob that was found damaged is gone: the run may still have the file.
            content = _again(store, blobs, link, version, root, warn)
            return _write(blobs, content, os.path.join(folder, version.file_name), overwrite=True)


def _write(blobs: BlobStore, content: keep.Content, top: str, overwrite: bool) -> list[str]:
    places = {os.path.join(top, *path.split("/")) if path else top: blob for path, _, blob in content.entries}
    for place in places:
        if os.path.isdir(place) and not os.path.islink(place):
            raise StoreError(f"{place} is a folder", "download into another folder")
        if os.path.lexists(place) and not overwrite:
            raise StoreError(f"{place} exists", "--overwrite replaces files")
    try:
        os.makedirs(top if content.kind != FILE else os.path.dirname(top), exist_ok=True)
        for place, blob in places.items():
            _write_one(blobs, blob, place)
    except (NotADirectoryError, FileExistsError, PermissionError) as error:
        raise StoreError(f"{error.filename} could not be written: {error.strerror}") from error
    return sorted(places)


def _write_one(blobs: BlobStore, blob: str, place: str) -> None:
    aside = f"{place}.{os.getpid()}.jig-new"
    os.makedirs(os.path.dirname(place), exist_ok=True)
    try:
        blobs.copy_out(blob, aside, keep.PLAIN)
        os.replace(aside, place)
    except BaseException:
        if os.path.lexists(aside):
            os.unlink(aside)
        raise


def _again(
    store: Store, blobs: BlobStore, link: Link, version: Version, root: str, warn: Callable[[str], None]
) -> keep.Content:
    """The content from the run itself, and kept here from now on; StoreError when it cannot be had."""
    try:
        found = _run(store, version, root)
        try:
            found.bring()
        except MachineError as error:
            if not os.path.isdir(found.folder.outputs):
                raise
            warn(f"{error.message}; this is what is here")
        path = keep.artifact(found.folder, version.artifact_path)
        with keep.Kept(store.home) as kept:
            content = keep.take(blobs, found.folder, path)
            if content.sha256 == version.sha256:
                kept.add(os.path.realpath(root), link.name, version.version, content)
                return content
    except JigError as error:
        raise _missing(link, version, error.message, error.hint) from error
    raise _missing(link, version, f"{version.artifact_path} of the run is not what it was", "")


def _run(store: Store, version: Version, root: str) -> Found:
    """The run that the asset came from: one that is known here, or one on a machine that the project names."""
    try:
        return store.find(version.run_id, None)
    except StoreError as error:
        machine = _machine(version, root)
        if machine is None:
            raise StoreError(
                "this computer has no record of it, and the project names no machine that would"
            ) from error
    folder = RunFolder(os.path.join(machine.runs_folder(), version.run_id))
    found = Found(version.run_id, folder, machine)
    found.bring()
    if not os.path.exists(folder.plan):
        if os.path.isdir(folder.path) and not os.listdir(folder.path):
            os.rmdir(folder.path)
        raise StoreError(f"{version.target} has no run {version.run_id} any more")
    adopt(store.home, folder.path)
    return found


def _machine(version: Version, root: str) -> SshMachine | None:
    from jig.machines import for_target

    try:
        machine = for_target(Project.find(root).compute_target(version.target))
    except UsageError:  # the project has no such target here
        return None
    return machine if isinstance(machine, SshMachine) else None


def _missing(link: Link, version: Version, why: str, fix: str) -> StoreError:
    return StoreError(
        f"the content of {link.name}, version {version.version}, is not on this computer, and cannot be fetched from "
        f"the run {version.run_id} on {version.target}: {why}",
        fix or "download it on the computer where it was promoted, or promote it again from a run that is here",
    )
