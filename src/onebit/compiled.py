"""Encode, average and decode whole messages by the compiled codec: float32 on a processor, the same bits, sooner."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import lru_cache

import torch

from onebit.building import library
from onebit.layout import HEADER, InBucket, Layout, Message, Shape
from onebit.sameness import results, same_bits
from onebit.vectorised import Vectorised


class Compiled(Vectorised):
    """The messages of one bucket on one rank, as `Vectorised` has them, which does what is not float32."""

    def __init__(
        self,
        messages: Sequence[Message],
        rank: int,
        block: int,
        device: torch.device,
        gathered: int,
        made: ctypes.CDLL,
    ) -> None:
        super().__init__(messages, rank, block, device, gathered)
        self._made = made

    def encode(
        self,
        bucket: torch.Tensor,
        residual: torch.Tensor,
        rest: torch.Tensor,
        ratio: torch.Tensor,
        wire: torch.Tensor,
        flag: torch.Tensor,
    ) -> None:
        """A bucket and its residual times `ratio` into the messages for all ranks; what is left over goes to `rest`."""
        if bucket.dtype != torch.float32:
            return super().encode(bucket, residual, rest, ratio, wire, flag)
        by, finite, start = float(ratio), True, 0
        for message in self.messages:
            for run in message.runs:
                words, means = self._places(message, run.row)
                finite &= bool(
                    self._made.onebit_encode(
                        _at(bucket, run.bucket_at),
                        _at(residual, run.residual_at),
                        by,
                        _at(rest, run.residual_at),
                        _at(wire, start + words),
                        _at(wire, start + means),
                        run.elements,
                        self.block,
                    )
                )
            start += message.size
        if not finite:
            flag.fill_(1)
        return None

    def average(
        self,
        received: torch.Tensor,
        dtype: torch.dtype,
        residual: torch.Tensor,
        ratio: torch.Tensor,
        wire: torch.Tensor,
    ) -> None:
        """The messages of all ranks for this one into the message that all of them get; `residual` is taken on."""
        if dtype != torch.float32:
            return super().average(received, dtype, residual, ratio, wire)
        by, message = float(ratio), self.messages[self.rank]
        sources, stride = received.shape
        for run in message.runs:
            words, means = self._places(message, run.row)
            self._made.onebit_average(
                _at(received, words),
                _at(received, means),
                stride,
                sources,
                1 / sources,
                _at(residual, run.owned_at),
                by,
                _at(wire, words),
                _at(wire, means),
                run.elements,
                self.block,
            )
        return None

    def decode(self, gathered: torch.Tensor, bucket: torch.Tensor) -> None:
        """What all ranks averaged, into the bucket."""
        if bucket.dtype != torch.float32:
            return super().decode(gathered, bucket)
        start, stride = 0, gathered.shape[1]
        for message in self.messages:
            for run in message.runs:
                words, means = self._places(message, run.row)
                wire = _at(gathered, start + words), _at(gathered, start + means)
                self._made.onebit_decode(*wire, _at(bucket, run.bucket_at), run.elements, self.block)
            start += stride
        return None

    def _places(self, message: Message, row: int) -> tuple[int, int]:
        """Where the words and the means of a row are in a message."""
        return HEADER + row * self.width, message.means_at + 2 * row


def _at(tensor: torch.Tensor, element: int) -> int:
    return tensor.data_ptr() + element * tensor.element_size()


@lru_cache(maxsize=1)
def trusted() -> ctypes.CDLL | None:
    """The compiled codec, once it has had the bits of the vectorised one on a small bucket of three ranks."""
    made = library()
    if made is None:
        return None
    layout = Layout([Shape(700, True), Shape(1024, True), Shape(30, True)], 3, 1, 128)
    messages = layout.messages([InBucket(0, 0), InBucket(1, 700), InBucket(2, 1724)], 4, full=False)
    padded, device = max(message.size for message in messages), torch.device("cpu")
    count = torch.arange(1754, dtype=torch.float32)
    numbers = (
        3 * torch.sin(count**2),
        torch.cos(count[: layout.residual_at[-1]]),
        torch.cos(count[: layout.owned_at[-1]]),
    )
    ours = results(Compiled(messages, 1, 128, device, padded, made), messages, 1, numbers, 0.75)
    theirs = results(Vectorised(messages, 1, 128, device, padded), messages, 1, numbers, 0.75)
    return made if same_bits(ours, theirs) else None
