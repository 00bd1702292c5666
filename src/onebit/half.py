"""Gradients in half precision on the wire: DDP's own hook, with the same account of what it sent."""

from __future__ import annotations

import time
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook

from onebit.ledger import Ledger


class HalfExchange:
    """The hook's state: only what it has cost."""

    def __init__(self, device: torch.device, group: Any) -> None:
        self.ledger = Ledger(device)
        self.step, self._group, self._world = 0, group, dist.get_world_size(group)

    def __call__(self, bucket: Any) -> torch.futures.Future[torch.Tensor]:
        """DDP's hook: the future of the averaged bucket."""
        buffer = bucket.buffer()
        self.ledger.bucket(buffer, True, self._world)
        self.ledger.sent(2 * (self._world - 1) * buffer.numel() * 2 // self._world)
        self.step += bucket.is_last()
        begin = time.perf_counter()

        def arrived(future: torch.futures.Future[Any]) -> Any:
            self.ledger.waited(time.perf_counter() - begin)
            return future.value()

        return fp16_compress_hook(self._group, bucket).then(arrived)
