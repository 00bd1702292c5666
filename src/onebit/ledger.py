"""What an exchange has cost: bytes, and seconds in the codec and on the wire."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

import torch


class Ledger:
    """Counted up by the hook and by the thread of the second half.

    On a GPU times are by its own clock: a collective or a kernel has only been asked for when the call for it returns.
    """

    def __init__(self, device: torch.device) -> None:
        self.full = self.steps = 0
        self._sent = self._uncompressed = 0
        self._seconds = {"exchange_s": 0.0, "codec_s": 0.0}
        self._events: list[tuple[str, Any, Any]] = []
        self._gpu, self._lock = device if device.type == "cuda" else None, Lock()

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
        begin = self.moment()
        yield
        self.waited(begin)

    @contextmanager
    def codec(self) -> Iterator[None]:
        """Time of packing and unpacking."""
        begin = self.moment()
        yield
        self._took("codec_s", begin)

    def moment(self) -> Any:
        """Now, in what this thread has asked for."""
        if self._gpu is None:
            return time.perf_counter()
        new: Any = torch.cuda.Event
        event = new(enable_timing=True)
        event.record(torch.cuda.current_stream(self._gpu))
        return event

    def waited(self, begin: Any) -> None:
        """A collective has taken from that moment until now."""
        self._took("exchange_s", begin)

    def _took(self, name: str, begin: Any) -> None:
        end = self.moment()
        with self._lock:
            if self._gpu is None:
                self._seconds[name] += end - begin
                return
            self._events.append((name, begin, end))
            if len(self._events) > 512:
                self._read(256)

    def report(self) -> dict[str, float]:
        """All of it, as numbers."""
        with self._lock:
            self._read(len(self._events))
            return {
                "steps": self.steps,
                "bytes_sent": self._sent,
                "bytes_uncompressed": self._uncompressed,
                **self._seconds,
                "buckets_in_full": self.full,
            }

    def _read(self, count: int) -> None:
        for name, begin, end in self._events[:count]:
            end.synchronize()
            self._seconds[name] += begin.elapsed_time(end) / 1000
        del self._events[:count]
