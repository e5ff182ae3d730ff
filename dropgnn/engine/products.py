"""The linear maps of a plan: what states hear, what runs average to, what copies add up to.

On the CPU they are compiled, with their transposes for the backward pass, so that nothing is built beforehand. On other
devices they are sums by index.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from dropgnn.engine import compiled_products
from dropgnn.engine.plan import Level, Pairs
from dropgnn.runs.runs import Runs


def combine(x: Tensor, rows: int, row: Tensor, column: Tensor, value: Tensor) -> Tensor:
    """The product of a sparse matrix, given as triples ``[K]``, with x; ``[rows, F]``."""
    if compiles(x):
        arguments = (row, column, value)
        return _Compiled.apply(x, rows, compiled_products.combine, compiled_products.combine_back, arguments)
    return _sum(value.to(x.dtype).unsqueeze(1) * x[column], row, rows)


def hear(x: Tensor, level: Level, *, own: float, mean: bool) -> Tensor:
    """``own`` times a state's own row below and the sum (or mean) of the rows it hears, ``[S_l, F]``."""
    if compiles(x):
        arguments = (level.own, level.edge_ptr, level.sender, own, mean)
        return _Compiled.apply(x, level.num_states, compiled_products.hear, compiled_products.hear_back, arguments)
    heard = _sum(x[level.sender], level.receiver, level.num_states)
    if mean:
        heard = heard / level.edge_ptr.diff().clamp(min=1).unsqueeze(1)
    return own * x[level.own] + heard


def average(x: Tensor, pairs: Pairs, runs: Runs) -> Tensor:
    """For every node the weighted sum of its rows over all copies, ``[N, F]``."""
    nodes = pairs.base.numel()
    if compiles(x):
        arguments = (pairs.base, pairs.ptr, pairs.node, pairs.label, pairs.share, pairs.rest, runs.weight)
        return _Compiled.apply(x, nodes, compiled_products.average, compiled_products.average_back, arguments)
    node, state, weight = assignment(pairs, runs)
    return _sum(weight.to(x.dtype).unsqueeze(1) * x[state], node, nodes)


def pool(x: Tensor, pairs: Pairs, runs: Runs, graph_of_node: Tensor) -> Tensor:
    """For every copy the sum of its nodes' rows, ``[C, F]``."""
    if compiles(x):
        arguments = (pairs.base, pairs.ptr, pairs.node, pairs.label, runs.graph, graph_of_node, runs.num_graphs)
        kernels = compiled_products.pool, compiled_products.pool_back
        return _Compiled.apply(x, runs.num_copies, *kernels, arguments)
    undropped = _sum(x[pairs.base], graph_of_node, runs.num_graphs)
    there = pairs.label >= 0
    gained = _sum(x[pairs.label[there]], pairs.copy[there], runs.num_copies)
    return undropped[runs.graph] + gained - _sum(x[pairs.base[pairs.node]], pairs.copy, runs.num_copies)


def project(x: Tensor, weight: Tensor) -> Tensor:
    """x ``[S, F]`` times the transpose of weight ``[out, F]``, for out much less than F."""
    return _Project.apply(x, weight)


def assignment(pairs: Pairs, runs: Runs) -> tuple[Tensor, Tensor, Tensor]:
    """(node, state, weight) of everything of positive weight that a node averages over."""
    share = pairs.share if pairs.share.numel() else runs.weight[pairs.copy]
    listed, others = (pairs.label >= 0) & (share > 0), pairs.rest > 0
    return (
        torch.cat([pairs.node[listed], others.nonzero().squeeze(1)]),
        torch.cat([pairs.label[listed], pairs.base[others]]),
        torch.cat([share[listed], pairs.rest[others]]),
    )


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


class _Project(torch.autograd.Function):
    """A product with few columns, multiplied in the orders in which BLAS is several times faster than in others."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return (weight @ x.t()).t().contiguous()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        x, weight = ctx.saved_tensors
        return gradients[0] @ weight, gradients[0].t() @ x


def compiles(x: Tensor) -> bool:
    """Whether compiled loops can take these rows."""
    return x.is_cpu and x.dtype in (torch.float32, torch.float64)


def _sum(x: Tensor, row: Tensor, rows: int) -> Tensor:
    return x.new_zeros(rows, x.size(1)).index_add(0, row, x)
