"""Disks for a test: small ones that fill up, and others that are mounted and taken away after it."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Mounted = Callable[..., Path]


@pytest.fixture
def mounted() -> Iterator[Mounted]:
    """mounted(place, "-t", "tmpfs", …, "tmpfs") → the place, with that mounted on it."""
    places = []

    def mount(place: Path, *words: str) -> Path:
        place.mkdir(parents=True, exist_ok=True)
        subprocess.run(["mount", *words, str(place)], check=True)
        places.append(place)
        return place

    yield mount
    for place in reversed(places):
        subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.fixture
def small_disk(mounted: Mounted, tmp_path: Path) -> Mounted:
    """small_disk("8m") → a folder of its own with room for so much."""
    return lambda size: mounted(tmp_path / "small", "-t", "tmpfs", "-o", f"size={size}", "tmpfs")


def fill(folder: Path) -> Path:
    """A file that takes all the room that is left on the folder's disk."""
    rest = folder / "rest"
    with open(rest, "wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            return rest
