"""A process group of the same ranks for the second half of an exchange."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist

from onebit.unfit import Unfit


def second_group(group: Any, device: torch.device) -> Any:
    """A group of the same ranks, with the same back-end; Unfit on all of them where it cannot be had."""
    ranks, backend = dist.get_process_group_ranks(group), dist.get_backend_config(group)
    order: dict[str, Any] = {} if ranks == sorted(ranks) else {"sort_ranks": False}  # older ones have no such groups
    if len(ranks) == dist.get_world_size():
        return dist.new_group(ranks, backend=backend, **order)
    # torch names a group that only its members make by how many groups each of them is in. Where these numbers differ,
    # they would wait for each other under different names, for ever.
    count = len(dist.distributed_c10d._world.pg_names)
    mine = torch.tensor([count], device=device if speaks_nccl(group, device) else "cpu")
    counts = [torch.empty_like(mine) for _ in ranks]
    dist.all_gather(counts, mine, group=group)
    if any(int(other) != count for other in counts):
        raise Unfit(
            "the ranks of this model's process group are in different numbers of groups, and so torch cannot make "
            "another of them: onebit wants a model on all ranks, or attach before the other groups are made"
        )
    return dist.new_group(ranks, backend=backend, use_local_synchronization=True, **order)


def speaks_nccl(group: Any, device: torch.device) -> bool:
    """Whether collectives of this group take the memory of a GPU as it is."""
    served = dict(part.split(":") for part in dist.get_backend_config(group).split(",") if ":" in part)
    return served.get(device.type) == "nccl"
