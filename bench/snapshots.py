"""A second snapshot of 5,000 unchanged files against `git status` of them. Also run by jig's Python: the inner part."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import projects
from environments import jig
from figure import Figure
from folders import SOURCE, fresh, kept, read, write
from timing import best_of, to_the_end_s

BAR = 3.0
ROUNDS = 20
FILES = 5000
FOLDERS = 200
IGNORED_DATA = 500
OLD_ENOUGH_S = 3.0  # jig and git both read a file again that changed in the same tick as they looked
IGNORES = """\
__pycache__/
*.py[cod]
*.log
/data/
build/
dist/
*.egg-info/
.ipynb_checkpoints/
checkpoints/**/*.pt
.env
"""


def measure() -> list[Figure]:
    """The snapshot alone with its bar, and the whole dry run of a submit for information."""
    venv = jig()
    home, tree = fresh("snapshots", "home"), kept("tree", read(__file__), _fill)
    environ = venv.environ(JIG_HOME=home)
    argv = (venv.program("python"), os.path.join(SOURCE, "bench", "snapshots.py"), tree, home)
    ours_s, git_s, dry_run_s = json.loads(subprocess.check_output(argv, env=environ, text=True))
    return [
        Figure("snapshot", "second snapshot", ours_s, "git status", git_s, BAR),
        Figure("snapshot", "jig submit --dry-run", dry_run_s, "git status", git_s),
    ]


def _fill(tree: str) -> None:
    """A project of this many files under version control."""
    projects.create(tree, fresh("snapshots", "home"))
    os.unlink(os.path.join(tree, ".amlignore"))  # it would be read instead of .gitignore
    write(os.path.join(tree, ".gitignore"), IGNORES)
    present = sum(len(names) for _, _, names in os.walk(tree))
    for number in range(FILES - present):
        text = f"# {number}\n" + "value = 1\n" * (number % 400)
        write(os.path.join(tree, _part(number % FOLDERS), f"module_{number:04d}.py"), text)
    for number in range(0, FOLDERS, 2):
        write(os.path.join(tree, _part(number), "debug.log"), "ignored\n")
    for number in range(IGNORED_DATA):
        write(os.path.join(tree, "data", f"{number:04d}.csv"), "ignored\n")
    projects.commit(tree)
    time.sleep(OLD_ENOUGH_S)


def _part(number: int) -> str:
    return os.path.join(f"package_{number // 20:02d}", f"part_{number % 20:02d}")


def inner(tree: str, home: str) -> tuple[float, float, float]:
    """In jig's own Python: the best times of a second snapshot, of `git status`, and of a whole dry run."""
    from jig import snapshot
    from jig.runner.blobs import BlobStore

    store, cache = BlobStore(os.path.join(home, "blobs")), snapshot.cache_path(home, tree)
    environ = dict(os.environ)

    def ours() -> float:
        start = time.perf_counter()
        taken = snapshot.take(tree, store, cache)
        seconds = time.perf_counter() - start
        if taken.files != FILES:
            raise SystemExit(f"the snapshot holds {taken.files} files, not {FILES}")
        return seconds

    def git() -> float:
        return to_the_end_s(("git", "status", "--porcelain"), environ, tree)

    def dry_run() -> float:
        return to_the_end_s((jig_program, "submit", "-c", "local", "--dry-run", "hello.py"), environ, tree)

    jig_program = os.path.join(os.path.dirname(sys.executable), "jig")
    for side in (ours, git, dry_run):
        side()
    ours_s, git_s, dry_run_s = best_of(ROUNDS, ours, git, dry_run)
    return ours_s, git_s, dry_run_s


if __name__ == "__main__":
    print(json.dumps(inner(*sys.argv[1:])))
