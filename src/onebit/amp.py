"""Loss scaling: by what gradients are multiplied at a step."""

from __future__ import annotations

from typing import Any

import torch


def scale_of(scaler: Any) -> torch.Tensor | float | None:
    """A GradScaler's scale now; None where there is no scaler, or none that scales."""
    if scaler is None or not scaler.is_enabled():
        return None
    # On a GPU the tensor itself: to ask for its value would wait for all that the GPU has to do.
    scale = scaler._scale
    if isinstance(scale, torch.Tensor) and scale.device.type != "cpu":
        return scale
    return float(scaler.get_scale())
