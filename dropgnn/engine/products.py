"""The linear maps of a plan: what states hear, what runs average to, what copies add up to.

On the CPU they are compiled, with their transposes for the backward pass, so that nothing is built beforehand. On other
devices they are sums by index.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from dropgnn.engine.compiled import blocks, colour_rows
from dropgnn.engine.compiled import products as compiled
from dropgnn.engine.compiled.tensors import compiles
from dropgnn.engine.plan import Level, Pairs
from dropgnn.runs.runs import Runs


def combine(x: Tensor, rows: int, row: Tensor, column: Tensor, value: Tensor) -> Tensor:
    """The product of a sparse matrix, given as triples ``[K]``, with x; ``[rows, F]``."""
    if compiles(x):
        arguments = (row, column, value)
        return _Compiled.apply(x, rows, compiled.combine, compiled.combine_back, arguments)
    return _sum(value.to(x.dtype).unsqueeze(1) * x[column], row, rows)


def hear(x: Tensor, level: Level, *, own: float, mean: bool) -> Tensor:
    """``own`` times a state's own row below and the sum (or mean) of the rows it hears, ``[S_l, F]``."""
    if compiles(x):
        arguments = (level.own, level.edge_ptr, level.sender, own, mean)
        return _Compiled.apply(x, level.num_states, compiled.hear, compiled.hear_back, arguments)
    heard = _sum(x[level.sender], level.receiver, level.num_states)
    if mean:
        heard = heard / level.edge_ptr.diff().clamp(min=1).unsqueeze(1)
    return own * x[level.own] + heard


def average(xs: Sequence[Tensor], pairs: Sequence[Pairs], runs: Runs) -> Tensor:
    """For every node the weighted sum of its rows over all copies, slices ``[S_l, F_l]`` side by side: ``[N, F]``."""
    if all(map(compiles, xs)):
        return _Average.apply(pairs, runs.weight, *xs)
    summed = []
    for x, level in zip(xs, pairs, strict=True):
        node, state, weight = assignment(level, runs)
        summed.append(_sum(weight.to(x.dtype).unsqueeze(1) * x[state], node, level.base.numel()))
    return torch.cat(summed, dim=1)


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
        compiled.count_states(*_arrays(pairs)[:4], runs.graph.numpy(), graph_of_node.numpy(), runs.num_graphs),
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
    if all(map(compiles, tensors)) and len({tensor.dtype for tensor in tensors}) == 1:
        return _PoolProjected.apply(*where, *tensors)
    return tuple(
        torch.stack(_pool_rows([x @ weight.t() for x, weight in zip(xs, head, strict=True)], where)) for head in heads
    )


def _pool_rows(xs: Sequence[Tensor], where: Any) -> tuple[Tensor, ...]:
    if all(map(compiles, xs)):
        return _PoolRows.apply(*where, *xs)
    pairs, chosen, runs, graph_of_node = where
    return tuple(_pool_slice(x, level, runs, graph_of_node)[chosen] for x, level in zip(xs, pairs, strict=True))


def _pool_slice(y: Tensor, pairs: Pairs, runs: Runs, graph_of_node: Tensor) -> Tensor:
    there = pairs.label >= 0
    undropped = _sum(y[pairs.base], graph_of_node, runs.num_graphs)
    gained = _sum(y[pairs.label[there]], pairs.copy[there], runs.num_copies)
    lost = _sum(y[pairs.base[pairs.node]], pairs.copy, runs.num_copies)
    return undropped[runs.graph] + gained - lost


def average_copies(pooled: Tensor, copies: Copies, runs: Runs) -> Tensor:
    """The weighted mean over the copies of each graph, of kinds ``[L, D, out]``: ``[L, G, out]``."""
    if compiles(pooled):
        return _AverageCopies.apply(pooled, copies.kind, runs)
    total = runs.weight.new_zeros(runs.num_graphs).index_add(0, runs.graph, runs.weight)
    share = (runs.weight / total[runs.graph]).to(pooled.dtype).unsqueeze(1)
    means = pooled.new_zeros(pooled.size(0), runs.num_graphs, pooled.size(2))
    return means.index_add(1, runs.graph, share * pooled.index_select(1, copies.kind))


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


class _Average(torch.autograd.Function):
    """All slices in one function: on small batches the calls cost more than the sums."""

    @staticmethod
    def forward(ctx: Any, pairs: Sequence[Pairs], weight: Tensor, *xs: Tensor) -> Tensor:
        ctx.pairs, ctx.weight, ctx.sizes = pairs, weight.numpy(), [x.shape for x in xs]
        arrays = [
            compiled.average(x.contiguous().numpy(), level.base.numel(), *_arrays(level), ctx.weight)
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
            arrays = (part.contiguous().numpy(), rows, *_arrays(level), ctx.weight) if wanted else ()
            found.append(torch.from_numpy(compiled.average_back(*arrays)) if wanted else None)
        return None, None, *found


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
        slices, found = len(ctx.where), []
        for number, (gradient, where) in enumerate(zip(torch.cat(gradients, dim=2).numpy(), ctx.where, strict=True)):
            x, weight = ctx.saved_tensors[number::slices]
            projected = torch.from_numpy(compiled.pool_back(gradient, x.size(0), *where))
            to_x, to_weight = _project_back(projected, x, weight, wanted=ctx.needs_input_grad[4 + number])
            found.append((to_x, *to_weight.split(ctx.widths)))
        return None, None, None, None, *chain.from_iterable(zip(*found, strict=True))


def _where(pairs: Sequence[Pairs], chosen: Tensor, runs: Runs, graph_of_node: Tensor) -> list[tuple[Any, ...]]:
    """For every slice who is where, as compiled loops take it."""
    copies = (runs.graph.numpy(), graph_of_node.numpy(), runs.num_graphs)
    return [(chosen.numpy(), *_arrays(level)[:4], *copies) for level in pairs]


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


def _arrays(pairs: Pairs) -> tuple[Any, ...]:
    tensors = (pairs.base, pairs.ptr, pairs.node, pairs.label, pairs.share, pairs.rest)
    return tuple(tensor.numpy() for tensor in tensors)


def _sum(x: Tensor, row: Tensor, rows: int) -> Tensor:
    return x.new_zeros(rows, x.size(1)).index_add(0, row, x)
