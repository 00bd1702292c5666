"""Whole series of a run: every point that was logged under a name, read fast and kept for the next look.

Ranks: where several logged the same name, the first of them is shown; nested runs are asked for by their number.
"""

from __future__ import annotations

import os
from array import array

from jig.runner import tail
from jig.store.downsample import min_max
from jig.store.series_cache import Shelf
from jig.store.series_file import Part, read_new
from jig.store.series_lines import Column, Curves
from jig.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection
    from typing import TypeVar

    from jig.runner.folder import RunFolder

    T = TypeVar("T")

KEPT_BYTES = 256 << 10  # what is shorter is read again faster than it is kept
BEGUN_BYTES = 64 << 10  # a line that is being written is hardly longer
MOST_SPANS = 8
VIEW_PIXELS = 2048  # of a view: more than any picture of ours is wide
WHOLE, CURVE, VIEW = "whole", "curve", "view-"  # what is kept of a file: with times, without, and few points to draw


class Series(Value):
    """The points of one name in the order of the calls; a step that was not given is the number of points before."""

    steps: array[float]
    times: array[float]  # seconds since 1970; empty where they were not asked for
    values: array[float]


def read(
    folder: RunFolder, names: Collection[str] | None = None, run: str = "", times: bool = True
) -> dict[str, Series]:
    """Every series of numbers, or those of these names; of a nested run where one is given."""
    found = Log(folder, times).series(run)
    return {name: series for name, series in found.items() if names is None or name in names}


class Log:
    """Everything that a run logged; each question takes in what was written since the last one."""

    def __init__(self, folder: RunFolder, times: bool = True) -> None:
        self._folder = folder
        self._times = times
        self._files: dict[int, MetricsFile] = {}

    def series(self, run: str = "") -> dict[str, Series]:
        """Every series of the run, or of a nested one, by name."""
        for file in self._ranks():
            file.refresh()
        found = _of_run([file.curves.columns for file in self._ranks()], run)
        return {name: Series(one.steps, one.times, one.values) for name, one in found.items()}

    def views(self, run: str = "", by_time: bool = False) -> tuple[dict[str, Column], dict[str, str]]:
        """The points to draw of each series, and the kinds of what cannot be drawn: text, list, image, table.

        A view has what to draw across as steps, times where that was asked for, and of long series few points.
        """
        views = [file.view(by_time) for file in self._ranks()]
        return _of_run([view.columns for view in views], run), _of_run([view.kinds for view in views], run)

    def _ranks(self) -> list[MetricsFile]:
        """The file of each rank, the first rank first."""
        for name in os.listdir(self._folder.path):
            if name.startswith("metrics.") and tail.is_kept(name):
                rank = int(name.split(".")[1]) if name.count(".") == 2 else 0
                if rank not in self._files:
                    self._files[rank] = MetricsFile(os.path.join(self._folder.path, name), self._times)
        return [file for _, file in sorted(self._files.items())]


def _of_run(ranks: list[dict[tuple[str, str], T]], run: str) -> dict[str, T]:
    """What the ranks have of one run, by name; the first rank that has a name speaks for it."""
    found: dict[str, T] = {}
    for rank in ranks:
        for (its_run, name), value in rank.items():
            if its_run == run:
                found.setdefault(name, value)
    return found


class MetricsFile:
    """One metrics file: what was read of it, and up to where."""

    def __init__(self, path: str, times: bool) -> None:
        self._path = path
        self._times = times
        self._loaded = False
        self._new: list[Part] = []  # what is not kept yet
        self._view: tuple[int, bool, Curves] | None = None
        self.curves, self.end = Curves(times), 0

    def refresh(self) -> None:
        """Read what was written since the last time."""
        file = os.open(self._path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        try:
            self._refresh(file)
        finally:
            os.close(file)

    def _refresh(self, file: int) -> None:
        shelf = Shelf(self._path, file)
        if not self._loaded:
            self._load(shelf)
        if os.fstat(file).st_size < self.end:  # not the file that it was
            self.curves, self.end, self._new = Curves(self._times), 0, []
        for part in read_new(file, self.end, self.curves.times):
            self.curves.extend(part.curves)
            self.end = part.end
            self._new.append(part)
        if self._new and self.end - self._new[0].start >= KEPT_BYTES:
            self._keep(shelf)

    def _load(self, shelf: Shelf) -> None:
        """Begin with what is kept: with times, or without where that is enough and reaches further."""
        self._loaded = True
        chains = {WHOLE: shelf.spans(WHOLE), **({} if self._times else {CURVE: shelf.spans(CURVE)})}
        kind = max(chains, key=lambda kind: chains[kind][-1].end if chains[kind] else 0)
        self.curves = Curves(times=kind == WHOLE and bool(chains[kind]) or self._times)
        for span in chains[kind]:
            found = shelf.load(span)
            if found is None or found.times != self.curves.times:
                shelf.drop([span])
                return
            self.curves.extend(found)
            self.end = span.end

    def _keep(self, shelf: Shelf) -> None:
        kind = WHOLE if self.curves.times else CURVE
        fresh = Curves(self.curves.times)
        for part in self._new:
            fresh.extend(part.curves)
        shelf.keep(self._new[0].start, self.end, kind, fresh)
        self._new = []
        if kind == WHOLE:
            shelf.drop(shelf.spans(CURVE))
        chain = shelf.spans(kind)
        if len(chain) > MOST_SPANS and chain[-1].end == self.end:
            shelf.keep(0, self.end, kind, self.curves)
            shelf.drop(chain)

    def view(self, by_time: bool) -> Curves:
        """Few points of each series that draw the same as all of them."""
        kind = VIEW + ("time" if by_time else "step")
        file = os.open(self._path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        try:
            shelf = Shelf(self._path, file)
            kept = shelf.spans(kind) if not self._loaded else []
            if kept and _is_all(file, kept[0].end) and (found := shelf.load(kept[0])) is not None:
                return found
            self._refresh(file)
            if self._view is None or self._view[:2] != (self.end, by_time):
                self._view = (self.end, by_time, _view(self.curves, by_time))
                if self.end >= KEPT_BYTES and self.end - (kept[0].end if kept else 0) >= KEPT_BYTES:
                    shelf.keep(0, self.end, kind, self._view[2])
                    shelf.drop([span for span in kept if span.end != self.end])
            return self._view[2]
        finally:
            os.close(file)


def _is_all(file: int, end: int) -> bool:
    """Whether there is no whole line from here on."""
    os.lseek(file, end, os.SEEK_SET)
    rest = os.read(file, BEGUN_BYTES)
    return os.fstat(file).st_size >= end and len(rest) < BEGUN_BYTES and b"\n" not in rest


def _view(curves: Curves, by_time: bool) -> Curves:
    view = Curves(times=False)
    view.kinds.update(curves.kinds)
    for key, whole in curves.columns.items():
        column = view.column(key)
        across = whole.times if by_time else whole.steps
        column.steps, column.values = min_max(across, whole.values, VIEW_PIXELS)
    return view
