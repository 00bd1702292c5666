"""Base images for tests, made once and kept as tar files under the repository's .cache.

`plain` has no Python, `python` has Debian's Python and pip, and in `conda` the only Python is /opt/conda/bin/python.
"""

import contextlib
import fcntl
import os
import platform
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.system_packages import need

CACHE = Path(__file__).parents[2] / ".cache/engines/1"  # another number whenever other things are made
NAMES = ("plain", "python", "conda")
PROGRAMS = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
CHANGES = {"conda": (f"ENV PATH=/opt/conda/bin:{PROGRAMS}",)}  # of the image's settings, when it is imported
LEFT_OUT = ("dev/*", "proc/*", "sys/*", "run/*", "tmp/*", "var/lib/apt/lists/*", "var/cache/*", "var/log/*",
            "usr/share/doc/*", "usr/share/locale/*", "usr/share/man/*", "etc/apt/apt.conf.d/00this-machine")  # fmt: skip
BUNDLE = "etc/ssl/certs/ca-certificates.crt"


def base_images() -> "dict[str, Path]":
    """The tar files by name, made first where they are missing (a minute)."""
    found = {name: CACHE / f"{codename()}-{name}.tar" for name in NAMES}
    with locked(CACHE):
        if not (found["plain"].exists() and found["python"].exists()):
            with _bootstrapped() as tree:
                _pack(tree, found["plain"])
                _install(tree, "python3", "python3-pip")
                _pack(tree, found["python"])
        if not found["conda"].exists():
            with _folder("conda") as tree:
                must("tar", "-C", str(tree), "--numeric-owner", "-xpf", str(found["python"]))
                _move_python(tree)
                _pack(tree, found["conda"])
    return found


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Nobody else makes anything in the folder meanwhile."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextlib.contextmanager
def _bootstrapped() -> Iterator[Path]:
    """A small Debian in a folder, of this machine's release, from where this machine gets its own packages."""
    need("debootstrap")
    with _folder(codename()) as tree:
        must("debootstrap", "--variant=minbase", codename(), str(tree), mirror())
        yield tree


@contextlib.contextmanager
def _folder(name: str) -> Iterator[Path]:
    tree = CACHE / f"{name}.tree"
    shutil.rmtree(tree, ignore_errors=True)  # of someone who was killed
    tree.mkdir(mode=0o755)
    try:
        yield tree
    finally:
        shutil.rmtree(tree, ignore_errors=True)


def codename() -> str:
    """Of this machine's release."""
    return platform.freedesktop_os_release()["VERSION_CODENAME"]


def mirror() -> str:
    """The address of the packages of this machine's own release, as apt has it."""
    listed = must("apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages")
    found = [words[0] for words in map(str.split, listed.splitlines()) if words[1:] == [codename(), "main"]]
    if not found:
        raise RuntimeError(f"apt's sources name no packages of {codename()}:\n{listed}")
    return found[0]


def _install(tree: Path, *packages: str) -> None:
    """Into the tree, as this machine would fetch them: with its proxy and its certificates."""
    (tree / "etc/apt/apt.conf.d/00this-machine").write_text(must("apt-config", "dump", "Acquire"))
    if Path("/", BUNDLE).exists():
        (tree / BUNDLE).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(Path("/", BUNDLE), tree / BUNDLE)
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "PATH": PROGRAMS, "LC_ALL": "C"}
    must("chroot", str(tree), "apt-get", "install", "-y", "--no-install-recommends", *packages, env=env)


def _move_python(tree: Path) -> None:
    """To /opt/conda, where it finds its library by its own place."""
    (tree / "opt/conda/bin").mkdir(parents=True)
    (tree / "opt/conda/lib").mkdir()
    (program,) = (path for path in (tree / "usr/bin").glob("python3.*") if path.suffix[1:].isdigit())
    for name in (program.name, "python3"):
        (tree / "usr/lib" / name).rename(tree / "opt/conda/lib" / name)
    program.rename(tree / "opt/conda/bin" / program.name)
    for name in ("python", "python3"):
        (tree / "opt/conda/bin" / name).symlink_to(program.name)
    for pattern in ("python*", "pip*", "py3*", "pdb*", "pygettext*", "pydoc*"):
        for path in (tree / "usr/bin").glob(pattern):
            path.unlink()


def _pack(tree: Path, path: Path) -> None:
    aside = path.with_suffix(".new")
    without = [f"--exclude=./{name}" for name in LEFT_OUT]
    must("tar", "-C", str(tree), "--numeric-owner", *without, "-cf", str(aside), ".")
    aside.replace(path)


def must(*words: str, **options) -> str:
    """What a command that has to succeed prints."""
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, umask=0o022, **options)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)} failed: {done.stdout[-1000:]}{done.stderr[-1000:]}")
    return done.stdout
