"""The exchange: a communication hook of DDP in two compressed halves.

```
backward ─▶ hook: encode ─▶ all-to-all ─▶ thread: average, encode again ─▶ all-gather ─▶ decode ─▶ bucket
            (in bucket order, on the model's group)     (in bucket order, on a group of its own)
```

Each rank averages a part of every parameter, so what a rank sends does not grow with the number of ranks. The second
half has a thread and a process group of its own, and takes the buckets in their order: collectives of one group come in
one order on all ranks, whatever is ready first.
"""

from __future__ import annotations

import queue
import threading
import weakref
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple

import torch
import torch.distributed as dist

from onebit.layout import InBucket, Layout
from onebit.ledger import Ledger
from onebit.route import Route
from onebit.second import speaks_nccl

# The newer name for the same; the older one warns where there are both.
_all_gather = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor


class Job(NamedTuple):
    """A bucket whose first half is under way."""

    bucket: torch.Tensor
    parameters: tuple[InBucket, ...]
    route: Route
    half: Any
    received: torch.Tensor
    kept: int
    ratio: torch.Tensor
    done: Any


class Exchange:
    """The hook's state: residuals, routes, and the thread of the second half."""

    def __init__(
        self,
        index_of: dict[int, int],
        layout: Layout,
        device: torch.device,
        group: Any,
        second: Any,
        warmup_steps: int,
        scale: Callable[[], torch.Tensor | float | None],
    ) -> None:
        self.layout, self.device, self.warmup_steps = layout, device, warmup_steps
        self.step = 0
        self.ledger = Ledger(device)
        self.scale: torch.Tensor | float | None = None
        total = layout.residual_at[-1]
        # Of the first residual there are two: what was there stays until all ranks have said that the sum was finite.
        self.residuals = [torch.zeros(total, device=device), torch.zeros(total, device=device)]
        self.owned = torch.zeros(layout.owned_at[-1], device=device)
        self._index_of, self._group, self._second = index_of, group, second
        self.rank, self._world = dist.get_rank(group), layout.world
        self._host = device.type != "cpu" and not speaks_nccl(group, device)
        self._one = torch.ones(1, device=device)
        self._ratio, self._ask_scale, self._begun = self._one, scale, False
        self._routes: dict[tuple[tuple[InBucket, ...], bool], Route] = {}
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        stream: Any = torch.cuda.Stream
        stream = stream(device) if device.type == "cuda" else None
        # The thread holds nothing of the exchange, so that this goes with its model, and the thread then ends.
        given = self._jobs, weakref.WeakMethod(self._finish), stream
        threading.Thread(target=_work, args=given, name="onebit exchange", daemon=True).start()
        weakref.finalize(self, self._jobs.put, None).atexit = False

    def __call__(self, bucket: Any) -> torch.futures.Future[torch.Tensor]:
        """DDP's hook: the future of the averaged bucket."""
        if not self._begun:
            self._begin_step()
        buffer = bucket.buffer()
        done = _future(self.device)
        parameters = self._places(bucket)
        route = self._route(parameters, buffer, self.step < self.warmup_steps)
        kept = self.step % 2
        with self.ledger.codec():
            route.encode(buffer, self.residuals[kept], self.residuals[1 - kept], self._ratio)
            wire = self._outward(route.wire)
        received = torch.empty(route.received.shape, dtype=torch.int32) if self._host else route.received
        half = self._scatter(route, wire, received, self._group)
        self.ledger.bucket(buffer, route.compressed, self._world)
        self._jobs.put(Job(buffer, parameters, route, half, received, kept, self._ratio, done))
        if bucket.is_last():
            self.step += 1
            self.ledger.steps += 1
            self._begun = False
        # What DDP is given must hold an error in C++ too, where that of `set_exception` is a result like any other.
        return done.then(_value)

    def _begin_step(self) -> None:
        self._begun, self._ratio = True, self._one
        scale = self._ask_scale()
        if scale is None:
            return
        if self.scale is not None:
            ratio = torch.as_tensor(scale, dtype=torch.float32, device=self.device) / self.scale
            self._ratio = ratio.reshape(1)
        self.scale = scale.clone() if isinstance(scale, torch.Tensor) else scale

    def _finish(self, job: Job) -> None:
        route = job.route
        with self.ledger.waiting():
            job.half.wait()
            if self._host:
                route.received.copy_(job.received)
            finite = route.finite()
        if finite:
            self._second_half(job, route)
            return
        # Somebody's sum was not finite. All ranks know it by the first half, and send this bucket as it is.
        with self.ledger.codec():
            route.keep(self.residuals[job.kept], self.residuals[1 - job.kept], self.owned, job.ratio)
            full = self._route(job.parameters, job.bucket, True)
            full.encode(job.bucket, self.residuals[0], self.residuals[1], job.ratio)
            wire = self._outward(full.wire)
        received = torch.empty(full.received.shape, dtype=torch.int32) if self._host else full.received
        with self.ledger.waiting():
            self._scatter(full, wire, received, self._second).wait()
        if self._host:
            full.received.copy_(received)
        self.ledger.full += 1
        self._second_half(job, full)

    def _second_half(self, job: Job, route: Route) -> None:
        with self.ledger.codec():
            route.average(self.owned, job.ratio)
            answer = self._outward(route.answer)
        gathered = torch.empty(route.gathered.shape, dtype=torch.int32) if self._host else route.gathered
        with self.ledger.waiting():
            _all_gather(gathered.view(-1), answer, group=self._second)
        self.ledger.sent(4 * route.padded * (self._world - 1))
        with self.ledger.codec():
            if self._host:
                route.gathered.copy_(gathered)
            route.decode(job.bucket)

    def _scatter(self, route: Route, wire: torch.Tensor, received: torch.Tensor, group: Any) -> Any:
        self.ledger.sent(4 * (sum(route.sizes) - route.mine))
        return dist.all_to_all_single(
            received.view(-1), wire, [route.mine] * self._world, route.sizes, group=group, async_op=True
        )

    def _outward(self, wire: torch.Tensor) -> torch.Tensor:
        return wire.cpu() if self._host else wire

    def _places(self, bucket: Any) -> tuple[InBucket, ...]:
        places, at = [], 0
        for parameter in bucket.parameters():
            places.append(InBucket(self._index_of[id(parameter)], at))
            at += parameter.numel()
        return tuple(places)

    def _route(self, parameters: tuple[InBucket, ...], buffer: torch.Tensor, full: bool) -> Route:
        route = self._routes.get((parameters, full))
        if route is None:
            route = Route(self.layout, self.rank, parameters, buffer, full, self._host)
            self._routes[parameters, full] = route
        return route


def _work(jobs: queue.SimpleQueue[Job | None], finish: weakref.WeakMethod[Callable[[Job], None]], stream: Any) -> None:
    """The thread of the second half: until the exchange is no more."""
    while (job := jobs.get()) is not None:
        _do(job, finish(), stream)
        del job


def _do(job: Job, finish: Any, stream: Any) -> None:
    try:
        with torch.cuda.stream(stream) if stream else nullcontext():
            finish(job)
            job.done.set_result(job.bucket)
    except Exception as error:  # whatever it is, the training loop must see it, not wait for ever
        job.done.set_exception(error)


def _value(done: torch.futures.Future[torch.Tensor]) -> torch.Tensor:
    return done.value()


def _future(device: torch.device) -> torch.futures.Future[torch.Tensor]:
    return torch.futures.Future(devices=[device]) if device.type == "cuda" else torch.futures.Future()
