"""The linear maps of a plan: what states hear, what runs average to.

On the CPU they are compiled, with their transposes for the backward pass, so that nothing is built beforehand. On other
devices they are sums by index.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from dropgnn.engine.plan import Level, Pairs
from dropgnn.ops.compiled import products as compiled
from dropgnn.ops.compiled.tensors import compiles
from dropgnn.runs.runs import Runs


def combine(x: Tensor, rows: int, row: Tensor, column: Tensor, value: Tensor, *, work: int) -> Tensor:
    """The product of a sparse matrix, given as triples ``[K]``, with x; ``[rows, F]``. ``work`` is the plan's."""
    if compiles(x, work):
        arguments = (row, column, value)
        return _Compiled.apply(x, rows, compiled.combine, compiled.combine_back, arguments)
    return sum_rows(value.to(x.dtype).unsqueeze(1) * x[column], row, rows)


def take_rows(x: Tensor, index: Tensor, work: int) -> Tensor:
    """The rows of x that ``index [K]`` names; ``work`` is the plan's."""
    if not (x.requires_grad and torch.is_grad_enabled() and x.dim() == 2 and compiles(x, work)):
        return x.index_select(0, index)
    return _TakeRows.apply(x, index)


def hear(x: Tensor, level: Level, *, own: float, mean: bool) -> Tensor:
    """``own`` times a state's own row below and the sum (or mean) of the rows it hears, ``[S_l, F]``."""
    if compiles(x, level.pairs.work):
        arguments = (level.own, level.edge_ptr, level.sender, own, mean)
        return _Compiled.apply(x, level.num_states, compiled.hear, compiled.hear_back, arguments)
    heard = sum_rows(x[level.sender], level.receiver, level.num_states)
    if mean:
        heard = heard / level.edge_ptr.diff().clamp(min=1).unsqueeze(1)
    return own * x[level.own] + heard


def average(xs: Sequence[Tensor], pairs: Sequence[Pairs], runs: Runs) -> Tensor:
    """For every node the weighted sum of its rows over all copies, slices ``[S_l, F_l]`` side by side: ``[N, F]``."""
    if all(compiles(x, level.work) for x, level in zip(xs, pairs, strict=True)):
        return _Average.apply(pairs, runs.weight, *xs)
    summed = []
    for x, level in zip(xs, pairs, strict=True):
        node, state, weight = assignment(level, runs)
        summed.append(sum_rows(weight.to(x.dtype).unsqueeze(1) * x[state], node, level.base.numel()))
    return torch.cat(summed, dim=1)


def assignment(pairs: Pairs, runs: Runs) -> tuple[Tensor, Tensor, Tensor]:
    """(node, state, weight) of everything of positive weight that a node averages over: listed pairs, and all others at once."""
    share, listed, others = _counting(pairs, runs)
    return (
        torch.cat([pairs.node[listed], others.nonzero().squeeze(1)]),
        torch.cat([pairs.label[listed], pairs.base[others]]),
        torch.cat([share[listed], pairs.rest[others]]),
    )


def multiplicity(pairs: Pairs, runs: Runs, graph_of_node: Tensor) -> Tensor:
    """How many copies of positive weight every entry of :func:`assignment` stands for."""
    share, listed, others = _counting(pairs, runs)
    if runs.shares is None:
        copies = torch.bincount(runs.graph[runs.weight > 0], minlength=runs.num_graphs)[graph_of_node]
    else:
        copies = torch.bincount(runs.shares.node[runs.shares.weight > 0], minlength=graph_of_node.numel())
    left = copies - torch.bincount(pairs.node[share > 0], minlength=graph_of_node.numel())
    return torch.cat([torch.ones_like(left[:1]).expand(int(listed.sum())), left[others]])


def _counting(pairs: Pairs, runs: Runs) -> tuple[Tensor, Tensor, Tensor]:
    """How much every pair counts; which pairs do; and for which nodes copies do that do not list them."""
    share = pairs.share if pairs.share.numel() else runs.weight[pairs.copy]
    return share, (pairs.label >= 0) & (share > 0), pairs.rest > 0


class _Compiled(torch.autograd.Function):
    """A compiled linear map and its transpose."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, rows: int, there: Callable[..., Any], back: Callable[..., Any], arguments: Any
    ) -> Tensor:
        ctx.rows, ctx.back = x.size(0), back
        ctx.arguments = [value.numpy() if isinstance(value, Tensor) else value for value in arguments]
        return torch.from_numpy(there(x.detach().contiguous().numpy(), rows, *ctx.arguments))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None, None]:
        found = ctx.back(gradients[0].contiguous().numpy(), ctx.rows, *ctx.arguments)
        return torch.from_numpy(found), None, None, None, None


class _TakeRows(torch.autograd.Function):
    """Rows by number; on their way back gradients are summed in a compiled loop."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, index: Tensor) -> Tensor:
        ctx.rows, ctx.index = x.size(0), index.numpy()
        return x.index_select(0, index)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return torch.from_numpy(compiled.add_rows(gradients[0].contiguous().numpy(), ctx.rows, ctx.index)), None


class _Average(torch.autograd.Function):
    """All slices in one function: on small batches the calls cost more than the sums."""

    @staticmethod
    def forward(ctx: Any, pairs: Sequence[Pairs], weight: Tensor, *xs: Tensor) -> Tensor:
        ctx.pairs, ctx.weight, ctx.sizes = pairs, weight.numpy(), [x.shape for x in xs]
        arrays = [
            compiled.average(x.contiguous().numpy(), level.base.numel(), *arrays_of(level), ctx.weight)
            for x, level in zip(xs, pairs, strict=True)
        ]
        return torch.cat([torch.from_numpy(array) for array in arrays], dim=1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        parts = gradients[0].split([width for _, width in ctx.sizes], dim=1)
        found: list[Tensor | None] = []
        for number, (part, level, (rows, _)) in enumerate(zip(parts, ctx.pairs, ctx.sizes, strict=True)):
            wanted = ctx.needs_input_grad[2 + number]
            arrays = (part.contiguous().numpy(), rows, *arrays_of(level), ctx.weight) if wanted else ()
            found.append(torch.from_numpy(compiled.average_back(*arrays)) if wanted else None)
        return None, None, *found


def arrays_of(pairs: Pairs) -> tuple[Any, ...]:
    """As compiled loops take them."""
    tensors = (pairs.base, pairs.ptr, pairs.node, pairs.label, pairs.share, pairs.rest)
    return tuple(tensor.numpy() for tensor in tensors)


def sum_rows(x: Tensor, row: Tensor, rows: int) -> Tensor:
    """Of all rows with the same number, ``[rows, F]``."""
    return x.new_zeros(rows, x.size(1)).index_add(0, row, x)
