"""The operations in torch, for any device and dtype, and what they mean. ``numba_ops.py`` has the same in compiled loops.

A *pairs* argument is ``(base, ptr, node, label, share, rest)`` as in ``engine/plan.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from dropgnn.graph import offsets
from dropgnn.ops.hashing import mix_words
from dropgnn.ops.torch_norm import TorchNorm
from dropgnn.ops.torch_planning import colour_rows, cut_pairs, cut_states, group, native, refine, weigh

__all__ = [
    "average", "average_copies", "batch_norm", "colour_rows", "combine", "cut_pairs", "cut_states", "group", "hear",
    "hear_edges", "kinds_of_copies", "list_dropped", "max_segments", "native", "pool", "pool_projected", "refine",
    "sum_segments", "take_rows", "weigh",
]  # fmt: skip

Pairs = tuple[Tensor, ...]


def combine(x: Tensor, rows: int, row: Tensor, column: Tensor, value: Tensor) -> Tensor:
    """The product of a sparse matrix, given as triples ``[K]``, with x; ``[rows, F]``."""
    return _sum_rows(value.to(x.dtype).unsqueeze(1) * x[column], row, rows)


def hear(x: Tensor, own: Tensor, edge_ptr: Tensor, sender: Tensor, factor: float, mean: bool) -> Tensor:
    """``factor`` times a state's own row below and the sum, or the mean, of the rows it hears, ``[S, F]``."""
    return factor * x[own] + _heard(x[sender], edge_ptr, mean)


def hear_edges(
    x: Tensor, features: Tensor, own: Tensor, edge_ptr: Tensor, sender: Tensor, edge: Tensor, kind: Tensor,
    factor: float, mean: bool,
) -> Tensor:  # fmt: skip
    """As :func:`hear`, with :math:`\\mathrm{ReLU}(x + e)` arriving; ``kind[edge]`` is the row of features that an edge has."""
    return factor * x[own] + _heard((x[sender] + features[kind[edge.long()].long()]).relu(), edge_ptr, mean)


def take_rows(x: Tensor, index: Tensor) -> Tensor:
    """The rows of x that ``index [K]`` names."""
    return x.index_select(0, index)


def sum_segments(x: Tensor, rows: int, ptr: Tensor, receiver: Tensor) -> Tensor:
    """Sum consecutive rows, ``ptr[i]`` to ``ptr[i + 1]``, into the last of so many; ``receiver`` is where each goes."""
    return x.new_zeros(rows, *x.shape[1:]).index_add(0, receiver, x)


def max_segments(x: Tensor, rows: int, ptr: Tensor) -> Tensor:
    """As :func:`sum_segments`, the largest entries; zeros where there are none. Ties share the gradient."""
    receiver = (
        rows - ptr.numel() + 1 + torch.repeat_interleave(ptr.diff()).long()
    )  # gradients of int32 are wrong in torch
    index = receiver.view(-1, *[1] * (x.dim() - 1)).expand_as(x)
    return x.new_zeros(rows, *x.shape[1:]).scatter_reduce(0, index, x, "amax", include_self=False)


def average(xs: Sequence[Tensor], pairs: Sequence[Pairs], copy_weight: Tensor) -> Tensor:
    """For every node the weighted sum of its rows over all copies, slices ``[S_l, F_l]`` side by side: ``[N, F]``."""
    summed = []
    for x, (base, ptr, node, label, share, rest) in zip(xs, pairs, strict=True):
        share = share if share.numel() else copy_weight[torch.repeat_interleave(ptr.diff())]
        listed, others = (label >= 0) & (share > 0), rest > 0
        row = torch.cat([node[listed], others.nonzero().squeeze(1)])
        state = torch.cat([label[listed], base[others]])
        value = torch.cat([share[listed], rest[others]])
        summed.append(combine(x, base.numel(), row, state, value))
    return torch.cat(summed, dim=1)


