"""One figure: two times, their ratio, and the bar that the ratio is held to."""

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
        word = "faster" if self.faster else "of it"
        limit = "" if self.bar is None else f"{'at least' if self.faster else 'at most'} {self.bar:g}x"
        verdict = "" if self.bar is None else "ok" if self.ok else "MISSED"
        ours, other = f"{self.ours} {duration(self.ours_s)}", f"{self.other} {duration(self.other_s)}"
        return f"{self.name:<18} {ours:<37} {other:<37} {self.ratio:6.2f}x {word:<7} {limit:<14} {verdict}".rstrip()


def duration(seconds: float) -> str:
    """Seconds in the unit that leaves one to three digits before the point."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}" if seconds < 1000 * scale else f"{seconds / scale:.0f} {unit}"
    return f"{seconds * 1e6:.3g} µs"
