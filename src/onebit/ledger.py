"""What an exchange has cost: bytes, and seconds in the codec and on the wire."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

import torch


class Ledger:
    """Counted up by the hook and by the thread of the second half."""

    def __init__(self, device: torch.device) -> None:
        self.full = 0
        self._sent = self._uncompressed = 0
        self._waited_s = self._codec_s = 0.0
        self._events: list[tuple[Any, Any]] = []
        self._gpu, self._lock = device.type == "cuda", Lock()

    def bucket(self, buffer: torch.Tensor, compressed: bool, world: int) -> None:
        """A bucket begins; an all-reduce of it as it is would have sent it less than twice."""
        self._uncompressed += 2 * (world - 1) * buffer.numel() * buffer.element_size() // world
        self.full += not compressed

    def sent(self, count: int) -> None:
        """So many bytes leave this rank."""
        with self._lock:
            self._sent += count

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Time in a collective."""
        begin = time.perf_counter()
        yield
        self.waited(time.perf_counter() - begin)

    def waited(self, seconds: float) -> None:
        """A collective took so long."""
        with self._lock:
            self._waited_s += seconds

    @contextmanager
    def codec(self) -> Iterator[None]:
        """Time of packing and unpacking, by the GPU's own clock where it is done there."""
        if self._gpu:
            event: Any = torch.cuda.Event
            events = event(enable_timing=True), event(enable_timing=True)
            events[0].record()
            yield
            events[1].record()
            with self._lock:
                self._events.append(events)
                if len(self._events) > 512:
                    self._read(256)
            return
        begin = time.perf_counter()
        yield
        with self._lock:
            self._codec_s += time.perf_counter() - begin

    def report(self, steps: int) -> dict[str, float]:
        """All of it, as numbers."""
        with self._lock:
            self._read(len(self._events))
            return {
                "steps": steps,
                "bytes_sent": self._sent,
                "bytes_uncompressed": self._uncompressed,
                "exchange_s": self._waited_s,
                "codec_s": self._codec_s,
                "buckets_in_full": self.full,
            }

    def _read(self, count: int) -> None:
        for begin, end in self._events[:count]:
            end.synchronize()
            self._codec_s += begin.elapsed_time(end) / 1000
        del self._events[:count]
