"""Encode, average and decode whole messages with torch alone, on any device."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch

from onebit.codec import LANES, Scratch, decode_rows, encode_rows
from onebit.layout import HEADER, Message, Run

# So many elements are worked on at a time: they stay in the processor's cache from one step to the next.
CHUNK = 1 << 19


class Part(NamedTuple):
    """What of a run falls into a window; `at` counts elements from the window's begin."""

    at: int
    bucket_at: int
    residual_at: int
    owned_at: int
    elements: int


class Window(NamedTuple):
    """Some rows that are worked on together."""

    row: int
    rows: int
    parts: tuple[Part, ...]


def windows(runs: Sequence[Run], rows: int, block: int) -> Iterator[Window]:
    """The rows of some runs, a cache full at a time."""
    most = max(1, CHUNK // block)
    for first in range(0, rows, most):
        count, parts = min(most, rows - first), []
        for run in runs:
            begin, end = max(run.row, first), min(run.row + -(-run.elements // block), first + count)
            if begin < end:
                skipped = (begin - run.row) * block
                taken = min(run.elements - skipped, (end - begin) * block)
                places = (run.bucket_at + skipped, run.residual_at + skipped, run.owned_at + skipped)
                parts.append(Part((begin - first) * block, *places, taken))
        yield Window(first, count, tuple(parts))


class Vectorised:
    """The messages of one bucket on one rank: those that it sends, the one that it averages, those that it gets back.

    Those that are sent stand one behind the other, those that come back in rows of `gathered` words.
    """

    def __init__(self, messages: Sequence[Message], rank: int, block: int, device: torch.device, gathered: int) -> None:
        self.messages, self.rank, self.block, self.width = messages, rank, block, block // LANES
        starts = [sum(message.rows for message in messages[:owner]) for owner in range(len(messages) + 1)]
        runs = [run._replace(row=run.row + starts[o]) for o, m in enumerate(messages) for run in m.runs]
        self._all = [(window, self._lengths(window, device)) for window in windows(runs, starts[-1], block)]
        mine = messages[rank]
        self._mine = [(window, self._lengths(window, device)) for window in windows(mine.runs, mine.rows, block)]
        self._each = [tuple(windows(message.runs, message.rows, block)) for message in messages]
        self._starts, self._sizes = starts, [message.size for message in messages]
        self._bits = torch.empty(starts[-1], self.width, dtype=torch.int32, device=device)
        self._means = torch.empty(starts[-1], 2, dtype=torch.float32, device=device)
        self._encoding, self._averaging = Scratch(), Scratch()

    def encode(
        self,
        bucket: torch.Tensor,
        residual: torch.Tensor,
        rest: torch.Tensor,
        ratio: torch.Tensor,
        wire: torch.Tensor,
        flag: torch.Tensor,
    ) -> None:
        """A bucket and its residual times `ratio` into the messages for all ranks; what is left over goes to `rest`.

        `flag` becomes 1 where what was encoded is not finite.
        """
        by = float(ratio)
        for window, lengths in self._all:
            x = self._room(self._encoding, "x", window, bucket.device)
            for at, bucket_at, residual_at, _, count in window.parts:
                kept, values = residual[residual_at : residual_at + count], bucket[bucket_at : bucket_at + count]
                torch.add(values, kept if by == 1 else kept * by, out=x[at : at + count])
                x[at + count : at + -(-count // self.block) * self.block].zero_()
            rows = slice(window.row, window.row + window.rows)
            x_rows = x.view(window.rows, self.block)
            place = window.parts[0].residual_at
            # One run of whole blocks, as most are: what is left over need not be copied to its place.
            whole = len(window.parts) == 1 and window.parts[0].elements == x.numel()
            left = rest[place : place + x.numel()].view(x_rows.shape) if whole else x_rows
            encode_rows(x_rows, lengths, bucket.dtype, self._bits[rows], self._means[rows], left, self._encoding)
            if not whole:
                for at, _, residual_at, _, count in window.parts:
                    rest[residual_at : residual_at + count].copy_(x[at : at + count])
        for owner, (message, part) in enumerate(zip(self.messages, torch.split(wire, self._sizes), strict=True)):
            rows = slice(self._starts[owner], self._starts[owner + 1])
            words, means = self._parts(message, part)
            words.copy_(self._bits[rows])
            means.copy_(self._means[rows])
        # Where an element was not finite, the sum that it is in was not, and so its mean is not.
        flag.logical_or_(torch.isfinite(self._means).all().logical_not_())

    def average(
        self,
        received: torch.Tensor,
        dtype: torch.dtype,
        residual: torch.Tensor,
        ratio: torch.Tensor,
        wire: torch.Tensor,
    ) -> None:
        """The messages of all ranks for this one into the message that all of them get; `residual` is taken on.

        A block that is not finite leaves its residual as it was, times `ratio`.
        """
        by = float(ratio)
        message = self.messages[self.rank]
        out_words, out_means = self._parts(message, wire)
        sources = [self._parts(message, row) for row in received]
        for window, lengths in self._mine:
            rows = slice(window.row, window.row + window.rows)
            x = self._room(self._averaging, "x", window, wire.device).view(window.rows, self.block)
            one = self._room(self._averaging, "part", window, wire.device).view(window.rows, self.block)
            for rank, (words, means) in enumerate(sources):
                decode_rows(words[rows], means[rows], one if rank else x)
                if rank:
                    x.add_(one)
            flat = x.mul_(1 / len(sources)).view(-1)
            for at, _, _, owned_at, count in window.parts:
                kept = residual[owned_at : owned_at + count]
                flat[at : at + count].add_(kept if by == 1 else kept * by)
                flat[at + count : at + -(-count // self.block) * self.block].zero_()
            encode_rows(x, lengths, dtype, out_words[rows], out_means[rows], x, self._averaging)
            finite = torch.isfinite(out_means[rows]).all(1)
            if not finite.all():
                self._put_back(x, finite.logical_not_(), window, residual, by)
            for at, _, _, owned_at, count in window.parts:
                residual[owned_at : owned_at + count].copy_(flat[at : at + count])

    def _put_back(
        self, x: torch.Tensor, spoiled: torch.Tensor, window: Window, residual: torch.Tensor, by: float
    ) -> None:
        """What was kept, into rows that are not finite: what is left over there would be lost for all steps to come."""
        old = self._room(self._averaging, "part", window, x.device)
        for at, _, _, owned_at, count in window.parts:
            torch.mul(residual[owned_at : owned_at + count], by, out=old[at : at + count])
        x[spoiled] = old.view(x.shape)[spoiled]

    def decode(self, gathered: torch.Tensor, bucket: torch.Tensor) -> None:
        """What all ranks averaged, into the bucket."""
        for message, wire, each in zip(self.messages, gathered, self._each, strict=True):
            words, means = self._parts(message, wire)
            for window in each:
                rows = slice(window.row, window.row + window.rows)
                x = self._room(self._averaging, "x", window, bucket.device)
                decode_rows(words[rows], means[rows], x.view(window.rows, self.block))
                for at, bucket_at, _, _, count in window.parts:
                    bucket[bucket_at : bucket_at + count].copy_(x[at : at + count])

    def _parts(self, message: Message, wire: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        words = wire[HEADER : message.means_at].view(message.rows, self.width)
        means = wire[message.means_at : message.means_at + 2 * message.rows].view(torch.float32)
        return words, means.view(message.rows, 2)

    def _room(self, scratch: Scratch, name: str, window: Window, device: torch.device) -> torch.Tensor:
        return scratch.room(name, window.rows * self.block, torch.float32, device)

    def _lengths(self, window: Window, device: torch.device) -> torch.Tensor:
        lengths = []
        for part in window.parts:
            full, rest = divmod(part.elements, self.block)
            lengths += [self.block] * full + [rest] * bool(rest)
        return torch.tensor(lengths, dtype=torch.int64, device=device)
