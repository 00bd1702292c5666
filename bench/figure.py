"""One figure: two times (or sizes, or numbers), their ratio, and the bar that the ratio is held to."""

from __future__ import annotations

from typing import NamedTuple


class Figure(NamedTuple):
    """What one line of the report says. Without a bar it is there to be read only."""

    name: str
    ours: str
    ours_s: float
    other: str
    other_s: float
    bar: float | None = None
    is_size: bool = False  # both are bytes, not seconds
    is_count: bool = False  # both are numbers of things
    faster: bool = False  # the bar is how many times faster we are at least, and not how many times slower at most

    @property
    def ratio(self) -> float:
        """How many times slower, or, where the bar says so, how many times faster we are."""
        return self.other_s / self.ours_s if self.faster else self.ours_s / self.other_s

    @property
    def ok(self) -> bool:
        """Whether the bar is met."""
        if self.bar is None:
            return True
        return self.ratio >= self.bar if self.faster else self.ratio <= self.bar

    def line(self) -> str:
        """The figure for a person."""
        shown = size if self.is_size else str if self.is_count else duration
        ours, other = f"{self.ours} {shown(self.ours_s)}", f"{self.other} {shown(self.other_s)}"
        line = f"{self.name:<12}{ours:<44}{other:<32}{self.ratio:6.2f}x  "
        if self.bar is None:
            return line + "no bar"
        limit = f"at least {self.bar:g}x faster" if self.faster else f"at most {self.bar:g}x"
        return f"{line}{limit:<20}{'ok' if self.ok else 'MISSED'}"


def duration(seconds: float) -> str:
    """Three digits, in the unit that suits them."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e6:.3g} µs"


def size(in_bytes: float) -> str:
    """Three digits, in megabytes."""
    return f"{in_bytes / 1e6:.3g} MB"
