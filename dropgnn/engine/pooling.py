"""Sums over the nodes of a copy, and averages over the copies of a node or a graph.

Copies that look alike are added up once, rows are projected first where a linear head comes next.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import torch
from torch import Tensor

from dropgnn.engine.plan import Pairs
from dropgnn.ops import ops_for
from dropgnn.runs.runs import Runs


class Copies(NamedTuple):
    """Copies whose nodes are in the same states, as often, add up to the same.

    Shapes:
        chosen ``[D]``: one copy of each kind; size ``[D]``: its number of nodes; kind ``[C]``: every copy's.
    """

    chosen: Tensor
    size: Tensor
    kind: Tensor


def alike_copies(pairs: Pairs, runs: Runs, graph_of_node: Tensor) -> Copies:
    """The kinds of copies, by the states after the last layer, which tell those below."""
    ops = ops_for(pairs.base, pairs.work)
    return Copies(*ops.kinds_of_copies(pairs.tensors, runs.graph, graph_of_node, runs.num_graphs))


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
    where = ([one.tensors for one in pairs], chosen, runs.graph, graph_of_node, runs.num_graphs)
    linear, work = [head for head in heads if head], pairs[-1].work
    tensors = (*xs, *chain.from_iterable(linear))
    projected = iter(ops_for(tensors, work).pool_projected(xs, linear, *where) if linear else ())
    whole = torch.cat(ops_for(xs, work).pool(xs, *where), dim=1).unsqueeze(0) if len(linear) < len(heads) else None
    return tuple(next(projected) if head or whole is None else whole for head in heads)


def average_copies(pooled: Tensor, copies: Copies, runs: Runs) -> Tensor:
    """The weighted mean over the copies of each graph, of kinds ``[L, D, out]``: ``[L, G, out]``."""
    ops = ops_for(pooled, pooled.size(1) * runs.num_copies)
    return ops.average_copies(pooled, copies.kind, runs.graph, runs.weight, runs.num_graphs)


def average(xs: Sequence[Tensor], pairs: Sequence[Pairs], runs: Runs) -> Tensor:
    """For every node the weighted sum of its rows over all copies, slices ``[S_l, F_l]`` side by side: ``[N, F]``."""
    return ops_for(xs, pairs[-1].work).average(xs, [one.tensors for one in pairs], runs.weight)


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
