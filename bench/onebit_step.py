"""One rank of the step-time benchmark: steps of a model of 25 million parameters; the first prints what one took."""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook
from torch.nn.parallel import DistributedDataParallel

import onebit

WIDTH, LAYERS, BATCH = 2500, 4, 8


def sent_bytes() -> int:
    """What has left this host by its interface, headers and all."""
    return int(Path("/sys/class/net/eth0/statistics/tx_bytes").read_text())


def largest(value: float) -> float:
    """The largest of all ranks."""
    tensor = torch.tensor([value], dtype=torch.float64)
    dist.all_reduce(tensor, dist.ReduceOp.MAX)
    return float(tensor)


def main() -> None:
    """Some steps of one kind of exchange."""
    kind, steps = sys.argv[1], int(sys.argv[2])
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    layers: list[Any] = []
    for _ in range(LAYERS):
        layers += [torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU()]
    powersgd = kind.startswith("powersgd")
    # Several buckets of PowerSGD are exchanged in no certain order, which ends in an error on gloo: it gets one.
    model = DistributedDataParallel(torch.nn.Sequential(*layers), bucket_cap_mb=1000 if powersgd else None)
    attached = None
    if powersgd:
        state = powerSGD_hook.PowerSGDState(None, int(kind.split("-")[1]), start_powerSGD_iter=2)
        model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
    elif kind != "none":
        attached = onebit.attach(model, kind=kind)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    x = torch.randn(BATCH, WIDTH)
    times, before, codec = [], 0, 0.0
    # DDP makes its buckets anew after the first step, and PowerSGD begins with the third.
    warm = 3 if powersgd else 1
    for step in range(warm + steps):
        if step == warm:
            before, codec = sent_bytes(), attached.report()["codec_s"] if attached else 0.0
        dist.barrier()
        begin = time.perf_counter()
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
        took = largest(time.perf_counter() - begin)
        if step >= warm:
            times.append(took)
    sent = sent_bytes() - before
    if dist.get_rank() == 0:
        codec = attached.report()["codec_s"] - codec if attached else 0.0
        figures = {"step_s": statistics.median(times), "sent": sent / steps, "codec_s": codec / steps}
        print(json.dumps({**figures, "parameters": sum(p.numel() for p in model.parameters())}))
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
