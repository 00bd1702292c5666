"""An exchange's state as plain tensors by parameter's name, for a checkpoint."""

from __future__ import annotations

from typing import Any

import torch

from onebit.exchange import Exchange
from onebit.half import HalfExchange

VERSION = 1


def save(exchange: Exchange | HalfExchange, names: list[str]) -> dict[str, Any]:
    """What a resumed run needs; of half precision that is where its warm-up is."""
    if isinstance(exchange, HalfExchange):
        return {"version": VERSION, "step": exchange.step}
    layout, kept = exchange.layout, exchange.residuals[exchange.step % 2]
    scale = exchange.scale
    residual, owned = {}, {}
    for index, name in enumerate(names):
        count = layout.shapes[index].elements if layout.shapes[index].compressed else 0
        if count:
            residual[name] = kept[layout.residual_at[index] :][:count].clone()
            owned[name] = exchange.owned[layout.owned_at[index] : layout.owned_at[index + 1]].clone()
    return {
        "version": VERSION,
        "world": layout.world,
        "rank": exchange.rank,
        "block": layout.block,
        "step": exchange.step,
        "scale": None if scale is None else float(scale),
        "residual": residual,
        "owned": owned,
    }


def load(exchange: Exchange | HalfExchange, names: list[str], state: dict[str, Any]) -> None:
    """Take a saved state up."""
    if isinstance(exchange, HalfExchange):
        if state.get("version") != VERSION or "residual" in state:
            raise ValueError("that state is of another exchange: it is not of one in half precision")
        exchange.step = state["step"]
        return
    layout = exchange.layout
    here = {"version": VERSION, "world": layout.world, "rank": exchange.rank, "block": layout.block}
    other = {key: state.get(key) for key in here}
    if other != here:
        wrong = ", ".join(f"{key} {other[key]} and not {here[key]}" for key in here if other[key] != here[key])
        raise ValueError(f"that state is of another exchange: it has {wrong}. Each rank loads what the same rank saved")
    expected = save(exchange, names)
    for part in ("residual", "owned"):
        sizes = {name: tensor.numel() for name, tensor in expected[part].items()}
        found = {name: tensor.numel() for name, tensor in state[part].items()}
        if sizes != found:
            name = min(set(sizes.items()) ^ set(found.items()))[0]
            raise ValueError(f"that state is of another model: {name} differs")
    for index, name in enumerate(names):
        if name in expected["residual"]:
            at, owned_at = layout.residual_at[index], layout.owned_at[index]
            for kept in exchange.residuals:
                kept[at:][: layout.shapes[index].elements].copy_(state["residual"][name])
            exchange.owned[owned_at : layout.owned_at[index + 1]].copy_(state["owned"][name])
    exchange.step = state["step"]
    scale = state["scale"]
    exchange.scale = None if scale is None else torch.tensor(scale, device=exchange.device)
