"""How wide and deep a module may be: checked before its weights take memory."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

import torch
from torch import Tensor

from dropgnn.errors import InvalidArgument, whole_number

MAX_WEIGHTS = 2**28
"""The most weights of one encoder or head, a gigabyte in single precision: more is a typing error, not a GNN."""

MAX_LAYERS = 2**8
"""The most layers, rounds or steps; a GNN with a hundred layers is a very deep one."""

OWN = "build larger ones from torch modules: any module called as forward(x, edge_index) is an encoder"


def width(argument: str, value: object) -> int:
    """``value`` as a number of features."""
    return whole_number(argument, value, least=1, most=MAX_WEIGHTS)


def widths(argument: str, values: object) -> tuple[int, ...]:
    """``values`` as the widths of one or more layers."""
    given = list(islice(values, MAX_LAYERS + 1)) if _lists(values) else []  # type: ignore[call-overload]
    if not 0 < len(given) <= MAX_LAYERS:
        rule = f"must have a width for each of at least one and at most {MAX_LAYERS:,} layers"
        raise InvalidArgument(argument, rule, got=values)
    return tuple(width(argument, value) for value in given)


def _lists(values: object) -> bool:
    scalar = isinstance(values, Tensor) and values.dim() == 0
    return isinstance(values, Iterable) and not isinstance(values, (str, bytes)) and not scalar


def depth(argument: str, value: object) -> int:
    """``value`` as a number of layers, rounds or steps."""
    return whole_number(argument, value, least=1, most=MAX_LAYERS)


def check_weights(number: int, **sizes: int) -> None:
    """Raise where a module of these sizes would have more than ``MAX_WEIGHTS`` weights."""
    if number > MAX_WEIGHTS:
        largest = max(sizes, key=lambda name: sizes[name])
        rule = f"must keep the module within {MAX_WEIGHTS:,} weights"
        raise InvalidArgument(largest, rule, got=f"{sizes[largest]}, which makes {number:,} weights", hint=OWN)


def check_matrix(x: object, width: int | None = None, weight: Tensor | None = None, why: str = "") -> None:
    """Raise unless ``x`` is a matrix, of so many columns where they are given, that can be multiplied with ``weight``. Looks
    at no entry."""
    if not isinstance(x, Tensor) or x.dim() != 2 or x.layout != torch.strided or width not in (None, x.size(1)):
        got = tuple(x.shape) if isinstance(x, Tensor) else type(x).__name__
        rule = "must be a dense matrix of rows" if width is None else f"must have {width} features"
        raise InvalidArgument("x", f"{rule}, {why}" if why else rule, got=got)
    if weight is not None and x.dtype != weight.dtype and not torch.is_autocast_enabled(x.device.type):
        hint = f"convert with x.to({weight.dtype})"
        raise InvalidArgument("x", f"must have the dtype of the weights, {weight.dtype}", got=x.dtype, hint=hint)
