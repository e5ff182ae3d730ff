"""Compiled loops on tensors."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch import Tensor


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
