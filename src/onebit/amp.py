"""Loss scaling: which scaler scales the gradients, where nobody says so."""

from __future__ import annotations

import weakref
from functools import wraps
from typing import Any

import torch

_newest: list[weakref.ref[Any]] = []


def watch() -> None:
    """Remember each scaler that is made from now on: for scripts that are not to be changed."""
    scaler = torch.amp.GradScaler
    made = scaler.__init__

    @wraps(made)
    def remembered(self: Any, *arguments: Any, **options: Any) -> None:
        made(self, *arguments, **options)
        _newest[:] = [weakref.ref(self)]

    scaler.__init__ = remembered  # type: ignore[method-assign]


def scale_of(scaler: Any) -> torch.Tensor | float | None:
    """By what gradients are multiplied now; without a scaler, by that of the newest that was seen; None for none."""
    if scaler is None and _newest:
        scaler = _newest[0]()
    if scaler is None or not scaler.is_enabled():
        return None
    # On a GPU the tensor itself: to ask for its value would wait for all that the GPU has to do.
    scale = scaler._scale
    if isinstance(scale, torch.Tensor) and scale.device.type != "cpu":
        return scale
    return float(scaler.get_scale())
