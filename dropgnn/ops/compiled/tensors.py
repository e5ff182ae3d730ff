"""Compiled loops on tensors."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch import Tensor

from dropgnn.compiling import worth_compiling


def on_tensors(function: Callable[..., Any]) -> Callable[..., Any]:
    """A compiled loop that takes and returns tensors. They share their memory with its arrays."""

    @wraps(function)
    def call(*arguments: Any) -> Any:
        found = function(*[value.numpy() if isinstance(value, Tensor) else value for value in arguments])
        return tuple(map(torch.from_numpy, found)) if isinstance(found, tuple) else torch.from_numpy(found)

    return call


def native(value: Any) -> Any:
    """Named tuples with arrays for their tensors: loops take these as one argument."""
    if isinstance(value, tuple):
        return value._make(map(native, value))  # type: ignore[attr-defined]
    return value.numpy() if isinstance(value, Tensor) else value


def compiles(x: Tensor, work: int) -> bool:
    """Whether compiled loops take these rows: on the CPU, in single or double precision and to stay so, and part of enough
    work."""
    fits = x.is_cpu and x.dtype in (torch.float32, torch.float64) and not torch.is_autocast_enabled("cpu")
    return fits and worth_compiling(work)
