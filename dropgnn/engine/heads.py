"""How a head is called, whoever wrote it, and what it must return."""

from __future__ import annotations

import torch
from torch import Tensor

from dropgnn.errors import InvalidArgument
from dropgnn.nn.modules import forward_parameters

_SIZE_NAMES = ("num_graphs", "batch_size", "dim_size")


def takes_batch(head: torch.nn.Module | None) -> bool:
    """Whether a head is one for graphs: its ``forward`` needs a ``batch``. One that may do without is for rows."""
    if head is None:
        return False
    parameter = forward_parameters(head).get("batch")
    return parameter is not None and parameter.default is parameter.empty


def check_head(argument: str, head: torch.nn.Module) -> None:
    """Raise where a head wants more than rows, and for graphs the batch and its size."""
    known = ("batch", *_SIZE_NAMES)
    needed = [
        name
        for name, one in forward_parameters(head).items()
        if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD) and name not in known
    ]
    needed = needed[1:]  # rows
    if needed:
        rule = "must be called with rows alone, or with rows and batch"
        raise InvalidArgument(argument, rule, got=f"{type(head).__name__}, which needs {', '.join(needed)} too")


def predict(head: torch.nn.Module, x: Tensor, batch: Tensor | None = None, num_graphs: int = 0) -> Tensor:
    """``head`` on rows, or on the graphs that ``batch`` tells apart; the number of graphs is passed if it asks for it."""
    if batch is None:
        out, expected = head(x), x.size(0)
        hint = "a head for graphs needs a parameter 'batch' without default, e.g. Pooled(torch.nn.Linear(16, 2))"
    else:
        parameters = forward_parameters(head)
        out = head(x, batch=batch, **{name: num_graphs for name in _SIZE_NAMES if name in parameters})
        expected, hint = num_graphs, "pool by batch, and take num_graphs to keep graphs without nodes"
    if not isinstance(out, Tensor) or out.dim() == 0 or out.size(0) != expected:
        what = "graph" if batch is not None else "row"
        got = tuple(out.shape) if isinstance(out, Tensor) else type(out).__name__
        raise InvalidArgument("head", f"must return one prediction per {what}, here {expected}", got=got, hint=hint)
    return out
