"""Encode, average and decode whole messages by the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
import triton.language as tl

from onebit import kernels
from onebit.codec import LANES
from onebit.layout import HEADER, Message

TYPES = {torch.float32: tl.float32, torch.float16: tl.float16, torch.bfloat16: tl.bfloat16}


class Table(NamedTuple):
    """The places of some blocks, a column each: in the bucket, among residuals, of words and of means; and how long it is."""

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
        self._size = messages[rank].size
        self._warps = max(1, min(8, self.width // 16))

    def encode(self, bucket: Any, residual: Any, rest: Any, ratio: Any, wire: Any, flag: Any) -> None:
        """A bucket and its residual into the messages for all ranks, one behind the other; what is left over to `rest`."""
        for table in self._all:
            kernels.encode_kernel[(table.places.shape[1],)](
                bucket,
                residual,
                rest,
                wire,
                flag,
                ratio,
                table.places,
                table.places.shape[1],
                WIDTH=self.width,
                DTYPE=TYPES[bucket.dtype],
                MASKED=table.masked,
                ALIGNED=table.aligned,
                num_warps=self._warps,
                enable_fp_fusion=False,
            )

    def average(self, received: Any, dtype: torch.dtype, residual: Any, ratio: Any, wire: Any, flag: Any) -> None:
        """The messages of all ranks for this one into the message that all of them get; `residual` is taken on."""
        for table in self._mine:
            kernels.average_encode_kernel[(table.places.shape[1],)](
                received,
                residual,
                wire,
                flag,
                ratio,
                table.places,
                table.places.shape[1],
                self._size,
                1 / self.world,
                WORKERS=self.world,
                WIDTH=self.width,
                DTYPE=TYPES[dtype],
                MASKED=table.masked,
                num_warps=self._warps,
                enable_fp_fusion=False,
            )

    def decode(self, gathered: Any, bucket: Any) -> None:
        """What all ranks averaged, into the bucket."""
        for table in self._back:
            average(gathered, bucket, table, 0, 1, self.width, self._warps)

    def _tables(
        self, messages: Sequence[Message], starts: Sequence[int], device: torch.device, owned: bool
    ) -> list[Table]:
        full: list[tuple[int, ...]] = []
        short: list[tuple[int, ...]] = []
        for message, start in zip(messages, starts, strict=True):
            for run in message.runs:
                for at in range(0, run.count, self.block):
                    row = run.row + at // self.block
                    length = min(self.block, run.count - at)
                    kept = (run.owned_at if owned else run.residual_at) + at
                    words, means = start + HEADER + row * self.width, start + message.means_at + 2 * row
                    (full if length == self.block else short).append((run.bucket_at + at, kept, words, means, length))
        tables = []
        for rows, masked in ((full, False), (short, True)):
            if rows:
                places = torch.tensor(rows, dtype=torch.int64).t().contiguous().to(device)
                tables.append(Table(places, masked, all(row[0] % 4 == 0 for row in rows)))
        return tables


def average(received: Any, out: Any, table: Table, stride: int, workers: int, width: int, warps: int) -> None:
    """What some ranks sent for some blocks, averaged, into `out`."""
    kernels.average_kernel[(table.places.shape[1],)](
        received,
        out,
        table.places,
        table.places.shape[1],
        stride,
        1 / workers,
        WORKERS=workers,
        WIDTH=width,
        MASKED=table.masked,
        ALIGNED=table.aligned,
        num_warps=warps,
        enable_fp_fusion=False,
    )
