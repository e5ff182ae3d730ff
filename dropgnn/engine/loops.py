"""Which loops planning runs in."""

from __future__ import annotations

from types import ModuleType

from torch import Tensor

from dropgnn.engine import compiled, vectorised


def loops_for(like: Tensor) -> ModuleType:
    """``compiled`` for tensors on the CPU, ``vectorised`` for others; both have the same functions."""
    return compiled if like.is_cpu else vectorised
