"""Which rank averages which part of each parameter, and where everything stands in a message: pure numbers.

Everything is laid out by parameter, never by bucket: DDP builds its buckets anew after the first step and after a
resume, and neither a residual nor a bit that is sent may depend on that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from onebit.codec import LANES

# A message is a row of 32-bit words, in fours; its first four say whether all that it has is finite.
HEADER = 4


def fours(count: int) -> int:
    """The next multiple of four."""
    return -(-count // 4) * 4


class Piece(NamedTuple):
    """A run of elements of one parameter that one rank averages."""

    owner: int
    start: int
    stop: int


class Shape(NamedTuple):
    """What the layout needs to know of a parameter: its number of elements, and whether it is compressed."""

    elements: int
    compressed: bool


def share_out(shapes: Sequence[Shape], world: int, block: int) -> list[tuple[Piece, ...]]:
    """The pieces of every parameter: whole blocks, as evenly as may be; a small one goes to the rank that has least."""
    loads = [0] * world
    shared: list[tuple[Piece, ...]] = []
    for index, shape in enumerate(shapes):
        if not shape.compressed and shape.elements < world * block:
            owner = loads.index(min(loads))
            loads[owner] += shape.elements
            shared.append((Piece(owner, 0, shape.elements),))
            continue
        blocks = -(-shape.elements // block)
        pieces = []
        for turn in range(world):
            start, stop = blocks * turn // world * block, blocks * (turn + 1) // world * block
            if start < stop:
                pieces.append(Piece((index + turn) % world, start, min(stop, shape.elements)))
        shared.append(tuple(pieces))
    return shared


class Run(NamedTuple):
    """A piece in a bucket: where it begins there, among the residuals of all and of its owner; and its row."""

    bucket_at: int
    residual_at: int
    owned_at: int
    elements: int
    row: int


class Plain(NamedTuple):
    """A piece that travels as it is; `at` counts elements from the beginning of the message's plain part."""

    bucket_at: int
    elements: int
    at: int


class Message(NamedTuple):
    """What one rank averages of a bucket: the bits of all rows, their means, then elements as they are."""

    runs: tuple[Run, ...]
    rows: int
    plain: tuple[Plain, ...]
    plain_count: int
    means_at: int
    plain_at: int
    size: int


class InBucket(NamedTuple):
    """A parameter of a bucket: which one it is, and where its elements begin."""

    number: int
    at: int


class Layout:
    """Places of all residuals, and of the messages of any bucket."""

    def __init__(self, shapes: Sequence[Shape], world: int, rank: int, block: int) -> None:
        self.shapes, self.world, self.block = tuple(shapes), world, block
        self.pieces = share_out(shapes, world, block)
        self.residual_at = list(_places(shape.elements if shape.compressed else 0 for shape in shapes))
        mine = [sum(piece.stop - piece.start for piece in pieces if piece.owner == rank) for pieces in self.pieces]
        owned = (count if shape.compressed else 0 for count, shape in zip(mine, shapes, strict=True))
        self.owned_at = list(_places(owned))

    def messages(self, bucket: Sequence[InBucket], item_bytes: int, full: bool) -> list[Message]:
        """For each rank, what it averages of a bucket; with `full`, all of it as it is."""
        return [self._message(owner, bucket, item_bytes, full) for owner in range(self.world)]

    def _message(self, owner: int, bucket: Sequence[InBucket], item_bytes: int, full: bool) -> Message:
        wanted = [
            (parameter, piece)
            for parameter in sorted(bucket)
            for piece in self.pieces[parameter.number]
            if piece.owner == owner
        ]
        runs, rows, plain, elements = [], 0, [], 0
        for parameter, piece in wanted:
            count, at = piece.stop - piece.start, parameter.at + piece.start
            if full or not self.shapes[parameter.number].compressed:
                plain.append(Plain(at, count, elements))
                elements += count
            else:
                residual_at = self.residual_at[parameter.number] + piece.start
                runs.append(Run(at, residual_at, self.owned_at[parameter.number], count, rows))
                rows += -(-count // self.block)
        means_at = HEADER + rows * (self.block // LANES)
        plain_at = fours(means_at + 2 * rows)
        size = fours(plain_at + -(-elements * item_bytes // 4))
        return Message(tuple(runs), rows, tuple(plain), elements, means_at, plain_at, size)


def _places(counts: Iterable[int]) -> Iterable[int]:
    """Where each begins when they stand one behind the other, in fours; the last number is the length of all."""
    at = 0
    for count in counts:
        yield at
        at += fours(count)
    yield at
