"""Holds the kernels to the vectorised codec, bit for bit: in a process of its own, on a GPU or in Triton's interpreter."""

from __future__ import annotations

import os
import sys

import torch

from onebit.layout import InBucket, Layout, Shape
from onebit.on_gpu import OnGpu
from onebit.sameness import results, same_bits
from onebit.vectorised import Vectorised

INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = torch.device("cpu" if INTERPRETED else "cuda")


def compare(counts, world, rank, block, dtype, ratio=1.0, spoiled=None, too_large=()):
    layout = Layout([Shape(count, count >= block) for count in counts], world, rank, block)
    bucket = [InBucket(index, sum(counts[:index])) for index in range(len(counts))]
    messages = layout.messages(bucket, torch.empty(0, dtype=dtype).element_size(), full=False)
    random = torch.Generator().manual_seed(sum(counts) + world)
    values = torch.randn(sum(counts), generator=random) * torch.rand(sum(counts), generator=random)
    if spoiled is not None:
        values[sum(counts) // 2] = spoiled
    inputs = values.to(dtype), torch.randn(layout.residual_at[-1]), torch.randn(layout.owned_at[-1])
    for at in too_large:
        inputs[2][at] = 3e38
    padded = max(message.size for message in messages)
    ours = results(
        OnGpu(messages, rank, block, DEVICE, padded),
        messages,
        rank,
        tuple(tensor.to(DEVICE) for tensor in inputs),
        ratio,
    )
    theirs = results(Vectorised(messages, rank, block, values.device, padded), messages, rank, inputs, ratio)
    if spoiled is not None:
        assert ours["flag"].item() == theirs["flag"].item() == 1
        return
    for at in too_large:  # a block of which the average is not finite keeps what it had
        assert ours["owned"][at].item() == (inputs[2] * ratio)[at].item() > 0
        theirs.pop("answer", None)  # an infinity less an infinity: a NaN of any bits
    for name, reference in theirs.items():
        assert same_bits(ours, {name: reference}), f"{name} of {counts}, {world} ranks, block {block}, {dtype}"


def main():
    torch.manual_seed(0)
    # The interpreter rounds to bfloat16 in a way of its own.
    for dtype in (torch.float32, torch.float16) if INTERPRETED else (torch.float32, torch.float16, torch.bfloat16):
        compare([700, 256 * 4 + 30, 5, 1000], 3, 1, 256, dtype, ratio=2.0)
        compare([5000, 3001], 2, 0, 2048, dtype)
        compare([512, 300], 2, 1, 128, dtype, spoiled=float("nan"))
        compare([512, 300], 2, 1, 128, dtype, spoiled=float("inf"))
        compare([700, 256 * 4 + 30, 5, 1000], 3, 1, 256, dtype, ratio=0.75, too_large=(0, 700))
        if not INTERPRETED:
            compare([1000003, 7, 2048 * 300, 3_000_000], 4, 2, 2048, dtype, ratio=0.5)
            compare([100_000] * 5, 8, 3, 512, dtype)
            compare([100_000] * 5, 20, 3, 128, dtype)
            compare([1_000_000], 1, 0, 16384, dtype)
    print("same bits", DEVICE, torch.__version__, file=sys.stdout)


if __name__ == "__main__":
    main()
