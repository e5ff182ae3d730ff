"""Batch norm on distinct rows: each counts as often as it occurs, with the weights of its copies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from dropgnn.engine.rows import Block, CannotShare, Lazy, Rows, rows_of
from dropgnn.ops import ops_for

NAMES = ("input", "running_mean", "running_var", "weight", "bias", "training", "momentum", "eps")


def given_to_norm(args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of ``torch.nn.functional.batch_norm`` by name."""
    given: dict[str, Any] = {"weight": None, "bias": None, "training": False, "momentum": 0.1, "eps": 1e-5}
    return given | dict(zip(NAMES, args, strict=False)) | kwargs


def batch_norm(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """``torch.nn.functional.batch_norm``."""
    given = given_to_norm(args, kwargs)
    rows = given.pop("input")
    if (
        isinstance(rows, Rows)
        and given["training"]
        and rows.was_touched
        and not rows.space.sharing.runs.equally_weighted
    ):
        raise CannotShare("batch norm of rows with a history of their own")
    if not isinstance(rows, Rows) or rows.was_touched or any(isinstance(value, Lazy) for value in given.values()):
        return NotImplemented
    distinct = rows.distinct()
    if not given["training"]:
        return rows_of([Block(function(distinct, **given), rows.level)], rows.space)
    if rows.dim() != 2 or rows.space is not rows.space.sharing.nodes:
        if not rows.space.sharing.runs.equally_weighted:  # all rows have weights, which they lose here
            raise CannotShare("batch norm of other rows than those of nodes")
        return NotImplemented
    level = rows.space.sharing.level(rows.level)
    out = weighted_batch_norm(function, (distinct,), given, level.weight, level.rows)
    return rows_of([Block(out, rows.level)], rows.space)


def weighted_batch_norm(
    function: Any, args: Sequence[Any], kwargs: dict[str, Any], weight: Tensor, rows: int
) -> Tensor:
    """Batch norm of rows that count ``weight [M]`` and stand for so many ``rows``."""
    given = given_to_norm(args, kwargs)
    x = given["input"]
    if not given["training"]:
        return function(*args, **kwargs)
    torch.nn.functional._verify_batch_size([rows, *x.shape[1:]])  # type: ignore[attr-defined]
    gain = x.new_ones(x.size(1)) if given["weight"] is None else given["weight"]
    bias = x.new_zeros(x.size(1)) if given["bias"] is None else given["bias"]
    out, mean, variance = ops_for(x, rows).batch_norm(x, weight, gain, bias, given["eps"], False)
    move_running(given, mean, variance, rows)
    return out


@torch.no_grad()
def move_running(given: dict[str, Any], mean: Tensor, variance: Tensor, rows: int) -> None:
    """Move running statistics as torch does, towards those of so many rows."""
    running_mean, running_var, momentum = given["running_mean"], given["running_var"], given["momentum"]
    if running_mean is not None:
        running_mean.lerp_(mean.to(running_mean.dtype), momentum)
    if running_var is not None:
        running_var.lerp_((variance * (rows / (rows - 1))).to(running_var.dtype), momentum)
