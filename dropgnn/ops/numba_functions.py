"""The differentiable operations of ``numba_ops.py``: compiled loops forth and back, as functions of autograd."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from dropgnn.ops.kernels import blocks, edge_features, norm, products

Pairs = tuple[Tensor, ...]


def arrays_of(pairs: Pairs) -> tuple[Any, ...]:
    return tuple(tensor.numpy() for tensor in pairs)


def index_arrays(
    pairs: Sequence[Pairs], chosen: Tensor, graph_of_copy: Tensor, graph_of_node: Tensor, graphs: int
) -> list[Any]:
    """Index arrays of each slice, as arguments of the loops that pool."""
    copies = (graph_of_copy.numpy(), graph_of_node.numpy(), graphs)
    return [(chosen.numpy(), *arrays_of(one)[:4], *copies) for one in pairs]


class Linear(torch.autograd.Function):
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


class HearEdges(torch.autograd.Function):
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


class TakeRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, index: Tensor) -> Tensor:
        ctx.rows, ctx.index = x.size(0), index.numpy()
        return x.index_select(0, index)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return torch.from_numpy(products.add_rows(gradients[0].contiguous().numpy(), ctx.rows, ctx.index)), None


class SumSegments(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, rows: int, ptr: Tensor, receiver: Tensor) -> Tensor:
        ctx.save_for_backward(receiver)
        return torch.from_numpy(products.sum_segments(x.detach().contiguous().numpy(), rows, ptr.numpy()))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None, None]:
        return gradients[0].index_select(0, ctx.saved_tensors[0]), None, None, None


class MaxSegments(torch.autograd.Function):
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


class Average(torch.autograd.Function):
    """All slices in one function: on small batches the calls cost more than the sums."""

    @staticmethod
    def forward(ctx: Any, pairs: Sequence[Pairs], copy_weight: Tensor, *xs: Tensor) -> Tensor:
        ctx.pairs, ctx.weight, ctx.sizes = [arrays_of(one) for one in pairs], copy_weight.numpy(), [x.shape for x in xs]
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


class Pool(torch.autograd.Function):
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


class PoolProjected(torch.autograd.Function):
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


class AverageCopies(torch.autograd.Function):
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


class BatchNorm(torch.autograd.Function):
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
