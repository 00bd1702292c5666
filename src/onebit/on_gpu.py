"""Encode, average and decode whole messages by the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
import triton.language as tl

from onebit import kernels
from onebit.codec import LANES
from onebit.layout import HEADER, Message

TYPES = {torch.float32: tl.float32, torch.float16: tl.float16, torch.bfloat16: tl.bfloat16}
# So many ranks a kernel adds up at once: their words are in registers.
AT_ONCE = 8


class Table(NamedTuple):
    """The places of some blocks, a row for each: values, residuals, words and means; and how long the block is."""

    places: torch.Tensor
    masked: bool
    aligned: bool


class OnGpu:
    """The messages of one bucket on one rank, as `Vectorised` has them; `gathered` is how far apart they come back."""

    def __init__(self, messages: Sequence[Message], rank: int, block: int, device: torch.device, gathered: int) -> None:
        self.block, self.width, self.world = block, block // LANES, len(messages)
        starts = [sum(message.size for message in messages[:owner]) for owner in range(self.world)]
        self._all = self._tables(messages, starts, device, owned=False)
        self._mine = self._tables([messages[rank]], [0], device, owned=True)
        self._back = self._tables(messages, [owner * gathered for owner in range(self.world)], device, owned=False)
        self._message = messages[rank]
        self._warps = max(1, min(4, self.width // 16))
        self._room: torch.Tensor | None = None
        # Of the second half nobody asks whether it was finite: its blocks look after their residuals themselves.
        self._unread = torch.zeros(1, dtype=torch.int32, device=device)

    def encode(
        self,
        bucket: torch.Tensor,
        residual: torch.Tensor,
        rest: torch.Tensor,
        ratio: torch.Tensor,
        wire: torch.Tensor,
        flag: torch.Tensor,
    ) -> None:
        """A bucket and its residual into the messages for all ranks, in a row; what is left over goes to `rest`."""
        for table in self._all:
            self._encode(table, bucket, bucket.dtype, residual, rest, ratio, wire, flag)

    def average(
        self,
        received: torch.Tensor,
        dtype: torch.dtype,
        residual: torch.Tensor,
        ratio: torch.Tensor,
        wire: torch.Tensor,
    ) -> None:
        """The messages of all ranks for this one into the message that all of them get; `residual` is taken on."""
        if self._room is None:
            self._room = torch.empty(self._message.rows * self.block, device=residual.device)
        average(received, self._room, self._message, self.world, self.width)
        for table in self._mine:
            self._encode(table, self._room, dtype, residual, residual, ratio, wire, self._unread)

    def decode(self, gathered: torch.Tensor, bucket: torch.Tensor) -> None:
        """What all ranks averaged, into the bucket."""
        for table in self._back:
            kernels.decode_kernel[(len(table.places),)](
                gathered,
                bucket,
                table.places,
                WIDTH=self.width,
                MASKED=table.masked,
                ALIGNED=table.aligned,
                num_warps=self._warps,
            )

    def _encode(
        self,
        table: Table,
        values: torch.Tensor,
        dtype: torch.dtype,
        residual: torch.Tensor,
        rest: torch.Tensor,
        ratio: torch.Tensor,
        wire: torch.Tensor,
        flag: torch.Tensor,
    ) -> None:
        kernels.encode_kernel[(len(table.places),)](
            values,
            residual,
            rest,
            wire,
            flag,
            ratio,
            table.places,
            WIDTH=self.width,
            DTYPE=TYPES[dtype],
            MASKED=table.masked,
            ALIGNED=table.aligned,
            OWNED=rest is residual,
            num_warps=self._warps,
            enable_fp_fusion=False,
        )

    def _tables(
        self, messages: Sequence[Message], starts: Sequence[int], device: torch.device, owned: bool
    ) -> list[Table]:
        full: list[tuple[int, ...]] = []
        short: list[tuple[int, ...]] = []
        for message, start in zip(messages, starts, strict=True):
            for run in message.runs:
                kept_at = run.owned_at if owned else run.residual_at
                values_at = run.row * self.block if owned else run.bucket_at
                for at in range(0, run.elements, self.block):
                    row = run.row + at // self.block
                    length = min(self.block, run.elements - at)
                    words, means = start + HEADER + row * self.width, start + message.means_at + 2 * row
                    place = (values_at + at, kept_at + at, words, means, length)
                    (full if length == self.block else short).append(place)
        tables = []
        for rows, masked in ((full, False), (short, True)):
            if rows:
                places = torch.tensor(rows, dtype=torch.int64, device=device)
                tables.append(Table(places, masked, all(row[0] % 4 == 0 for row in rows)))
        return tables


def average(received: torch.Tensor, out: torch.Tensor, message: Message, workers: int, width: int) -> None:
    """What some ranks sent for the blocks of a message, averaged, into `out`: whole blocks of float32."""
    words = received.view(-1)
    for first in range(0, workers, AT_ONCE):
        kernels.average_kernel[(message.rows,)](
            words[first * message.size :],
            out,
            message.means_at,
            message.size,
            1 / workers if first + AT_ONCE >= workers else 1.0,
            WORKERS=min(AT_ONCE, workers - first),
            MORE=first > 0,
            WORDS_AT=HEADER,
            WIDTH=width,
            num_warps=max(1, width // 64),
            enable_fp_fusion=False,
        )