def pool(
    xs: Sequence[Tensor], pairs: Sequence[Pairs], chosen: Tensor, graph_of_copy: Tensor, graph_of_node: Tensor, graphs: int
) -> tuple[Tensor, ...]:  # fmt: skip
    """For every slice and chosen copy the sum of its nodes' rows, ``[D, F_l]``: that of the undropped graph, and what differs
    in the copy."""
    found = []
    for x, (base, ptr, node, label, *_) in zip(xs, pairs, strict=True):
        copy, there, usual, changed = torch.repeat_interleave(ptr.diff()), label >= 0, base >= 0, base[node] >= 0
        undropped = _sum_rows(x[base[usual]], graph_of_node[usual], graphs)
        gained = _sum_rows(x[label[there]], copy[there], graph_of_copy.numel())
        lost = _sum_rows(x[base[node[changed]]], copy[changed], graph_of_copy.numel())
        found.append((undropped[graph_of_copy] + gained - lost)[chosen])
    return tuple(found)


def pool_projected(
    xs: Sequence[Tensor], heads: Sequence[Sequence[Tensor]], pairs: Sequence[Pairs], chosen: Tensor,
    graph_of_copy: Tensor, graph_of_node: Tensor, graphs: int,
) -> tuple[Tensor, ...]:  # fmt: skip
    """As :func:`pool`, each slice projected by ``[out, F_l]`` first: ``[L, D, out]`` for every head."""
    where = (pairs, chosen, graph_of_copy, graph_of_node, graphs)
    return tuple(
        torch.stack(pool([x @ weight.t() for x, weight in zip(xs, head, strict=True)], *where)) for head in heads
    )


def average_copies(pooled: Tensor, kind: Tensor, graph_of_copy: Tensor, weight: Tensor, graphs: int) -> Tensor:
    """The weighted mean over the copies of each graph, of kinds ``[L, D, out]``: ``[L, G, out]``."""
    total = weight.new_zeros(graphs).index_add(0, graph_of_copy, weight)
    share = (weight / total[graph_of_copy]).to(pooled.dtype).unsqueeze(1)
    means = pooled.new_zeros(pooled.size(0), graphs, pooled.size(2))
    return means.index_add(1, graph_of_copy, share * pooled.index_select(1, kind))


def batch_norm(
    x: Tensor, weight: Tensor, gain: Tensor, bias: Tensor, eps: float, relu: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """Batch norm of rows that count ``weight [M]``, and a ReLU if asked; the mean and the variance it has seen."""
    return TorchNorm.apply(x, weight, gain, bias, eps, relu)


def kinds_of_copies(
    pairs: Pairs, graph_of_copy: Tensor, graph_of_node: Tensor, graphs: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Copies whose nodes are in the same states, as often: one copy of each kind, its number of nodes, and every copy's kind."""
    base, ptr, node, label = pairs[:4]
    copy, there = torch.repeat_interleave(ptr.diff()), label >= 0
    usual, nodes = mix_words(base.long()), torch.bincount(graph_of_node, minlength=graphs)
    word = usual.new_zeros(graphs).index_add(0, graph_of_node, usual)[graph_of_copy]
    word = word.index_add(0, copy, -usual[node]).index_add(0, copy[there], mix_words(label[there].long()))
    sizes = nodes[graph_of_copy] - torch.bincount(copy[~there], minlength=graph_of_copy.numel())
    kind, chosen = colour_rows(word.unsqueeze(1))
    return chosen, sizes[chosen], kind


def list_dropped(chosen: Tensor, sizes: Tensor, r: Tensor) -> Tensor:
    """Pairs (copy, item counted within its graph) of what was chosen; see ``runs/dropped.py``."""
    graph = torch.repeat_interleave(torch.arange(sizes.numel(), device=sizes.device), sizes)
    item, run = chosen.nonzero(as_tuple=True)
    asked = run < r[graph[item]]
    item, run = item[asked], run[asked]
    copy = offsets(r)[graph[item]] + run
    order = copy.argsort(stable=True)
    return torch.stack([copy[order], (item - offsets(sizes)[graph[item]])[order]])


def _heard(arriving: Tensor, edge_ptr: Tensor, mean: bool) -> Tensor:
    """The sum, or the mean, of what arrives at each state."""
    states = edge_ptr.numel() - 1
    total = sum_segments(arriving, states, edge_ptr, torch.repeat_interleave(edge_ptr.diff()))
    return total / edge_ptr.diff().clamp(min=1).unsqueeze(1) if mean else total


def _sum_rows(x: Tensor, row: Tensor, rows: int) -> Tensor:
    """Sum rows that share an index, ``[rows, F]``."""
    return x.new_zeros(rows, x.size(1)).index_add(0, row, x)
