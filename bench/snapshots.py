"""A second snapshot of 5,000 unchanged files against `git status` of them. Also run by jig's Python: the inner part."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

from environments import SOURCE, commit, fresh, jig, new_project, place, read
from figure import Figure
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
    home, tree = fresh("snapshots", "home"), _tree()
    environ = venv.environ(JIG_HOME=home)
    argv = (venv.program("python"), os.path.join(SOURCE, "bench", "snapshots.py"), tree, home)
    ours_s, git_s, dry_run_s = json.loads(subprocess.check_output(argv, env=environ, text=True))
    return [
        Figure("snapshot", "second snapshot", ours_s, "git status", git_s, BAR),
        Figure("snapshot", "jig submit --dry-run", dry_run_s, "git status", git_s),
    ]


def _tree() -> str:
    """A project of this many files under version control, made once; files are old by the time they are looked at."""
    tree, stamp = place("tree"), read(__file__)
    if read(place("tree.stamp")) == stamp:
        return tree
    os.rmdir(fresh("tree"))
    new_project(tree, fresh("snapshots", "home"))
    os.unlink(os.path.join(tree, ".amlignore"))  # it would be read instead of .gitignore
    present = sum(len(names) for _, _, names in os.walk(tree)) + 1  # with .gitignore
    _write(os.path.join(tree, ".gitignore"), IGNORES)
    for number in range(FILES - present):
        folder = number % FOLDERS
        _write(
            os.path.join(tree, _part(folder), f"module_{number:04d}.py"),
            f"# {number}\n" + "value = 1\n" * (number % 400),
        )
    for folder in range(0, FOLDERS, 2):
        _write(os.path.join(tree, _part(folder), "debug.log"), "ignored\n")
    for number in range(IGNORED_DATA):
        _write(os.path.join(tree, "data", f"{number:04d}.csv"), "ignored\n")
    commit(tree)
    _write(place("tree.stamp"), stamp)
    time.sleep(OLD_ENOUGH_S)
    return tree


def _part(number: int) -> str:
    return os.path.join(f"package_{number // 20:02d}", f"part_{number % 20:02d}")


def _write(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


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
