"""A project whose `local` runs two processes with this Python, which has torch."""

import json
import sys
from pathlib import Path

import pytest

# Real DistributedDataParallel models, without a compressor of their own.
TRAIN = """
import os, sys
import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
import jig
dist.init_process_group()
rank = dist.get_rank()
print("rank", rank, "of", dist.get_world_size(), flush=True)
torch.manual_seed(1)
def train(model, steps=3):
    for step in range(steps):
        model.zero_grad()
        model(torch.full((4, 32), float(rank + 1))).sum().backward()
    return model.module.weight.grad.sum().item()
"""


@pytest.fixture
def ranked(project):
    project.write("aml_config/local.compute", f"type: local\npythonLocation: {sys.executable}\n")
    project.runconfig(Distributed={"processes": 2})
    return project


def ranks_of(folder: Path) -> "list[dict]":
    """What launcher and processes wrote down."""
    return [json.loads(line) for line in (folder / "ranks.jsonl").read_text().splitlines()]
