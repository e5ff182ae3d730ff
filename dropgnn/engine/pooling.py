"""What the nodes of a copy add up to, and what the copies of a graph average to.

Copies that look alike are added up once, rows are projected first where a linear head comes next.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from dropgnn.engine.plan import Pairs
from dropgnn.engine.products import arrays_of, sum_rows
from dropgnn.ops.compiled import blocks, colour_rows
from dropgnn.ops.compiled import products as compiled
from dropgnn.ops.compiled.tensors import compiles
from dropgnn.runs.runs import Runs


class Copies(NamedTuple):
    """Copies whose nodes are in the same states, as often, add up to the same.

    Shapes:
        chosen ``[D]``: one copy of each kind; size ``[D]``: its number of nodes; kind ``[C]``: every copy's.
    """

    chosen: Tensor
    size: Tensor
    kind: Tensor


def every_copy(pairs: Pairs, runs: Runs, graph_of_node: Tensor) -> Copies:
    """Every copy as one of its own kind."""
    every = torch.arange(runs.num_copies, device=graph_of_node.device)
    absent = torch.bincount(pairs.copy[pairs.label < 0], minlength=runs.num_copies)
    nodes = torch.bincount(graph_of_node, minlength=runs.num_graphs)
    return Copies(every, nodes[runs.graph] - absent, every)


def distinct_copies(pairs: Pairs, runs: Runs, graph_of_node: Tensor) -> Copies:
    """The kinds of copies, by the states after the last layer, which tell those below; on the CPU."""
    words, sizes = map(
        torch.from_numpy,
        compiled.count_states(*arrays_of(pairs)[:4], runs.graph.numpy(), graph_of_node.numpy(), runs.num_graphs),
    )
    kind, chosen = colour_rows(words.unsqueeze(1))
    return Copies(chosen, sizes[chosen], kind)


def pool(
    xs: Sequence[Tensor],
    heads: Sequence[Sequence[Tensor]],
    pairs: Sequence[Pairs],
    chosen: Tensor,
    runs: Runs,
    graph_of_node: Tensor,
) -> tuple[Tensor, ...]:
    """For every head, slice and chosen copy the sum of its nodes' rows, projected by ``[out, F_l]`` first: ``[L, D, out]``. Heads
    that project nothing have the slices side by side: ``[1, D, F]``."""
    where = (pairs, chosen, runs, graph_of_node)
    linear = [head for head in heads if head]
    projected = iter(_pool_projected(xs, linear, where) if linear else ())
    whole = torch.cat(_pool_rows(xs, where), dim=1).unsqueeze(0) if len(linear) < len(heads) else None
    return tuple(next(projected) if head or whole is None else whole for head in heads)


def _pool_projected(xs: Sequence[Tensor], heads: Sequence[Sequence[Tensor]], where: Any) -> tuple[Tensor, ...]:
    tensors = (*xs, *chain.from_iterable(heads))
    work = where[0][-1].work
    if all(compiles(tensor, work) for tensor in tensors) and len({tensor.dtype for tensor in tensors}) == 1:
        return _PoolProjected.apply(*where, *tensors)
    return tuple(
        torch.stack(_pool_rows([x @ weight.t() for x, weight in zip(xs, head, strict=True)], where)) for head in heads
    )


def _pool_rows(xs: Sequence[Tensor], where: Any) -> tuple[Tensor, ...]:
    pairs, chosen, runs, graph_of_node = where
    if all(compiles(x, level.work) for x, level in zip(xs, pairs, strict=True)):
        return _PoolRows.apply(*where, *xs)
    return tuple(_pool_slice(x, level, runs, graph_of_node)[chosen] for x, level in zip(xs, pairs, strict=True))


def _pool_slice(y: Tensor, pairs: Pairs, runs: Runs, graph_of_node: Tensor) -> Tensor:
    there, usual, changed = pairs.label >= 0, pairs.base >= 0, pairs.base[pairs.node] >= 0
    undropped = sum_rows(y[pairs.base[usual]], graph_of_node[usual], runs.num_graphs)
    gained = sum_rows(y[pairs.label[there]], pairs.copy[there], runs.num_copies)
    lost = sum_rows(y[pairs.base[pairs.node[changed]]], pairs.copy[changed], runs.num_copies)
    return undropped[runs.graph] + gained - lost


def average_copies(pooled: Tensor, copies: Copies, runs: Runs) -> Tensor:
    """The weighted mean over the copies of each graph, of kinds ``[L, D, out]``: ``[L, G, out]``."""
    if compiles(pooled, pooled.size(1) * runs.num_copies):
        return _AverageCopies.apply(pooled, copies.kind, runs)
    total = runs.weight.new_zeros(runs.num_graphs).index_add(0, runs.graph, runs.weight)
    share = (runs.weight / total[runs.graph]).to(pooled.dtype).unsqueeze(1)
    means = pooled.new_zeros(pooled.size(0), runs.num_graphs, pooled.size(2))
    return means.index_add(1, runs.graph, share * pooled.index_select(1, copies.kind))


class _PoolRows(torch.autograd.Function):
    """All slices in one function."""

    @staticmethod
    def forward(
        ctx: Any, pairs: Sequence[Pairs], chosen: Tensor, runs: Runs, graph_of_node: Tensor, *xs: Tensor
    ) -> tuple[Tensor, ...]:
        ctx.where, ctx.states = _where(pairs, chosen, runs, graph_of_node), [x.size(0) for x in xs]
        out = [x.new_empty(chosen.numel(), x.size(1)) for x in xs]
        for part, x, where in zip(out, xs, ctx.where, strict=True):
            compiled.pool(part.numpy(), x.contiguous().numpy(), *where)
        return tuple(out)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        found = (
            compiled.pool_back(gradient.contiguous().numpy(), states, *where)
            for gradient, states, where in zip(gradients, ctx.states, ctx.where, strict=True)
        )
        return None, None, None, None, *map(torch.from_numpy, found)


class _PoolProjected(torch.autograd.Function):
    """All slices and all heads, which are narrow, in one function."""

    @staticmethod
    def forward(
        ctx: Any, pairs: Sequence[Pairs], chosen: Tensor, runs: Runs, graph_of_node: Tensor, *tensors: Tensor
    ) -> tuple[Tensor, ...]:
        slices, ctx.where = len(pairs), _where(pairs, chosen, runs, graph_of_node)
        ctx.widths = [weight.size(0) for weight in tensors[slices::slices]]
        xs = [x.contiguous() for x in tensors[:slices]]
        weights = [torch.cat(list(tensors[slices + number :: slices])) for number in range(slices)]
        ctx.save_for_backward(*xs, *weights)
        out = torch.empty(slices, chosen.numel(), sum(ctx.widths), dtype=tensors[0].dtype)
        for part, x, weight, where in zip(out.numpy(), xs, weights, ctx.where, strict=True):
            compiled.pool(part, _project(x, weight).numpy(), *where)
        return tuple(part.contiguous() for part in out.split(ctx.widths, dim=2))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        slices, saved, found = len(ctx.where), ctx.saved_tensors, []  # asked for once: checkpoints recompute only once
        for number, (gradient, where) in enumerate(zip(torch.cat(gradients, dim=2).numpy(), ctx.where, strict=True)):
            x, weight = saved[number::slices]
            projected = torch.from_numpy(compiled.pool_back(gradient, x.size(0), *where))
            to_x, to_weight = _project_back(projected, x, weight, wanted=ctx.needs_input_grad[4 + number])
            found.append((to_x, *to_weight.split(ctx.widths)))
        return None, None, None, None, *chain.from_iterable(zip(*found, strict=True))


def _where(pairs: Sequence[Pairs], chosen: Tensor, runs: Runs, graph_of_node: Tensor) -> list[tuple[Any, ...]]:
    """For every slice who is where, as compiled loops take it."""
    copies = (runs.graph.numpy(), graph_of_node.numpy(), runs.num_graphs)
    return [(chosen.numpy(), *arrays_of(level)[:4], *copies) for level in pairs]


def _project(x: Tensor, weight: Tensor) -> Tensor:
    small = weight.numel() <= blocks.LARGEST
    return torch.from_numpy(blocks.map_rows(x.numpy(), weight.numpy())) if small else x @ weight.t()


def _project_back(gradient: Tensor, x: Tensor, weight: Tensor, *, wanted: bool) -> tuple[Tensor | None, Tensor]:
    """Gradients of the rows, where they are wanted, and of the weight."""
    if weight.numel() > blocks.LARGEST:
        return gradient @ weight if wanted else None, gradient.t() @ x
    arriving = torch.zeros_like(x) if wanted else x[:0]
    to_x, to_weight = blocks.map_back(*(tensor.numpy() for tensor in (gradient, x, weight, arriving)))
    return torch.from_numpy(to_x) if wanted else None, torch.from_numpy(to_weight)


class _AverageCopies(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, pooled: Tensor, kind: Tensor, runs: Runs) -> Tensor:
        ctx.kinds = pooled.size(1)
        ctx.arrays = (kind.numpy(), runs.graph.numpy(), runs.weight.numpy(), runs.num_graphs)
        return torch.from_numpy(compiled.average_copies(pooled.numpy(), *ctx.arrays))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        found = compiled.average_copies_back(gradients[0].contiguous().numpy(), ctx.kinds, *ctx.arrays)
        return torch.from_numpy(found), None, None
