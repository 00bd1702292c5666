"""The file `assets/NAME.link`: which artifact of which run an asset is, now and in earlier versions."""

from __future__ import annotations

import os

from jig.errors import StoreError, UsageError
from jig.project.names import is_name
from jig.runner.folder import is_run_id
from jig.runner.quick_json import dumps_indented, loads
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FOLDER = "assets"
SUFFIX = ".link"
FILE, TREE = "file", "folder"
MOST_BYTES = 16 << 20  # of a link that was promoted ten thousand times
LONGEST_NAME_BYTES = 200  # a file of that name is made


class Version(Value):
    """One promotion: where the content is from, and what it is."""

    version: int
    run_id: str
    artifact_path: str
    kind: str
    size: int
    files: int
    sha256: str  # of a file its bytes', of a folder that of the list of its files
    created_utc: str
    created_by: str
    target: str

    @property
    def file_name(self) -> str:
        """What it is called where it is put."""
        return self.artifact_path.rpartition("/")[2]


class Link(Value):
    """An asset: its versions, the newest first."""

    name: str
    project: str
    versions: tuple[Version, ...]

    @property
    def latest(self) -> Version:
        """The version that counts."""
        return self.versions[0]

    def choose(self, wanted: str | None) -> Version:
        """The version of this number, the latest when none is wanted."""
        if wanted is None:
            return self.latest
        for version in self.versions:
            if str(version.version) == wanted:
                return version
        known = ", ".join(str(version.version) for version in self.versions)
        raise UsageError(f"the asset {self.name} has no version {wanted!r}", f"it has {known}")


def check_name(name: str) -> None:
    """UsageError unless the text may name an asset: never a path, an option or a hidden file."""
    if not is_name(name) or len(name.encode()) > LONGEST_NAME_BYTES:
        raise UsageError(
            f"{name[:80]!r} cannot be the name of an asset: only letters, digits, `_`, `-` and `.`, not first `-` or "
            f"`.`, at most {LONGEST_NAME_BYTES} bytes",
            f"it becomes the file {FOLDER}/NAME{SUFFIX}",
        )


def place(root: str, name: str) -> str:
    """Where the link of an asset is in a project."""
    check_name(name)
    folder = os.path.join(root, FOLDER)
    if os.path.realpath(folder) != os.path.join(os.path.realpath(root), FOLDER):
        raise StoreError(f"{folder} leads out of the project", "make it a folder of its own")
    return os.path.join(folder, name + SUFFIX)


def names(root: str) -> list[str]:
    """The assets of a project, sorted."""
    try:
        found = os.listdir(os.path.join(root, FOLDER))
    except FileNotFoundError:
        return []
    return sorted(name.removesuffix(SUFFIX) for name in found if name.endswith(SUFFIX) and name != SUFFIX)


def encode(link: Link) -> str:
    """The text of the file."""
    latest, *earlier = (version._asdict() for version in link.versions)
    told = {"asset": link.name, "project": link.project, **latest, "earlier": earlier}
    return dumps_indented(told, ascii_only=False) + "\n"


def read(path: str) -> Link:
    """The link in a file; StoreError when there is none."""
    try:
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
    except FileNotFoundError as error:
        raise StoreError(f"there is no asset link {path}", "jig asset list shows those of this project") from error
    except OSError as error:
        raise StoreError(f"{path} could not be read: {error.strerror}") from error
    try:
        if len(data) > MOST_BYTES:
            raise ValueError("it is too large")
        return _decode(loads(data))
    except (ValueError, RecursionError) as error:
        hint = "jig history promote writes one; in a project under git, take it from the last commit"
        raise StoreError(f"{path} is not an asset link that jig wrote: {str(error)[:200]}", hint) from error


def _decode(told: Any) -> Link:
    if not isinstance(told, dict) or not isinstance(told.get("earlier"), list):
        raise ValueError("it has not the keys of one")
    versions = tuple(_version(one) for one in (told, *told["earlier"]))
    name, project = told.get("asset"), told.get("project")
    if not isinstance(name, str) or not is_name(name) or not isinstance(project, str):
        raise ValueError("`asset` and `project` must be names")
    return Link(name, project, versions)


def _version(told: Any) -> Version:
    """One version, if it is one. What another person wrote must not lead out of a folder."""
    shape = {"version": int, "size": int, "files": int}
    if not isinstance(told, dict):
        raise ValueError("a version is no object")
    for field in Version._fields:
        if type(told.get(field)) is not shape.get(field, str):
            raise ValueError(f"`{field}` is missing or of the wrong kind")
    version = Version(**{field: told[field] for field in Version._fields})
    if not is_digest(version.sha256) or not is_run_id(version.run_id) or version.kind not in (FILE, TREE):
        raise ValueError("`sha256`, `run_id` or `kind` cannot be right")
    if not is_inside(version.artifact_path):
        raise ValueError(f"`artifact_path` {version.artifact_path!r} leads out of a run")
    return version


def is_digest(text: str) -> bool:
    """Whether this is a SHA-256 in hexadecimal digits."""
    return len(text) == 64 and not text.strip("0123456789abcdef")


def is_inside(path: str) -> bool:
    """Whether a path with `/` between its parts stays below where it begins."""
    return not any(part in ("", ".", "..") for part in path.split("/")) and not set("\0\\") & set(path)
