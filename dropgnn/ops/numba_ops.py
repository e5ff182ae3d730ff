"""The operations in compiled loops, on tensors that share their memory with the loops' arrays. See ``torch_ops.py``, where each
is a few lines of torch, for what they mean."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import torch
from torch import Tensor

from dropgnn.ops.kernels import products, subsets
from dropgnn.ops.kernels.parts import cut_pairs, cut_states
from dropgnn.ops.kernels.planning import colour_rows, group, refine, weigh
from dropgnn.ops.kernels.tensors import native
from dropgnn.ops.numba_functions import (
    Average,
    AverageCopies,
    BatchNorm,
    HearEdges,
    Linear,
    MaxSegments,
    Pairs,
    Pool,
    PoolProjected,
    SumSegments,
    TakeRows,
    arrays_of,
    index_arrays,
)

__all__ = [
    "average", "average_copies", "batch_norm", "colour_rows", "combine", "cut_pairs", "cut_states", "group", "hear",
    "hear_edges", "kinds_of_copies", "list_dropped", "max_segments", "native", "pool", "pool_projected", "refine",
    "sum_segments", "take_rows", "weigh",
]  # fmt: skip


def combine(x: Tensor, rows: int, row: Tensor, column: Tensor, value: Tensor) -> Tensor:
    return Linear.apply(x, rows, products.combine, products.combine_back, (row, column, value))


def hear(x: Tensor, own: Tensor, edge_ptr: Tensor, sender: Tensor, factor: float, mean: bool) -> Tensor:
    arguments = (own, edge_ptr, sender, factor, mean)
    return Linear.apply(x, own.numel(), products.hear, products.hear_back, arguments)


def hear_edges(
    x: Tensor, features: Tensor, own: Tensor, edge_ptr: Tensor, sender: Tensor, edge: Tensor, kind: Tensor,
    factor: float, mean: bool,
) -> Tensor:  # fmt: skip
    return HearEdges.apply(x, features, (own, edge_ptr, sender, edge, kind), factor, mean)


def take_rows(x: Tensor, index: Tensor) -> Tensor:
    if not (x.requires_grad and torch.is_grad_enabled()):
        return x.index_select(0, index)
    return TakeRows.apply(x.flatten(1), index).view(index.numel(), *x.shape[1:])


def sum_segments(x: Tensor, rows: int, ptr: Tensor, receiver: Tensor) -> Tensor:
    return SumSegments.apply(x.flatten(1), rows, ptr, receiver).view(rows, *x.shape[1:])


def max_segments(x: Tensor, rows: int, ptr: Tensor) -> Tensor:
    return MaxSegments.apply(x.flatten(1), rows, ptr).view(rows, *x.shape[1:])


def average(xs: Sequence[Tensor], pairs: Sequence[Pairs], copy_weight: Tensor) -> Tensor:
    return Average.apply(pairs, copy_weight, *xs)


def pool(
    xs: Sequence[Tensor], pairs: Sequence[Pairs], chosen: Tensor, graph_of_copy: Tensor, graph_of_node: Tensor, graphs: int
) -> tuple[Tensor, ...]:  # fmt: skip
    return Pool.apply(index_arrays(pairs, chosen, graph_of_copy, graph_of_node, graphs), chosen.numel(), *xs)


def pool_projected(
    xs: Sequence[Tensor], heads: Sequence[Sequence[Tensor]], pairs: Sequence[Pairs], chosen: Tensor,
    graph_of_copy: Tensor, graph_of_node: Tensor, graphs: int,
) -> tuple[Tensor, ...]:  # fmt: skip
    where = index_arrays(pairs, chosen, graph_of_copy, graph_of_node, graphs)
    return PoolProjected.apply(where, chosen.numel(), *xs, *chain.from_iterable(heads))


def average_copies(pooled: Tensor, kind: Tensor, graph_of_copy: Tensor, weight: Tensor, graphs: int) -> Tensor:
    return AverageCopies.apply(pooled, kind, graph_of_copy, weight, graphs)


def batch_norm(
    x: Tensor, weight: Tensor, gain: Tensor, bias: Tensor, eps: float, relu: bool
) -> tuple[Tensor, Tensor, Tensor]:
    return BatchNorm.apply(x, weight, gain, bias, eps, relu)


def kinds_of_copies(
    pairs: Pairs, graph_of_copy: Tensor, graph_of_node: Tensor, graphs: int
) -> tuple[Tensor, Tensor, Tensor]:
    copies = (graph_of_copy.numpy(), graph_of_node.numpy(), graphs)
    words, sizes = map(torch.from_numpy, products.count_states(*arrays_of(pairs)[:4], *copies))
    kind, chosen = colour_rows(words.unsqueeze(1))
    return chosen, sizes[chosen], kind


def list_dropped(chosen: Tensor, sizes: Tensor, r: Tensor) -> Tensor:
    return torch.from_numpy(subsets.list_dropped(*(tensor.contiguous().numpy() for tensor in (chosen, sizes, r))))
