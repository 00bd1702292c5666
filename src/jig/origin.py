"""Where the code came from: the git commit and the uncommitted diff, asked while the rest is being decided."""

from __future__ import annotations

import os

from jig.plan import Origin

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess

# A repository's own configuration must not start programs when somebody merely submits from it.
GIT = ("git", "-c", "core.fsmonitor=false", "-c", "core.quotePath=false", "--no-optional-locks")
DIFF = ("diff", "--binary", "--no-ext-diff", "--no-textconv", "--no-color", "HEAD", "--", ".")


class Asked:
    """Git commands that run beside us; `answer` waits for them."""

    def __init__(self, root: str) -> None:
        self._head: subprocess.Popen[bytes] | None = None
        self._diff: subprocess.Popen[bytes] | None = None
        if not _in_repository(root):
            return
        try:
            self._head = _start(root, "rev-parse", "HEAD", "--abbrev-ref", "HEAD")
            self._diff = _start(root, *DIFF)
        except FileNotFoundError:  # git is not installed: the record goes without
            if self._head is not None:
                self._head.kill()
            self._head = None

    def answer(self) -> tuple[Origin, bytes]:
        """Commit and diff; empty outside a repository or in one without a commit."""
        if self._head is None or self._diff is None:
            return Origin(), b""
        head, _ = self._head.communicate()
        diff, _ = self._diff.communicate()
        if self._head.returncode != 0:
            return Origin(), b""
        commit, branch = head.decode(errors="replace").split()
        return Origin(commit, "" if branch == "HEAD" else branch, bool(diff)), diff


def _in_repository(folder: str) -> bool:
    while True:
        if os.path.exists(os.path.join(folder, ".git")):
            return True
        parent = os.path.dirname(folder)
        if parent == folder:
            return False
        folder = parent


def _start(root: str, *words: str) -> subprocess.Popen[bytes]:
    import subprocess

    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    quiet = subprocess.DEVNULL
    return subprocess.Popen((*GIT, *words), cwd=root, env=environ, stdin=quiet, stdout=subprocess.PIPE, stderr=quiet)
