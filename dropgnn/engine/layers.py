"""Encoders in layers, as they were written before version 0.2; a plain ``forward`` takes their place."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

warnings.warn(
    "dropgnn.engine.layers will go: write the encoder's forward as for any module, and leave Layer out",
    DeprecationWarning,
    stacklevel=2,
)


@dataclass(frozen=True)
class Layer:
    """One layer: ``conv`` looks at neighbours, and ``update``, or else the modules of ``behind``, at what it returns."""

    conv: Callable[[Tensor, Tensor, Tensor | None], Tensor]
    update: Callable[[Tensor, Tensor, int], Tensor] | None
    message: torch.nn.Module
    behind: tuple[Callable[..., Tensor], ...]
    split: bool = False
    own: bool = False


def split_gin(conv: Any) -> tuple[Callable[[Tensor, Tensor, Tensor | None], Tensor], torch.nn.Module]:
    """A GIN layer as a whole, and nothing behind it."""
    takes_features = hasattr(conv, "lin")
    return (
        lambda x, edge_index, attr: conv(x, edge_index, attr) if takes_features else conv(x, edge_index),
        torch.nn.Identity(),
    )
