"""The operations in compiled loops, on tensors that share their memory with the loops' arrays. See ``torch_ops.py``, where each
is a few lines of torch, for what they mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from dropgnn.ops.kernels import blocks, edge_features, norm, products, subsets
from dropgnn.ops.kernels.parts import cut_pairs, cut_states
from dropgnn.ops.kernels.planning import colour_rows, group, refine, weigh
from dropgnn.ops.kernels.tensors import native

__all__ = [
    "average", "average_copies", "batch_norm", "colour_rows", "combine", "cut_pairs", "cut_states", "group", "hear",
    "hear_edges", "kinds_of_copies", "list_dropped", "max_segments", "native", "pool", "pool_projected", "refine",
    "sum_segments", "take_rows", "weigh",
]  # fmt: skip

Pairs = tuple[Tensor, ...]


def combine(x: Tensor, rows: int, row: Tensor, column: Tensor, value: Tensor) -> Tensor:
    return _Linear.apply(x, rows, products.combine, products.combine_back, (row, column, value))


def hear(x: Tensor, own: Tensor, edge_ptr: Tensor, sender: Tensor, factor: float, mean: bool) -> Tensor:
    arguments = (own, edge_ptr, sender, factor, mean)
    return _Linear.apply(x, own.numel(), products.hear, products.hear_back, arguments)


def hear_edges(
    x: Tensor, features: Tensor, own: Tensor, edge_ptr: Tensor, sender: Tensor, edge: Tensor, kind: Tensor,
    factor: float, mean: bool,
) -> Tensor:  # fmt: skip
    return _HearEdges.apply(x, features, (own, edge_ptr, sender, edge, kind), factor, mean)


def take_rows(x: Tensor, index: Tensor) -> Tensor:
    if not (x.requires_grad and torch.is_grad_enabled()):
        return x.index_select(0, index)
    return _TakeRows.apply(x.flatten(1), index).view(index.numel(), *x.shape[1:])


def sum_segments(x: Tensor, rows: int, ptr: Tensor, receiver: Tensor) -> Tensor:
    return _SumSegments.apply(x.flatten(1), rows, ptr, receiver).view(rows, *x.shape[1:])


def max_segments(x: Tensor, rows: int, ptr: Tensor) -> Tensor:
    return _MaxSegments.apply(x.flatten(1), rows, ptr).view(rows, *x.shape[1:])


def average(xs: Sequence[Tensor], pairs: Sequence[Pairs], copy_weight: Tensor) -> Tensor:
    return _Average.apply(pairs, copy_weight, *xs)


def pool(
    xs: Sequence[Tensor], pairs: Sequence[Pairs], chosen: Tensor, graph_of_copy: Tensor, graph_of_node: Tensor, graphs: int
) -> tuple[Tensor, ...]:  # fmt: skip
    return _Pool.apply(_where(pairs, chosen, graph_of_copy, graph_of_node, graphs), chosen.numel(), *xs)


def pool_projected(
    xs: Sequence[Tensor], heads: Sequence[Sequence[Tensor]], pairs: Sequence[Pairs], chosen: Tensor,
    graph_of_copy: Tensor, graph_of_node: Tensor, graphs: int,
) -> tuple[Tensor, ...]:  # fmt: skip
    where = _where(pairs, chosen, graph_of_copy, graph_of_node, graphs)
    return _PoolProjected.apply(where, chosen.numel(), *xs, *chain.from_iterable(heads))


def average_copies(pooled: Tensor, kind: Tensor, graph_of_copy: Tensor, weight: Tensor, graphs: int) -> Tensor:
    return _AverageCopies.apply(pooled, kind, graph_of_copy, weight, graphs)


def batch_norm(
    x: Tensor, weight: Tensor, gain: Tensor, bias: Tensor, eps: float, relu: bool
) -> tuple[Tensor, Tensor, Tensor]:
    return _BatchNorm.apply(x, weight, gain, bias, eps, relu)


def kinds_of_copies(
    pairs: Pairs, graph_of_copy: Tensor, graph_of_node: Tensor, graphs: int
) -> tuple[Tensor, Tensor, Tensor]:
    copies = (graph_of_copy.numpy(), graph_of_node.numpy(), graphs)
    words, sizes = map(torch.from_numpy, products.count_states(*_arrays(pairs)[:4], *copies))
    kind, chosen = colour_rows(words.unsqueeze(1))
    return chosen, sizes[chosen], kind


def list_dropped(chosen: Tensor, sizes: Tensor, r: Tensor) -> Tensor:
    return torch.from_numpy(subsets.list_dropped(*(tensor.contiguous().numpy() for tensor in (chosen, sizes, r))))


def _arrays(pairs: Pairs) -> tuple[Any, ...]:
    return tuple(tensor.numpy() for tensor in pairs)


def _where(
    pairs: Sequence[Pairs], chosen: Tensor, graph_of_copy: Tensor, graph_of_node: Tensor, graphs: int
) -> list[Any]:
    """Index arrays of each slice, as arguments of the loops that pool."""
    copies = (graph_of_copy.numpy(), graph_of_node.numpy(), graphs)
    return [(chosen.numpy(), *_arrays(one)[:4], *copies) for one in pairs]


class _Linear(torch.autograd.Function):
    """A linear map and its transpose."""

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


class _HearEdges(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, features: Tensor, along: Any, factor: float, mean: bool) -> Tensor:
        x, features = x.contiguous(), features.contiguous()
        ctx.save_for_backward(x, features)
        ctx.arguments = (*(tensor.numpy() for tensor in along), factor, mean)
        return torch.from_numpy(edge_features.hear(x.detach().numpy(), features.detach().numpy(), *ctx.arguments))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        arrays = (tensor.detach().numpy() for tensor in (gradients[0].contiguous(), *ctx.saved_tensors))
        to_x, to_features = map(torch.from_numpy, edge_features.hear_back(*arrays, *ctx.arguments))
        return to_x, to_features, None, None, None


class _TakeRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, index: Tensor) -> Tensor:
        ctx.rows, ctx.index = x.size(0), index.numpy()
        return x.index_select(0, index)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return torch.from_numpy(products.add_rows(gradients[0].contiguous().numpy(), ctx.rows, ctx.index)), None


class _SumSegments(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, rows: int, ptr: Tensor, receiver: Tensor) -> Tensor:
        ctx.save_for_backward(receiver)
        return torch.from_numpy(products.sum_segments(x.detach().contiguous().numpy(), rows, ptr.numpy()))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        return gradients[0].index_select(0, ctx.saved_tensors[0]), None, None, None


class _MaxSegments(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, rows: int, ptr: Tensor) -> Tensor:
        x = x.contiguous()
        out = torch.from_numpy(products.max_segments(x.detach().numpy(), rows, ptr.numpy()))
        ctx.save_for_backward(x, out, ptr)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        arrays = (tensor.detach().numpy() for tensor in (gradients[0].contiguous(), *ctx.saved_tensors))
        return torch.from_numpy(products.max_segments_back(*arrays)), None, None


class _Average(torch.autograd.Function):
    """All slices in one function: on small batches the calls cost more than the sums."""

    @staticmethod
    def forward(ctx: Any, pairs: Sequence[Pairs], copy_weight: Tensor, *xs: Tensor) -> Tensor:
        ctx.pairs, ctx.weight, ctx.sizes = [_arrays(one) for one in pairs], copy_weight.numpy(), [x.shape for x in xs]
        arrays = [
            products.average(x.contiguous().numpy(), one[0].size, *one, ctx.weight)
            for x, one in zip(xs, ctx.pairs, strict=True)
        ]
        return torch.cat([torch.from_numpy(array) for array in arrays], dim=1)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        parts = gradients[0].split([width for _, width in ctx.sizes], dim=1)
        found: list[Tensor | None] = []
        for number, (part, one, (rows, _)) in enumerate(zip(parts, ctx.pairs, ctx.sizes, strict=True)):
            wanted = ctx.needs_input_grad[2 + number]
            arrays = (part.contiguous().numpy(), rows, *one, ctx.weight) if wanted else ()
            found.append(torch.from_numpy(products.average_back(*arrays)) if wanted else None)
        return None, None, *found


class _Pool(torch.autograd.Function):
    """All slices in one function."""

    @staticmethod
    def forward(ctx: Any, where: Sequence[Any], chosen: int, *xs: Tensor) -> tuple[Tensor, ...]:
        ctx.where, ctx.states = where, [x.size(0) for x in xs]
        out = [x.new_empty(chosen, x.size(1)) for x in xs]
        for part, x, here in zip(out, xs, where, strict=True):
            products.pool(part.numpy(), x.contiguous().numpy(), *here)
        return tuple(out)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        found = (
            products.pool_back(gradient.contiguous().numpy(), states, *here)
            for gradient, states, here in zip(gradients, ctx.states, ctx.where, strict=True)
        )
        return None, None, *map(torch.from_numpy, found)


class _PoolProjected(torch.autograd.Function):
    """All slices and all heads, which are narrow, in one function."""

    @staticmethod
    def forward(ctx: Any, where: Sequence[Any], chosen: int, *tensors: Tensor) -> tuple[Tensor, ...]:
        slices, ctx.where = len(where), where
        ctx.widths = [weight.size(0) for weight in tensors[slices::slices]]
        xs = [x.contiguous() for x in tensors[:slices]]
        weights = [torch.cat(list(tensors[slices + number :: slices])) for number in range(slices)]
        ctx.save_for_backward(*xs, *weights)
        out = torch.empty(slices, chosen, sum(ctx.widths), dtype=tensors[0].dtype)
        for part, x, weight, here in zip(out.numpy(), xs, weights, where, strict=True):
            products.pool(part, _project(x, weight).numpy(), *here)
        return tuple(part.contiguous() for part in out.split(ctx.widths, dim=2))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        slices, saved, found = len(ctx.where), ctx.saved_tensors, []  # asked for once: checkpoints recompute only once
        for number, (gradient, here) in enumerate(zip(torch.cat(gradients, dim=2).numpy(), ctx.where, strict=True)):
            x, weight = saved[number::slices]
            projected = torch.from_numpy(products.pool_back(gradient, x.size(0), *here))
            to_x, to_weight = _project_back(projected, x, weight, wanted=ctx.needs_input_grad[2 + number])
            found.append((to_x, *to_weight.split(ctx.widths)))
        return None, None, *chain.from_iterable(zip(*found, strict=True))


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
    def forward(ctx: Any, pooled: Tensor, kind: Tensor, graph_of_copy: Tensor, weight: Tensor, graphs: int) -> Tensor:
        ctx.kinds = pooled.size(1)
        ctx.arrays = (kind.numpy(), graph_of_copy.numpy(), weight.numpy(), graphs)
        return torch.from_numpy(products.average_copies(pooled.contiguous().numpy(), *ctx.arrays))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        found = products.average_copies_back(gradients[0].contiguous().numpy(), ctx.kinds, *ctx.arrays)
        return torch.from_numpy(found), None, None, None, None


class _BatchNorm(torch.autograd.Function):
    """In a few passes over the rows."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, gain: Tensor, bias: Tensor, eps: float, relu: bool
    ) -> tuple[Tensor, Tensor, Tensor]:
        x = x.contiguous()
        arrays = (tensor.detach().numpy() for tensor in (x, weight, gain, bias))
        out, mean, variance, scale, share = map(torch.from_numpy, norm.forward(*arrays, eps, relu))
        ctx.relu = relu
        kept = out if relu else x  # it is not read without a ReLU, and others may write on what leaves us
        ctx.save_for_backward(x, kept, share, mean, scale, gain)
        ctx.mark_non_differentiable(mean, variance)
        return out, mean, variance

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        tensors = (gradients[0].contiguous(), *ctx.saved_tensors)
        arrays = (tensor.detach().numpy() for tensor in tensors)
        to_x, to_gain, to_bias = map(torch.from_numpy, norm.backward(*arrays, ctx.relu))
        return to_x, None, to_gain, to_bias, None, None
