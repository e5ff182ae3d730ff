r"""NNConv under the ``shared`` engine: every matrix once, every message once.

An edge network turns the features of an edge into a matrix, :math:`m_{t \to s} = x_t\, W(e_{ts})`. Edges with equal
features have equal matrices: both directions of a bond, all runs, all rounds. And what a state says along a matrix is said
once, whoever hears it. Messages along the same matrix are multiplied together; or, where the network is piecewise linear, those
along edges on the same piece (``pieces.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor
from torch_geometric.nn import NNConv

from dropgnn.engine import compiled
from dropgnn.engine.loops import loops_for
from dropgnn.engine.pieces import Features, Pieces, multiply, pieces_of
from dropgnn.engine.plan import Level, SharedPlan
from dropgnn.engine.products import combine
from dropgnn.graph import Graph, offsets

STEP = 4
"""Matrices whose numbers of messages agree, rounded up to a multiple of this, go into one product."""


@dataclass(frozen=True, eq=False)
class Messages:
    """The distinct messages towards a level.

    Shapes:
        sender, matrix ``[M]``: the state that sends each, and the number of the matrix it goes through; heard ``[K]``: what
        each edge of the level carries.
    """

    sender: Tensor
    matrix: Tensor
    heard: Tensor

    @cached_property
    def blocks(self) -> Blocks:
        with torch.inference_mode(False):  # they may be needed for training later
            return Blocks.of(self.matrix)


@dataclass(frozen=True, eq=False)
class Blocks:
    """Messages laid out for products with their matrices: every matrix of a block has room for as many messages.

    Shapes:
        place ``[M]``: where each message is in all blocks laid end to end; blocks: for each its matrices ``[B]`` and its width.
    """

    place: Tensor
    blocks: list[tuple[Tensor, int]]

    @classmethod
    def of(cls, matrix: Tensor) -> Blocks:
        ptr, by_matrix = loops_for(matrix, matrix.numel()).group(matrix, int(matrix.max()) + 1 if matrix.numel() else 0)
        rank = torch.empty_like(matrix)
        rank[by_matrix] = (
            torch.arange(matrix.numel(), dtype=matrix.dtype, device=matrix.device) - ptr[matrix[by_matrix]]
        )
        width = torch.div(ptr.diff() + STEP - 1, STEP, rounding_mode="floor") * STEP
        by_width = width.argsort(stable=True)
        start = torch.empty_like(width)
        start[by_width] = offsets(width[by_width]).to(width.dtype)
        widths, many = width[by_width].unique_consecutive(return_counts=True)
        chosen = by_width.split(many.tolist())
        blocks = [(block, size) for block, size in zip(chosen, widths.tolist(), strict=True) if size]
        return cls(start[matrix] + rank, blocks)

    @property
    def places(self) -> int:
        return sum(matrices.numel() * width for matrices, width in self.blocks)


@dataclass(frozen=True, eq=False)
class Network:
    """What the edge networks of an encoder are applied to.

    Args:
        edge: An edge for each distinct matrix, shape ``[W]``.
        features: What is known about their features, where no gradients of these are wanted.
        levels: The messages towards each level but the first.
    """

    edge: Tensor
    features: Features | None
    levels: list[Messages]


def network_of(plan: SharedPlan) -> Network:
    """The distinct edge features of a batch and the messages along them; made once and kept with the plan."""
    if "network" not in plan.kept:
        with torch.inference_mode(False):  # it may be needed for training later
            plan.kept["network"] = _network(plan)
    return plan.kept["network"]


def matrices_of(conv: NNConv, x: Tensor, graph: Graph, network: Network, work: int) -> Tensor | Pieces:
    """The matrix of every distinct edge feature, ``[W, in, out]``, for rows like x; or the pieces they are made of."""
    assert graph.edge_attr is not None  # or the encoder would have refused
    pieces = None if network.features is None else pieces_of(conv, x, network.features, work)
    if pieces is not None:
        return pieces
    return conv.nn(graph.edge_attr[network.edge]).view(-1, x.size(1), conv.out_channels)


def hear_by_matrices(conv: NNConv, x: Tensor, matrices: Tensor | Pieces, level: Level, messages: Messages) -> Tensor:
    """What every state of a level hears, ``[S, out]``."""
    share, work = level.weight.new_ones(level.num_states), level.pairs.work
    if conv.aggr == "mean":
        share = share / level.edge_ptr.diff().clamp(min=1)
    receiver = level.receiver
    if isinstance(matrices, Pieces):
        said, column, value = _say_by_pieces(x, matrices, messages, work)
        value, receiver, column = (value * share[receiver]).flatten(), receiver.repeat(len(value)), column.flatten()
    else:
        said, column = _say_by_matrices(x, matrices, messages, work)
        value = share[receiver]
    out = combine(said, level.num_states, receiver, column, value, work=work)
    if conv.root_weight:
        out = out + conv.lin(x)[level.own]
    return out if conv.bias is None else out + conv.bias


def _say_by_pieces(x: Tensor, pieces: Pieces, messages: Messages, work: int) -> tuple[Tensor, Tensor, Tensor]:
    """What states say through B and Q, once for every piece, and what each edge of the level carries of it: rows and factors."""
    loops, piece = loops_for(x, work), pieces.piece[messages.matrix]
    spoken, example = loops.colour_rows(torch.stack([messages.sender.long(), piece.long()], dim=1))
    ptr, order = loops.group(piece[example], pieces.matrices.size(0))
    place = torch.empty_like(order)
    place[order] = torch.arange(order.numel(), dtype=order.dtype)
    ones = x.new_ones(order.numel(), dtype=torch.float64)
    said = multiply(combine(x, order.numel(), place, messages.sender[example], ones, work=work), pieces, ptr)
    value = pieces.value[:, messages.matrix[messages.heard]].double()
    value = torch.cat([value.new_ones(1, value.size(1)), value])
    column = place[spoken][messages.heard] * len(value) + torch.arange(len(value)).unsqueeze(1)
    return said.unflatten(1, (len(value), -1)).flatten(0, 1), column, value


def _say_by_matrices(x: Tensor, matrices: Tensor, messages: Messages, work: int) -> tuple[Tensor, Tensor]:
    """All messages, with room between them, and what each edge of the level carries."""
    blocks = messages.blocks
    ones = x.new_ones(messages.sender.numel(), dtype=torch.float64)
    rows, products, first = combine(x, blocks.places, blocks.place, messages.sender, ones, work=work), [], 0
    for chosen, width in blocks.blocks:
        block = rows[first : first + chosen.numel() * width].view(chosen.numel(), width, x.size(1))
        products.append(torch.bmm(block, matrices[chosen]).flatten(0, 1))
        first += chosen.numel() * width
    return torch.cat(products) if products else x.new_zeros(0, matrices.size(2)), blocks.place[messages.heard]


def _network(plan: SharedPlan) -> Network:
    loops = loops_for(plan.source, plan.work)
    assert plan.edge_colour is not None  # there are edge features, or the encoder would have refused
    levels = plan.levels[1:]
    edges = torch.cat([level.edge for level in levels])
    matrix, first = loops.colour_rows(plan.edge_colour[edges].long().unsqueeze(1))
    parts = matrix.split([level.edge.numel() for level in levels])
    messages = []
    for level, matrix_of_edge in zip(levels, parts, strict=True):
        pairs = torch.stack([matrix_of_edge.long(), level.sender.long()], dim=1)
        message, example = loops.colour_rows(pairs)
        messages.append(Messages(level.sender[example], matrix_of_edge[example], message))
    attr = (plan.graph if plan.origin is None else plan.origin).edge_attr
    assert attr is not None
    known = loops is compiled and attr.is_cpu and not attr.requires_grad
    return Network(edges[first], Features.of(attr[edges[first]]) if known else None, messages)
