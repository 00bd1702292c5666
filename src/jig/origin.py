"""Where the code came from: the git commit and the uncommitted diff, asked while the rest is being decided."""

from __future__ import annotations

import os

from jig.plan import Origin
from jig.spawn import spawn_piped

# A repository's own configuration must not start programs when somebody merely submits from it.
GIT = ("git", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false", "--no-optional-locks")
HEAD = ("rev-parse", "HEAD", "--abbrev-ref", "HEAD")
DIFF = ("diff", "--binary", "--no-ext-diff", "--no-textconv", "--no-color", "HEAD", "--", ".")


class Asked:
    """Git commands that run beside us; `answer` waits for them."""

    def __init__(self, root: str) -> None:
        self._asked: list[_Git] = []
        if _in_repository(root):
            try:
                self._asked = [_Git(root, words) for words in (HEAD, DIFF)]
            except FileNotFoundError:
                return  # git is not installed: the record goes without

    def answer(self) -> tuple[Origin, bytes]:
        """Commit and diff; empty outside a repository or in one without a commit."""
        answers = [git.answer() for git in self._asked]
        if not answers or answers[0] is None:
            return Origin(), b""
        commit, branch = answers[0].decode(errors="replace").split()
        diff = answers[1] or b""
        return Origin(commit, "" if branch == "HEAD" else branch, bool(diff)), diff


def committed(root: str) -> set[str]:
    """The names that git has for every file of the last commit; none outside a repository, or without a commit."""
    if not _in_repository(root):
        return set()
    try:
        listed = _Git(root, ("ls-tree", "-r", "-z", "--full-tree", "HEAD")).answer() or b""
    except FileNotFoundError:  # git is not installed
        return set()
    rows = (row.partition(b"\t")[0].split() for row in listed.split(b"\0") if row)
    return {words[2].decode() for words in rows if len(words) == 3 and words[1] == b"blob"}


class _Git:
    """One command that was started."""

    def __init__(self, root: str, words: tuple[str, ...]) -> None:
        environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        quiet = os.open(os.devnull, os.O_RDWR)
        try:
            self._pid, to_git, self._from_git = spawn_piped((*GIT, "-C", root, *words), environ, quiet)
        finally:
            os.close(quiet)
        os.close(to_git)

    def answer(self) -> bytes | None:
        """What it printed; None when it failed."""
        with open(self._from_git, "rb") as stream:
            printed = stream.read()
        try:
            failed = os.waitpid(self._pid, 0)[1] != 0
        except ChildProcessError:  # whoever started us ignores its children's ends, and the kernel took it in already
            failed = not printed
        return None if failed else printed


def _in_repository(folder: str) -> bool:
    while True:
        if os.path.exists(os.path.join(folder, ".git")):
            return True
        parent = os.path.dirname(folder)
        if parent == folder:
            return False
        folder = parent
