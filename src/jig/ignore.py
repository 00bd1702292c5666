"""Which files of a project do not belong to a run: `.amlignore`, else `.gitignore`, and what never does."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

RESTORING = ".jig-restore"  # where a restore puts files together, for a moment
NEVER = frozenset(
    (".git", ".hg", ".svn", ".azuremlhistory_git", "azureml-logs", "__pycache__", ".ipynb_checkpoints", ".mypy_cache")
    + (".pytest_cache", ".ruff_cache", ".hypothesis", ".tox", ".nox", ".DS_Store", RESTORING)
)
NEVER_AT_TOP = frozenset(("outputs", "diagnostics.zip"))
ENVIRONMENT_MARKS = ("pyvenv.cfg", "conda-meta")  # a folder that holds one of these is a virtual environment
AMLIGNORE, GITIGNORE = ".amlignore", ".gitignore"


class Rules:
    """Ignore rules of one project, gathered as its folders are entered from the top down."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._nested = not os.path.isfile(os.path.join(root, AMLIGNORE))
        self._specs: list[tuple[str, Any]] = []  # (folder with a trailing slash or "", compiled rules), outermost first

    def file_here(self, folder: str, names: set[str]) -> str | None:
        """The path of the ignore file that counts in this folder ("" is the top), if there is one."""
        if self._nested:
            is_there = GITIGNORE in names and os.path.isfile(os.path.join(self._root, folder + GITIGNORE))
            return folder + GITIGNORE if is_there else None
        return AMLIGNORE if not folder else None

    def add(self, folder: str, path: str) -> None:
        """Read the ignore file at `path` as the rules of `folder`."""
        from pathspec import GitIgnoreSpec

        with open(os.path.join(self._root, path), encoding="utf-8", errors="surrogateescape") as file:
            self._specs.append((folder, GitIgnoreSpec.from_lines(file.read().splitlines())))

    def ignores(self, path: str, is_folder: bool) -> bool:
        """Whether the rules leave this path out; the innermost file that says something decides."""
        for folder, spec in reversed(self._specs):
            if path.startswith(folder):
                within = path[len(folder) :] + ("/" if is_folder else "")
                verdict = spec.check_file(within).include
                if verdict is not None:
                    return bool(verdict)
        return False
