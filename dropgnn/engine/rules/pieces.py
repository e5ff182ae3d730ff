r"""Edge networks with one hidden layer of ReLUs: few matrices say it all.

Such a network is piecewise linear. Between its kinks it is :math:`W(e) = B + \sum_c e_c\, Q_c` in the features c that vary
from edge to edge, a distance, say, and edges that agree in all others, the type of a bond, have B and Q in common as long as they
lie on the same piece. Then :math:`x\,W(e) = x\,B + \sum_c e_c\, x\,Q_c`, and matrices are needed for pieces, not for edges.
Nothing is approximated.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import linear
from torch_geometric.nn import NNConv

from dropgnn.engine.incidence import words
from dropgnn.ops import numba_ops, ops_for
from dropgnn.ops.numba_ops import colour_rows

VARIES = 16
"""A feature varies that has more values than this."""

WORD = 32
"""Bits of a hidden layer that go into one word."""


class Features(NamedTuple):
    """The distinct features of the edges of a batch, and those among them that vary.

    Shapes:
        fixed ``[W, D]``: features with zeros for those that vary; alike ``[W]``: a number for each distinct row of them;
        varying ``[C]``: numbers of those that vary; value ``[C, W]``: what they are.
    """

    fixed: Tensor
    alike: Tensor
    varying: Tensor
    value: Tensor

    @classmethod
    def of(cls, rows: Tensor) -> Features:
        found = [number for number, column in enumerate(rows.t()) if column.unique().numel() > VARIES]
        varying = torch.tensor(found, dtype=torch.long)
        fixed = rows.index_fill(1, varying, 0.0)
        return cls(fixed, colour_rows(words(fixed))[0], varying, rows.t()[varying])


class Pieces(NamedTuple):
    """What an edge network says about the edges of a batch.

    Shapes:
        matrices ``[G, in, (1 + C) out]``: B and all Q side by side for every piece; piece ``[W]``: the one each edge lies on;
        value ``[C, W]``: as in ``Features``.
    """

    matrices: Tensor
    piece: Tensor
    value: Tensor


def pieces_of(conv: NNConv, x: Tensor, features: Features, work: int) -> Pieces | None:
    """The pieces of a layer's network, or ``None`` where it is not of this form, or they would not be fewer matrices.

    ``work`` is the plan's.
    """
    if ops_for(x, work) is not numba_ops or not _is_piecewise_linear(conv.nn):
        return None
    first, _, last = conv.nn
    if first.weight.dtype != x.dtype or last.weight.dtype != x.dtype:
        return None
    slope = first.weight.t()[features.varying]
    still = linear(features.fixed, first.weight, first.bias)
    with torch.no_grad():
        active = torch.addmm(still, features.value.t(), slope) > 0
    piece, example = colour_rows(torch.cat([features.alike.long().unsqueeze(1), _packed(active)], dim=1))
    parts = 1 + features.varying.numel()
    if 2 * parts * example.numel() > piece.numel():  # half as many, or sorting rows by piece does not pay
        return None
    on = active[example].to(x.dtype)
    base = linear(on * still[example], last.weight, last.bias)
    slopes = linear(on.unsqueeze(1) * slope, last.weight)
    matrices = torch.cat([base.unsqueeze(1), slopes], dim=1).unflatten(2, (x.size(1), conv.out_channels))
    return Pieces(matrices.transpose(1, 2).flatten(2), piece, features.value)


def _is_piecewise_linear(network: torch.nn.Module) -> bool:
    kinds = (torch.nn.Linear, torch.nn.ReLU, torch.nn.Linear)
    return type(network) is torch.nn.Sequential and tuple(map(type, network)) == kinds


def _packed(bits: Tensor) -> Tensor:
    """Rows of bits as rows of integers."""
    padded = torch.nn.functional.pad(bits, (0, -bits.size(1) % WORD)).unflatten(1, (-1, WORD))
    return (padded.long() << torch.arange(WORD)).sum(dim=2)


def multiply(rows: Tensor, pieces: Pieces, ptr: Tensor) -> Tensor:
    """Every row times B and Q of its piece, ``[M, (1 + C) out]``; rows are sorted by piece, ``ptr`` says where each begins."""
    return _Multiply.apply(rows, pieces.matrices, ptr.tolist())


class _Multiply(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, rows: Tensor, matrices: Tensor, ptr: list[int]) -> Tensor:
        ctx.save_for_backward(rows, matrices)
        ctx.ptr = ptr
        out = rows.new_empty(rows.size(0), matrices.size(2))
        for matrix, (start, end) in zip(matrices, pairwise(ptr), strict=True):
            torch.mm(rows[start:end], matrix, out=out[start:end])
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        rows, matrices = ctx.saved_tensors
        gradient = gradient.contiguous()
        to_rows, to_matrices = torch.empty_like(rows), torch.empty_like(matrices)
        for number, (start, end) in enumerate(pairwise(ctx.ptr)):
            torch.mm(gradient[start:end], matrices[number].t(), out=to_rows[start:end])
            torch.mm(rows[start:end].t(), gradient[start:end], out=to_matrices[number])
        return to_rows, to_matrices, None
