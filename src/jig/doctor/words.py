"""Quantities and places, as the findings write them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def size(count: int) -> str:
    """Bytes of a disk: `12.3 MB`, `64.6 GB`."""
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.1f} MB"


def memory(count: int) -> str:
    """Bytes of memory, as NVIDIA and TensorFlow count them: `139.8 GiB`."""
    return f"{count / 2**30:.1f} GiB"


def capability(number: tuple[int, int]) -> str:
    """A compute capability: `9.0`."""
    return f"{number[0]}.{number[1]}"


def listed(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1] if words else "")))
