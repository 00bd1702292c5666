"""The codec on one core, against copies of as many bytes; prints seconds as JSON."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import numpy
import torch

import onebit
from onebit.layout import InBucket, Layout, Shape
from onebit.route import codec_of, engine_for
from onebit.vectorised import Vectorised

COUNT = 1 << 24


def seconds(work: Callable[[], object]) -> float:
    """The best of some rounds."""
    best = float("inf")
    for _ in range(7):
        begin = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begin)
    return best


def main() -> None:
    """Encode, decode, and what each is held to."""
    torch.set_num_threads(1)
    gradient, residual, rest = torch.randn(COUNT), torch.randn(COUNT), torch.empty(COUNT)
    layout = Layout([Shape(COUNT, True)], 1, 0, onebit.BLOCK)
    (message,) = messages = layout.messages([InBucket(0, 0)], 4, full=False)
    settings = messages, 0, onebit.BLOCK, gradient.device, message.size
    engine, vectorised = engine_for(*settings), Vectorised(*settings)
    wire, flag = torch.zeros(message.size, dtype=torch.int32), torch.zeros(1, dtype=torch.int32)
    encode = seconds(lambda: engine.encode(gradient, residual, rest, torch.ones(1), wire, flag))
    decode = seconds(lambda: engine.decode(wire.view(1, -1), rest))
    by_torch = seconds(lambda: vectorised.encode(gradient, residual, rest, torch.ones(1), wire, flag))
    # A copy reads and writes: half of the bytes that are moved is what it copies.
    moved = torch.empty((12 * COUNT + 4 * message.size) // 8)
    back = torch.empty((4 * COUNT + 4 * message.size) // 8)
    into, back_into = torch.empty_like(moved), torch.empty_like(back)
    signs = numpy.signbit(gradient.numpy())
    found = {
        "codec": codec_of(gradient.device),
        "encode": encode,
        "encode_by_torch": by_torch,
        "decode": decode,
        "copy": seconds(lambda: into.copy_(moved)),
        "decode_copy": seconds(lambda: back_into.copy_(back)),
        "packbits": seconds(lambda: numpy.packbits(signs)),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
