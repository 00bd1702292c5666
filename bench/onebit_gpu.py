"""On a GPU: the kernels of onebit against a copy of as many bytes, and against float64."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable

import torch
import triton

import onebit
from onebit import BLOCK
from onebit.layout import InBucket, Layout, Shape
from onebit.on_gpu import OnGpu, average

COUNT, WORKERS = 1 << 28, 8


def seconds(work: Callable[[], object], rounds: int = 30) -> float:
    """The median time of some rounds, by the GPU's own clock."""
    for _ in range(5):
        work()
    times = []
    for _ in range(rounds):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        work()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / 1000)
    return statistics.median(times)


def accuracy() -> float:
    """How far the means are from those in float64, relative to the largest element."""
    gradient = torch.randn(1 << 22, device="cuda") * torch.rand(1 << 22, device="cuda") + 0.0
    packed, _ = onebit.encode(gradient)
    blocks = gradient.view(-1, BLOCK).double()
    negative = torch.signbit(blocks)
    below = (blocks * negative).sum(1) / negative.sum(1)
    above = (blocks * ~negative).sum(1) / (~negative).sum(1)
    return float((packed.means.double() - torch.stack((above, below), 1)).abs().max() / blocks.abs().max())


def main() -> int:
    """Print the figures; 1 when a bar is missed."""
    device = torch.device("cuda")
    print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, triton {triton.__version__}")
    values, other = torch.randn(COUNT, device=device), torch.empty(COUNT, device=device)
    bandwidth = 8 * COUNT / seconds(lambda: other.copy_(values))
    print(f"copy {bandwidth / 1e12:.2f} TB/s; means differ from float64 by {accuracy():.1e} of the largest element")
    print("kernel                       time       bytes moved   of a copy   bar")
    missed = 0

    def row(name: str, took: float, moved: float, bar: float | None) -> None:
        nonlocal missed
        ratio = moved / took / bandwidth
        missed += bar is not None and ratio < bar
        print(f"{name:26s} {took * 1000:7.3f} ms {moved / 1e9:9.2f} GB {ratio:10.2f}x   {bar or ''}")

    bits = COUNT / 8 + 8 * COUNT / BLOCK
    one = Layout([Shape(COUNT, True)], 1, 0, BLOCK).messages([InBucket(0, 0)], 4, full=False)
    engine = OnGpu(one, 0, BLOCK, device, one[0].size)
    wire = torch.zeros(one[0].size, dtype=torch.int32, device=device)
    flag, ratio = torch.zeros(1, dtype=torch.int32, device=device), torch.ones(1, device=device)
    residual, rest = torch.randn(COUNT, device=device), torch.empty(COUNT, device=device)
    took = seconds(lambda: engine.encode(values, residual, rest, ratio, wire, flag))
    row("encode with residual", took, 12 * COUNT + bits, 0.95)
    row("decode", seconds(lambda: engine.decode(wire, rest)), 4 * COUNT + bits, None)
    received = wire.repeat(WORKERS)
    took = seconds(lambda: average(received, rest, one[0], WORKERS, engine.width))
    row(f"decode and average of {WORKERS}", took, 4 * COUNT + WORKERS * bits, 0.85)
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
