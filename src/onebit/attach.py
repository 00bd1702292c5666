"""One line for a training loop: `onebit.attach(ddp_model)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import torch
import torch.distributed as dist

from onebit.amp import scale_of
from onebit.codec import BLOCK, check_block
from onebit.exchange import Exchange
from onebit.half import HalfExchange
from onebit.layout import Layout, Shape
from onebit.ledger import Ledger
from onebit.route import codec_of
from onebit.second import second_group
from onebit.single import ENCODED
from onebit.state import load, save
from onebit.unfit import Unfit

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

    @property
    def ledger(self) -> Ledger | None:
        """The account alone, which does not keep the model's residuals; None where nothing is exchanged."""
        return self._exchange.ledger if self._exchange else None

    def report(self) -> dict[str, float]:
        """Steps, bytes sent by this rank and what an all-reduce would have sent, seconds in exchange and codec."""
        return self._exchange.ledger.report() if self._exchange else {}

    def state_dict(self) -> dict[str, Any]:
        """All that a resumed run needs to go on as if it had not been interrupted. Each rank has its own."""
        return save(self._exchange, self._names) if self._exchange else {}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Take up what `state_dict` gave on the same rank; ValueError for that of another rank, model or block."""
        if self._exchange:
            load(self._exchange, self._names, state)


_attached: WeakKeyDictionary[Any, Attached] = WeakKeyDictionary()
# What attaches to a model at its first step, for one that is asked for before.
waiting: WeakKeyDictionary[Any, Callable[[Any], None]] = WeakKeyDictionary()


def attached(model: Any) -> Attached | None:
    """What `attach` has answered for this model, also where jig was to call it; None for one that has none.

    Called by each rank, as `attach` is: where jig waits for the first step, it is attached to now.
    """
    attach_now = waiting.pop(model, None)
    if attach_now is not None:
        attach_now(model)
    return _attached.get(model)


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
    the GradScaler, where there is one. Raises Unfit, a RuntimeError, on all ranks and before anything is changed, where
    the model has a communication hook of its own, sparse gradients, or a process group that cannot be had twice.
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
        raise Unfit("this model has a communication hook already, and DDP takes one: it is left alone")
    group = model.process_group
    world = dist.get_world_size(group)
    exchange: Exchange | HalfExchange | None = None
    names: list[str] = []
    if kind != "none" and world > 1:
        _check_fit(model)
        named = _reduced(model)
        names = [name for name, _ in named]
        devices = {parameter.device for _, parameter in named}
        if len(devices) > 1:
            raise Unfit(f"the parameters are on {len(devices)} devices: onebit wants a model on one")
        device = devices.pop()
        if kind == "fp16":
            exchange = HalfExchange(device, group, warmup_steps)
        else:
            least = 4 * block if smallest is None else smallest
            shapes = [Shape(p.numel(), p.numel() >= least and p.dtype in ENCODED) for _, p in named]
            layout = Layout(shapes, world, dist.get_rank(group), block)
            index_of = {id(parameter): index for index, (_, parameter) in enumerate(named)}
            second = second_group(group, device)
            exchange = Exchange(index_of, layout, device, group, second, warmup_steps, lambda: scale_of(scaler))
        model.register_comm_hook(exchange, lambda exchange, bucket: exchange(bucket))
        model._comm_hooks = Forgotten(getattr(model, "_comm_hooks", ()))
    _attached[model] = Attached(kind, exchange, names)
    return _attached[model]


class Forgotten(list[Any]):
    """Hooks that are not copied or pickled with their model: what is read has none, and needs no onebit."""

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return list, ()


def _check_fit(model: Any) -> None:
    if any(hasattr(parameter, "_in_backward_optimizers") for parameter in model.module.parameters()):
        raise Unfit("this model's optimizer runs within backward, for which DDP takes a communication hook of its own")
    for name, module in model.module.named_modules():
        if isinstance(module, (torch.nn.Embedding, torch.nn.EmbeddingBag)) and module.sparse:
            raise Unfit(f"the gradients of {name or 'this model'} are sparse (sparse=True), which cannot be packed")


def _reduced(model: Any) -> list[tuple[str, torch.Tensor]]:
    """The parameters that DDP reduces, in the model's own order, which is the same on all ranks and after a resume.

    DDP asked what wants a gradient when it was made: what was frozen since then is still in its buckets.
    """
    reduced = {id(p) for bucket in model.reducer._get_zeros_like_grad_buckets() for p in bucket.parameters()}
    return [(name, parameter) for name, parameter in model.module.named_parameters() if id(parameter) in reduced]
