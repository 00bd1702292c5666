"""How one bucket travels: its messages, the buffers for them, and what packs and unpacks."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import torch

from onebit.compiled import Compiled, trusted
from onebit.layout import InBucket, Layout, Message
from onebit.vectorised import Vectorised


def codec_of(device: torch.device) -> str:
    """Which codec serves a device here, `triton`, `compiled` or `torch`: all have the same bits."""
    if device.type == "cuda" and find_spec("triton"):
        return "triton"
    return "compiled" if device.type == "cpu" and trusted() else "torch"


def engine_for(messages: Sequence[Message], rank: int, block: int, device: torch.device, gathered: int) -> Any:
    """What packs and unpacks these messages."""
    codec, settings = codec_of(device), (messages, rank, block, device, gathered)
    if codec == "triton":
        from onebit.on_gpu import OnGpu

        return OnGpu(*settings)
    made = trusted() if codec == "compiled" else None
    return Compiled(*settings, made) if made else Vectorised(*settings)


class Route:
    """The buffers of one bucket in one form: compressed, or `full` in the precision of its own type.

    `host` says that messages travel through this computer's memory, as they do where gloo serves a GPU.
    """

    def __init__(
        self,
        layout: Layout,
        rank: int,
        bucket: Sequence[InBucket],
        like: torch.Tensor,
        full: bool,
        host: bool,
    ) -> None:
        self.rank, self.dtype, self.device, self.host = rank, like.dtype, like.device, host
        self.messages = layout.messages(bucket, like.element_size(), full)
        self.sizes = [message.size for message in self.messages]
        self.padded, self.mine = max(self.sizes), self.sizes[rank]
        self.starts = [sum(self.sizes[:owner]) for owner in range(len(self.sizes))]
        world = len(self.sizes)

        def words(count: int) -> torch.Tensor:
            return torch.zeros(count, dtype=torch.int32, device=self.device)

        self.wire, self.received = words(sum(self.sizes)), words(world * self.mine).view(world, self.mine)
        self.answer, self.gathered = words(self.padded), words(world * self.padded).view(world, self.padded)
        self.flag = words(1)
        self._headers = torch.tensor(self.starts, device=self.device)
        self.compressed = any(message.rows for message in self.messages)
        if self.compressed:
            self.engine = engine_for(self.messages, rank, layout.block, self.device, self.padded)

    def encode(self, bucket: torch.Tensor, residual: torch.Tensor, rest: torch.Tensor, ratio: torch.Tensor) -> None:
        """The bucket into `wire`."""
        if self.compressed:
            self.engine.encode(bucket, residual, rest, ratio, self.wire, self.flag.zero_())
            self.wire.index_copy_(0, self._headers, self.flag.expand(len(self.sizes)))
        wires = torch.split(self.wire, self.sizes)
        outward = [
            (self._plain(message, wire)[place.at : place.at + place.elements], place)
            for message, wire in zip(self.messages, wires, strict=True)
            for place in message.plain
        ]
        if outward:
            _copy([into for into, _ in outward], [bucket[p.bucket_at : p.bucket_at + p.elements] for _, p in outward])

    def finite(self) -> bool:
        """Whether what all ranks encoded was finite; all ranks come to the same answer."""
        return not self.compressed or not bool(self.received[:, 0].any())

    def average(self, owned: torch.Tensor, ratio: torch.Tensor) -> None:
        """What all ranks sent for this one, averaged, into `answer`."""
        message = self.messages[self.rank]
        if message.rows:
            self.engine.average(self.received, self.dtype, owned, ratio, self.answer)
        if message.plain_count:
            wide = torch.float32 if self.dtype in (torch.float16, torch.bfloat16) else self.dtype
            # In the order of ranks, so that the sum does not depend on where in a bucket an element stands.
            total = self._plain(message, self.received[0]).to(wide, copy=True)
            for row in self.received[1:]:
                total.add_(self._plain(message, row))
            self._plain(message, self.answer).copy_(total.mul_(1 / len(self.sizes)))

    def decode(self, bucket: torch.Tensor) -> None:
        """What all ranks averaged, into the bucket."""
        if self.compressed:
            self.engine.decode(self.gathered, bucket)
        back = [
            (self._plain(message, row)[place.at : place.at + place.elements], place)
            for message, row in zip(self.messages, self.gathered, strict=True)
            for place in message.plain
        ]
        if back:
            _copy([bucket[p.bucket_at : p.bucket_at + p.elements] for _, p in back], [values for values, _ in back])

    def keep(self, residual: torch.Tensor, rest: torch.Tensor, owned: torch.Tensor, ratio: torch.Tensor) -> None:
        """The residuals as they were, where the bucket went another way."""
        for owner, message in enumerate(self.messages):
            for run in message.runs:
                here = slice(run.residual_at, run.residual_at + run.elements)
                torch.mul(residual[here], ratio, out=rest[here])
                if owner == self.rank:
                    owned[run.owned_at : run.owned_at + run.elements].mul_(ratio)

    def _plain(self, message: Message, wire: torch.Tensor) -> torch.Tensor:
        return wire[message.plain_at : message.size].view(self.dtype)[: message.plain_count]


def _copy(into: list[torch.Tensor], values: list[torch.Tensor]) -> None:
    """Many small copies; on a GPU by one kernel for all of them."""
    torch._foreach_copy_(into, values)
