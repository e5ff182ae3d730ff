"""Which loops planning runs in."""

from __future__ import annotations

from types import ModuleType

from torch import Tensor

from dropgnn.compiling import worth_compiling
from dropgnn.ops import compiled, vectorised


def loops_for(like: Tensor, work: int) -> ModuleType:
    """``compiled`` for tensors on the CPU and enough work, else ``vectorised``; both have the same functions."""
    return compiled if like.is_cpu and worth_compiling(work) else vectorised
