"""Making an artifact of a run an asset of the project."""

from __future__ import annotations

import os
import time

from jig.assets import keep, link
from jig.assets.link import Link, Version
from jig.errors import MachineError, StoreError
from jig.project import Project
from jig.runner.blobs import BlobStore, UsingBlobs
from jig.store.queries import Found, Store
from jig.store.record import utc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def promote(store: Store, project: Project, found: Found, wanted: str, name: str, warn: Callable[[str], None]) -> Link:
    """Give an artifact a name: its content is kept from now on, whatever becomes of the run. Returns the new link."""
    path = link.place(project.root, name)
    plan = found.plan()
    try:
        found.bring()
    except MachineError as error:
        warn(f"{error.message}; this is what is here")
    artifact = keep.artifact(found.folder, wanted, found.nested)
    if not link.is_inside(artifact):
        raise StoreError(f"{artifact!r} cannot be an asset: its path has a backslash", "give it another name")
    blobs = BlobStore(store.home.blobs)
    # In this order: whoever finds the link finds the content, and what is listed as kept is there.
    with keep.Kept(store.home) as kept, UsingBlobs(blobs):
        earlier = link.read(path).versions if os.path.lexists(path) else ()
        content = keep.take(blobs, found.folder, artifact)
        version = Version(
            version=1 + max((one.version for one in earlier), default=0),
            run_id=found.folder.id,
            artifact_path=artifact,
            kind=content.kind,
            size=content.size,
            files=len(content.entries),
            sha256=content.sha256,
            created_utc=utc(time.time()) or "",
            created_by=_user(),
            target=str(plan.get("target", "")),
        )
        new = Link(name, project.name, (version, *earlier))
        kept.add(os.path.realpath(project.root), name, version.version, content)
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
        except FileExistsError as error:
            raise StoreError(f"{os.path.dirname(path)} is not a folder", "assets are kept there") from error
        keep.write_whole(path, link.encode(new))
    return new


def _user() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError):  # an account without a name
        return str(os.getuid()) if hasattr(os, "getuid") else ""


def forget(store: Store, project: Project, name: str) -> tuple[int, list[str]]:
    """Remove an asset's link and no longer keep its content; returns how many versions it had, and the blobs."""
    path = link.place(project.root, name)
    with keep.Kept(store.home) as kept:
        versions = len(link.read(path).versions)
        os.unlink(path)
        return versions, kept.drop(os.path.realpath(project.root), name)
