"""Where the benchmarks keep what is dear to make: `.cache/bench`, which git ignores."""

from __future__ import annotations

import functools
import os
import shutil

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CACHE = os.path.join(SOURCE, ".cache", "bench")


def read(path: str) -> str:
    """A file's text; empty when there is none."""
    try:
        with open(path) as file:
            return file.read()
    except FileNotFoundError:
        return ""


def write(path: str, text: str) -> None:
    """A file with this text; its folder is made when it is not there."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


def place(*names: str) -> str:
    """A path in the kept folder."""
    return os.path.join(CACHE, *names)


def fresh(*names: str) -> str:
    """An empty folder there."""
    path = place(*names)
    if os.path.exists(path):
        shutil.rmtree(path)
    os.makedirs(path)
    return path


@functools.cache
def empty_home() -> str:
    """A home folder without anybody's settings, the same for every command of one run of the benchmarks."""
    return fresh("home")


def kept(name: str, stamp: str, fill: Callable[[str], None]) -> str:
    """A folder that is filled once for each stamp; one that was left half full is filled again."""
    noted = place(f"{name}.stamp")
    if read(noted) != stamp:
        if os.path.exists(noted):
            os.unlink(noted)
        fill(fresh(name))
        write(noted, stamp)
    return place(name)
