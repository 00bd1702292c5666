"""What is in the project's folder: every file and folder, and which of them no run gets."""

from __future__ import annotations

import os

from jig.cli.terminal import printable
from jig.ignore import ENVIRONMENT_MARKS, NEVER, NEVER_AT_TOP, Rules
from jig.values import Value
from jig.workbench.gate import is_text

LIMIT = 3000  # entries; a folder of samples is no help in a tree
HIDDEN = (".git", ".hg", ".svn", "__pycache__", ".ipynb_checkpoints")


class Entry(Value):
    """A file or folder; `inside` is what the folder holds. Of an ignored folder nothing inside is listed.

    One whose name is no text is shown, with its bytes written out, and cannot be opened.
    """

    path: str
    is_folder: bool
    is_ignored: bool = False
    inside: tuple[Entry, ...] = ()
    is_text: bool = True

    @property
    def name(self) -> str:
        """Without the folders above it."""
        return self.path.rpartition("/")[2]


class Listing(Value):
    """The project's files; `is_whole` is False where there are too many to list."""

    entries: tuple[Entry, ...]
    is_whole: bool = True


def listing(root: str) -> Listing:
    """Walk the project's folder; what vanishes meanwhile, or may not be read, is left out."""
    walk = _Walk(root)
    return Listing(walk.folder("", False), walk.left > 0)


class _Walk:
    def __init__(self, root: str) -> None:
        self.root, self.left = root, LIMIT
        self._rules = Rules(root)

    def folder(self, prefix: str, is_ignored: bool) -> tuple[Entry, ...]:
        try:
            with os.scandir(os.path.join(self.root, prefix)) as entries:
                found = sorted(entries, key=lambda entry: (not entry.is_dir(follow_symlinks=False), entry.name.lower()))
            ignore_file = self._rules.file_here(prefix, {entry.name for entry in found})
            if ignore_file is not None:
                self._rules.add(prefix, ignore_file)
        except OSError:
            return ()
        return tuple(self._entry(entry, prefix) for entry in found if entry.name not in HIDDEN and self._has_room())

    def _has_room(self) -> bool:
        self.left -= 1
        return self.left > 0

    def _entry(self, entry: os.DirEntry[str], prefix: str) -> Entry:
        path, is_folder = prefix + entry.name, entry.is_dir(follow_symlinks=False)
        is_ignored = (
            entry.name in NEVER
            or (not prefix and entry.name in NEVER_AT_TOP)
            or entry.name.endswith(".pyc")
            or self._rules.ignores(path, is_folder)
            or (is_folder and any(os.path.lexists(os.path.join(entry.path, mark)) for mark in ENVIRONMENT_MARKS))
        )
        named = is_text(entry.name)
        inside = self.folder(path + "/", is_ignored) if is_folder and not is_ignored and named else ()
        return Entry(path if named else printable(path), is_folder, is_ignored, inside, named)
