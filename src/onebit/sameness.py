"""Whether two engines have the same bits: all that each makes of a bucket, on one rank of some."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from onebit.layout import HEADER, Message


def results(
    engine: Any,
    messages: Sequence[Message],
    rank: int,
    inputs: tuple[torch.Tensor, torch.Tensor, torch.Tensor],
    ratio: float,
) -> dict[str, torch.Tensor]:
    """What an engine makes of a bucket, its residual and the residual of what this rank owns; they are not changed."""
    bucket, residual, owned = (tensor.clone() for tensor in inputs)
    device, sizes = bucket.device, [message.size for message in messages]
    rest, by = torch.zeros_like(residual), torch.tensor([ratio], device=device)
    wire = torch.zeros(sum(sizes), dtype=torch.int32, device=device)
    flag = torch.zeros(1, dtype=torch.int32, device=device)
    engine.encode(bucket, residual, rest, by, wire, flag)
    parts = torch.split(wire, sizes)
    received = torch.stack([parts[rank]] * len(messages))
    for source in range(len(messages)):  # other bits from each rank, the means of this one
        received[source, HEADER : messages[rank].means_at] ^= source * 0x1234567
    answer = torch.zeros(max(sizes), dtype=torch.int32, device=device)
    engine.average(received, bucket.dtype, owned, by, answer)
    gathered = torch.zeros(len(messages), max(sizes), dtype=torch.int32, device=device)
    for row, part in zip(gathered, parts, strict=True):
        row[: part.numel()] = part
    values = torch.zeros_like(bucket)
    engine.decode(gathered, values)
    return {"rest": rest, "wire": wire, "owned": owned, "answer": answer, "values": values, "flag": flag}


def same_bits(ours: dict[str, torch.Tensor], theirs: dict[str, torch.Tensor]) -> bool:
    """Whether all of it is equal to the bit."""
    return all(torch.equal(ours[name].cpu().view(torch.uint8), theirs[name].cpu().view(torch.uint8)) for name in theirs)
