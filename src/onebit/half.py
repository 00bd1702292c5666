"""Gradients in half precision on the wire: DDP's own hooks, with the same account of what they sent."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook, fp16_compress_hook

from onebit.ledger import Ledger


class HalfExchange:
    """The hook's state: at which step it is, and what it has cost."""

    def __init__(self, device: torch.device, group: Any, warmup_steps: int) -> None:
        self.ledger, self.warmup_steps = Ledger(device), warmup_steps
        self.step, self._group, self._world = 0, group, dist.get_world_size(group)

    def __call__(self, bucket: Any) -> torch.futures.Future[torch.Tensor]:
        """DDP's hook: the future of the averaged bucket."""
        buffer, full = bucket.buffer(), self.step < self.warmup_steps
        self.ledger.bucket(buffer, not full, self._world)
        self.ledger.sent(2 * (self._world - 1) * buffer.numel() * (buffer.element_size() if full else 2) // self._world)
        self.step += bucket.is_last()
        self.ledger.steps += bucket.is_last()
        begin = self.ledger.moment()

        def arrived(future: torch.futures.Future[Any]) -> Any:
            self.ledger.waited(begin)
            return future.value()

        return (allreduce_hook if full else fp16_compress_hook)(self._group, bucket).then(arrived)
