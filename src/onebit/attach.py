"""One line for a training loop: `onebit.attach(ddp_model)`."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist

from onebit.amp import scale_of
from onebit.codec import BLOCK, check_block
from onebit.exchange import Exchange
from onebit.half import HalfExchange
from onebit.layout import Layout, Shape
from onebit.route import codec_of
from onebit.single import ENCODED
from onebit.state import load, save

KINDS = ("onebit", "fp16", "none")


class Attached:
    """What `attach` answers: the account of an exchange, and its state for a checkpoint."""

    def __init__(self, kind: str, exchange: Exchange | HalfExchange | None, names: list[str]) -> None:
        self.kind = kind
        self._exchange, self._names = exchange, names

    @property
    def codec(self) -> str:
        """What packs: `triton`, `compiled` or, slower, `torch`; empty where nothing is packed."""
        return codec_of(self._exchange.device) if isinstance(self._exchange, Exchange) else ""

    def report(self) -> dict[str, float]:
        """Steps, bytes sent by this rank and what an all-reduce would have sent, seconds in exchange and codec."""
        if self._exchange is None:
            return {}
        return self._exchange.ledger.report(self._exchange.step)

    def state_dict(self) -> dict[str, Any]:
        """All that a resumed run needs to go on as if it had not been interrupted. Each rank has its own."""
        return save(self._exchange, self._names) if isinstance(self._exchange, Exchange) else {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take up what `state_dict` gave on the same rank; ValueError for that of another rank, model or block."""
        if isinstance(self._exchange, Exchange):
            load(self._exchange, self._names, state)


def attach(
    model: Any,
    *,
    kind: str = "onebit",
    warmup_steps: int = 0,
    block: int = BLOCK,
    smallest: int | None = None,
    scaler: Any = None,
) -> Attached:
    """Have a DistributedDataParallel exchange its gradients as one bit an element; called by each rank before any step.

    `warmup_steps` go in full precision; tensors of fewer than `smallest` elements (four blocks) always do. `scaler` is
    the GradScaler, where there is one. Raises RuntimeError where the model has a communication hook of its own.
    """
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, not {kind!r}")
    if warmup_steps < 0:
        raise ValueError(f"warmup_steps must be 0 or more, not {warmup_steps}")
    check_block(block)
    if not isinstance(model, torch.nn.parallel.DistributedDataParallel):
        raise TypeError(
            f"attach wants a model in DistributedDataParallel, not {type(model).__name__}: "
            "model = DistributedDataParallel(model), then onebit.attach(model)"
        )
    if getattr(model, "_comm_hooks", None):
        raise RuntimeError("this model has a communication hook already, and DDP takes one: it is left alone")
    named = _reduced(model)
    names = [name for name, _ in named]
    group = model.process_group
    world = dist.get_world_size(group)
    devices = {parameter.device for _, parameter in named}
    if kind == "none" or world == 1 or not named:
        return Attached(kind, None, names)
    if len(devices) > 1:
        raise ValueError(f"the parameters are on {len(devices)} devices: onebit wants a model on one")
    device = devices.pop()
    if kind == "fp16":
        half = HalfExchange(device, group)
        model.register_comm_hook(None, lambda _, bucket: half(bucket))
        return Attached(kind, half, names)
    least = 4 * block if smallest is None else smallest
    shapes = [Shape(p.numel(), p.numel() >= least and p.dtype in ENCODED) for _, p in named]
    layout = Layout(shapes, world, dist.get_rank(group), block)
    index_of = {id(parameter): index for index, (_, parameter) in enumerate(named)}
    exchange = Exchange(index_of, layout, device, group, _second(group), warmup_steps, lambda: scale_of(scaler))
    model.register_comm_hook(None, lambda _, bucket: exchange(bucket))
    return Attached(kind, exchange, names)


def _reduced(model: Any) -> list[tuple[str, torch.Tensor]]:
    """The parameters that DDP reduces, in the model's own order, which is the same on all ranks and after a resume."""
    ignored = set(getattr(model, "parameters_to_ignore", ()))
    return [(n, p) for n, p in model.module.named_parameters() if p.requires_grad and n not in ignored]


def _second(group: Any) -> Any:
    """A process group of the same ranks for the second half."""
    ranks = dist.get_process_group_ranks(group)
    backend = dist.get_backend_config(group)
    alone = len(ranks) != dist.get_world_size()
    return dist.new_group(ranks, backend=backend, use_local_synchronization=alone)
