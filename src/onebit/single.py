"""One tensor: encode it with its residual, decode it again."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import torch

from onebit.codec import BLOCK, LANES, check_block
from onebit.layout import HEADER, InBucket, Layout, Message, Shape
from onebit.route import engine_for

ENCODED = (torch.float32, torch.float16, torch.bfloat16)


class Packed(NamedTuple):
    """A tensor as one bit an element, 32 to a word, and two means a block."""

    words: torch.Tensor
    means: torch.Tensor
    shape: torch.Size
    dtype: torch.dtype

    @property
    def block(self) -> int:
        """How many elements share two means."""
        return self.words.shape[1] * LANES

    @property
    def nbytes(self) -> int:
        """What it takes on the wire."""
        return 4 * (self.words.numel() + self.means.numel())


@lru_cache(maxsize=64)
def _message(count: int, block: int, device: torch.device) -> tuple[Message, Any]:
    layout = Layout([Shape(count, True)], 1, 0, block)
    messages = layout.messages([InBucket(0, 0)], 4, full=False)
    return messages[0], engine_for(messages, 0, block, device, messages[0].size)


def encode(
    gradient: torch.Tensor, residual: torch.Tensor | None = None, *, block: int = BLOCK
) -> tuple[Packed, torch.Tensor]:
    """What a gradient is sent as, and what is left over for the next time: a float32 residual of the same shape.

    `gradient + residual` is encoded; what is left over is exactly that sum less `decode` of what was packed. Nothing
    that was passed is changed. Raises TypeError for types that are not float32, float16 or bfloat16.
    """
    check_block(block)
    if gradient.dtype not in ENCODED:
        raise TypeError(f"onebit encodes float32, float16 and bfloat16, not {gradient.dtype}: send it as it is")
    if residual is None:
        residual = torch.zeros(gradient.shape, dtype=torch.float32, device=gradient.device)
    if residual.shape != gradient.shape or residual.dtype != torch.float32 or residual.device != gradient.device:
        raise ValueError(
            f"the residual must be a float32 tensor of the gradient's shape {tuple(gradient.shape)} "
            f"on {gradient.device}, not {residual.dtype} of {tuple(residual.shape)} on {residual.device}"
        )
    message, engine = _message(gradient.numel(), block, gradient.device)
    wire = torch.empty(message.size, dtype=torch.int32, device=gradient.device)
    rest = torch.empty(gradient.shape, dtype=torch.float32, device=gradient.device)
    one, flag = torch.ones(1, device=gradient.device), torch.zeros(1, dtype=torch.int32, device=gradient.device)
    engine.encode(gradient.contiguous().view(-1), residual.contiguous().view(-1), rest.view(-1), one, wire, flag)
    words = wire[HEADER : message.means_at].view(message.rows, block // LANES)
    means = wire[message.means_at : message.means_at + 2 * message.rows].view(torch.float32).view(message.rows, 2)
    return Packed(words, means, gradient.shape, gradient.dtype), rest


def decode(packed: Packed) -> torch.Tensor:
    """The values that were sent, in the gradient's own type, which holds them exactly."""
    message, engine = _message(packed.shape.numel(), packed.block, packed.words.device)
    wire = torch.empty(message.size, dtype=torch.int32, device=packed.words.device)
    wire[HEADER : message.means_at].copy_(packed.words.reshape(-1))
    wire[message.means_at : message.means_at + 2 * message.rows].copy_(packed.means.view(torch.int32).reshape(-1))
    values = torch.empty(packed.shape, dtype=packed.dtype, device=packed.words.device)
    engine.decode(wire.view(1, -1), values.view(-1))
    return values
