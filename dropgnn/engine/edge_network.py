r"""NNConv under the ``shared`` engine: every matrix once, every message once.

An edge network turns the features of an edge into a matrix, :math:`m_{t \to s} = x_t\, W(e_{ts})`. Edges with equal
features have equal matrices: both directions of a bond, all runs, all rounds. And what a state says along a matrix is said
once, whoever hears it. Messages along the same matrix are multiplied together.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

import torch
from torch import Tensor
from torch_geometric.nn import NNConv

from dropgnn.engine.loops import loops_for
from dropgnn.engine.plan import Level, SharedPlan
from dropgnn.engine.products import combine
from dropgnn.graph import Graph, offsets

STEP = 4
"""Matrices are multiplied together that have as many messages, up to this rounding."""


@dataclass(frozen=True, eq=False)
class Messages:
    """The distinct messages towards a level, in blocks: every matrix of a block has room for as many messages.

    Shapes:
        place, sender ``[M]``: where each message is in all blocks laid end to end, and the state that sends it; heard
        ``[K]``: the place of what each edge of the level carries; blocks: for each its matrices ``[B]`` and its width.
    """

    place: Tensor
    sender: Tensor
    heard: Tensor
    blocks: list[tuple[Tensor, int]]

    @property
    def places(self) -> int:
        return sum(matrices.numel() * width for matrices, width in self.blocks)


@dataclass(frozen=True, eq=False)
class Network:
    """What the edge networks of an encoder are applied to: an edge for each distinct matrix, shape ``[W]``, and the
    messages towards each level but the first."""

    edge: Tensor
    levels: list[Messages]


def network_of(plan: SharedPlan) -> Network:
    """The distinct edge features of a batch and the messages along them; made once and kept with the plan."""
    if "network" not in plan.kept:
        with torch.inference_mode(False):  # it may be needed for training later
            plan.kept["network"] = _network(plan)
    return plan.kept["network"]


def matrices_of(conv: NNConv, width: int, graph: Graph, network: Network) -> Tensor:
    """The matrix of every distinct edge feature, ``[W, width, out]``."""
    assert graph.edge_attr is not None  # or the encoder would have refused
    return conv.nn(graph.edge_attr[network.edge]).view(-1, width, conv.out_channels)


def hear_by_matrices(conv: NNConv, x: Tensor, matrices: Tensor, level: Level, messages: Messages) -> Tensor:
    """What every state of a level hears, ``[S, out]``."""
    ones = level.weight.new_ones(messages.place.numel())
    rows = combine(x, messages.places, messages.place, messages.sender, ones)
    products, first = [], 0
    for chosen, width in messages.blocks:
        block = rows[first : first + chosen.numel() * width].view(chosen.numel(), width, x.size(1))
        products.append(torch.bmm(block, matrices[chosen]).flatten(0, 1))
        first += chosen.numel() * width
    said = torch.cat(products) if products else x.new_zeros(0, conv.out_channels)
    share = level.weight.new_ones(level.num_states)
    if conv.aggr == "mean":
        share = share / level.edge_ptr.diff().clamp(min=1)
    receiver = level.receiver
    out = combine(said, level.num_states, receiver, messages.heard, share[receiver])
    if conv.root_weight:
        out = out + conv.lin(x)[level.own]
    return out if conv.bias is None else out + conv.bias


def _network(plan: SharedPlan) -> Network:
    loops = loops_for(plan.source)
    assert plan.edge_colour is not None  # there are edge features, or the encoder would have refused
    levels = plan.levels[1:]
    edges = torch.cat([level.edge for level in levels])
    matrix, first = loops.colour_rows(plan.edge_colour[edges].long().unsqueeze(1))
    parts = matrix.split([level.edge.numel() for level in levels])
    grouped = [_messages(level, part, first.numel(), loops) for level, part in zip(levels, parts, strict=True)]
    return Network(edges[first], grouped)


def _messages(level: Level, matrix_of_edge: Tensor, matrices: int, loops: ModuleType) -> Messages:
    """Group what is said towards a level by the matrix it goes through."""
    message, first = loops.colour_rows(torch.stack([matrix_of_edge.long(), level.sender.long()], dim=1))
    matrix, sender = matrix_of_edge[first], level.sender[first]
    ptr, by_matrix = loops.group(matrix, matrices)
    rank = torch.empty_like(matrix)
    rank[by_matrix] = torch.arange(matrix.numel(), dtype=matrix.dtype, device=matrix.device) - ptr[matrix[by_matrix]]
    width = torch.div(ptr.diff() + STEP - 1, STEP, rounding_mode="floor") * STEP
    by_width = width.argsort(stable=True)
    start = torch.empty_like(width)
    start[by_width] = offsets(width[by_width]).to(width.dtype)
    place = start[matrix] + rank
    widths, many = width[by_width].unique_consecutive(return_counts=True)
    chosen = by_width.split(many.tolist())
    blocks = [(block, size) for block, size in zip(chosen, widths.tolist(), strict=True) if size]
    return Messages(place, sender, place[message], blocks)
