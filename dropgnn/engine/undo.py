"""What a forward may have changed, put back: it is run again, copy by copy, where distinct rows do not carry it to its end."""

from __future__ import annotations

import random
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch_geometric.nn as pyg
from torch import nn

from dropgnn.errors import Unsupported
from dropgnn.nn.gin import GIN, GINE
from dropgnn.nn.modules import inside
from dropgnn.nn.mpnn import MPNN
from dropgnn.nn.norm import WeightedBatchNorm
from dropgnn.nn.one_gnn import OneGNN

CONTAINERS = frozenset((list, dict, set, OrderedDict, deque))
"""Attributes whose contents a forward may change."""

OURS = frozenset((GIN, GINE, MPNN, OneGNN))

INSIDE_OURS = OURS | {
    pyg.GINConv, pyg.GINEConv, pyg.NNConv, pyg.Linear, pyg.SumAggregation, pyg.MeanAggregation, pyg.MaxAggregation,
    nn.Sequential, nn.ModuleList, nn.Linear, nn.ReLU, nn.ELU, nn.GRUCell, WeightedBatchNorm,
}  # fmt: skip
"""What our encoders are made of."""


def is_ours(encoder: nn.Module) -> bool:
    """Whether an encoder is one of ours as we made it: it changes nothing but running statistics, and does not fail midway."""
    if type(encoder) not in OURS:
        return False
    for module in inside(encoder):
        own = vars(module)
        if type(module) not in INSIDE_OURS or own["_forward_hooks"] or own["_forward_pre_hooks"] or "forward" in own:
            return False
    return True


def remember(encoder: nn.Module, device: torch.device) -> Callable[[], None]:
    """A function that puts back attributes and their contents, buffers and randomness as they are now."""
    if is_ours(encoder):
        return lambda: None
    modules = inside(encoder)
    kept = [(vars(module), dict(vars(module))) for module in modules]
    held = [_contents(value) for _, own in kept for value in own.values() if type(value) in CONTAINERS]
    buffers = [(one, one.clone()) for module in modules for one in module._buffers.values() if one is not None]
    parameters = [one for module in modules for one in module._parameters.values() if one is not None]
    versions = [(one, one._version) for one in parameters if not one.is_inference()]
    generators = [value for _, own in kept for value in own.values() if isinstance(value, torch.Generator)]
    states = [(source, source.get_state()) for source in generators]
    chance = torch.get_rng_state(), random.getstate(), np.random.get_state()
    on_gpu = torch.cuda.get_rng_state(device) if device.type == "cuda" else None

    def restore() -> None:
        for attributes, before in kept:
            for name in attributes.keys() - before.keys():
                del attributes[name]
            attributes.update(before)
        for container, contents in held:
            _refill(container, contents)
        with torch.no_grad():
            for buffer, value in buffers:
                buffer.copy_(value)
        for source, state in states:
            source.set_state(state)
        torch.set_rng_state(chance[0])
        random.setstate(chance[1])
        np.random.set_state(chance[2])
        if on_gpu is not None:
            torch.cuda.set_rng_state(on_gpu, device)
        if any(one._version != version for one, version in versions):
            raise Unsupported(
                f"{type(encoder).__name__}.forward writes on its parameters and cannot be run on distinct rows; use "
                "engine='batched'"
            )

    return restore


def _contents(container: Any) -> tuple[Any, list[Any]]:
    return container, list(container.items() if isinstance(container, dict) else container) if container else []


def _refill(container: Any, contents: list[Any]) -> None:
    container.clear()
    (container.extend if isinstance(container, (list, deque)) else container.update)(contents)
