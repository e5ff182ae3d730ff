r"""NNConv: every matrix once, every message once.

An edge network turns the features of an edge into a matrix, :math:`m_{t \to s} = x_t\, W(e_{ts})`. Edges with equal
features have equal matrices: both directions of a bond, all runs, all rounds. And what a state says along a matrix is said
once, whoever hears it. Messages along the same matrix are multiplied together; or, where the network is piecewise linear, those
along edges on the same piece (``pieces.py``).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch_geometric.nn import NNConv

from dropgnn.engine.intercept import Call
from dropgnn.engine.plan import Level, SharedPlan
from dropgnn.engine.rows import Block, rows_of
from dropgnn.engine.rules.general import act_in_general, aggregates, heard, is_plain
from dropgnn.engine.rules.parts import unknown_part
from dropgnn.engine.rules.pieces import Features, Pieces, multiply, pieces_of
from dropgnn.engine.rules.rule import RULES, Rule
from dropgnn.engine.spaces import Sharing
from dropgnn.graph import offsets
from dropgnn.nn.mpnn import MPNN
from dropgnn.nn.norm import takes_batch_statistics
from dropgnn.ops import numba_ops, ops_for

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
        ptr, by_matrix = ops_for(matrix, matrix.numel()).group(matrix, int(matrix.max()) + 1 if matrix.numel() else 0)
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


def _act_nnconv(conv: NNConv, call: Call) -> Any:
    """Every matrix once, every message once."""
    given, sharing = heard(call), call.sharing
    if given is None or set(given.rows) != {"x"} or set(given.edges) != {"edge_attr"} or not _is_known(conv):
        return act_in_general(conv, call)
    x, (features, kind) = given.rows["x"].distinct(), given.edges["edge_attr"]
    if x.dim() != 2 or features.dim() != 2 or x.size(1) != conv.in_channels:
        return act_in_general(conv, call)
    level = sharing.level(given.level + 1)
    messages = _messages(sharing.plan, given.level + 1, level, kind)
    known = sharing.matrices if features is sharing.edge_attr else None
    matrices = _matrices(conv, x, features, sharing) if known is None or conv not in known else known[conv]
    if known is not None:
        known[conv] = matrices
    return rows_of([Block(_hear(conv, x, matrices, level, messages), given.level + 1)], sharing.nodes)


def _is_known(conv: NNConv) -> bool:
    """Whether the layer sums or averages what its network's matrices make of what arrives, edge by edge."""
    known = aggregates(conv) is not None and not takes_batch_statistics(conv) and unknown_part(conv) is None
    return known and (not conv.root_weight or is_plain(conv.lin))


def _messages(plan: SharedPlan, number: int, level: Level, kind: Tensor) -> Messages:
    """The distinct messages towards a level; made once and kept with the plan."""
    name = f"messages {number}"
    if name not in plan.kept:
        with torch.inference_mode(False):  # they may be needed for training later
            pairs = torch.stack([kind[level.edge.long()].long(), level.sender.long()], dim=1)
            message, example = ops_for(plan.source, plan.work).colour_rows(pairs)
            plan.kept[name] = Messages(level.sender[example], kind[level.edge[example].long()], message)
    return plan.kept[name]


def _matrices(conv: NNConv, x: Tensor, features: Tensor, sharing: Sharing) -> Tensor | Pieces:
    """The matrix of every kind of edge, ``[W, in, out]``, for rows like x; or the pieces they are made of."""
    if features is sharing.edge_attr and not features.requires_grad and ops_for(x, sharing.plan.work) is numba_ops:
        known = sharing.plan.kept.get("features")
        if known is None:
            with torch.inference_mode(False):
                known = sharing.plan.kept["features"] = Features.of(features.detach())
        pieces = pieces_of(conv, x, known, sharing.plan.work)
        if pieces is not None:
            return pieces
    return conv.nn(features).view(-1, x.size(1), conv.out_channels)


def _hear(conv: NNConv, x: Tensor, matrices: Tensor | Pieces, level: Level, messages: Messages) -> Tensor:
    """What every state of a level hears, ``[S, out]``."""
    share, work = level.weight.new_ones(level.num_states), level.pairs.work
    if aggregates(conv) == "mean":
        share = share / level.edge_ptr.diff().clamp(min=1)
    receiver = level.receiver
    if isinstance(matrices, Pieces):
        said, column, value = _say_by_pieces(x, matrices, messages, work)
        value, receiver, column = (value * share[receiver]).flatten(), receiver.repeat(len(value)), column.flatten()
    else:
        said, column = _say_by_matrices(x, matrices, messages, work)
        value = share[receiver]
    out = ops_for(said, work).combine(said, level.num_states, receiver, column, value)
    if conv.root_weight:
        out = out + conv.lin(x)[level.own]
    return out if conv.bias is None else out + conv.bias


def _say_by_pieces(x: Tensor, pieces: Pieces, messages: Messages, work: int) -> tuple[Tensor, Tensor, Tensor]:
    """What states say through B and Q, once for every piece, and what each edge of the level carries of it: rows and factors."""
    ops, piece = ops_for(x, work), pieces.piece[messages.matrix]
    spoken, example = ops.colour_rows(torch.stack([messages.sender.long(), piece.long()], dim=1))
    ptr, order = ops.group(piece[example], pieces.matrices.size(0))
    place = torch.empty_like(order)
    place[order] = torch.arange(order.numel(), dtype=order.dtype)
    ones = x.new_ones(order.numel(), dtype=torch.float64)
    said = multiply(ops.combine(x, order.numel(), place, messages.sender[example], ones), pieces, ptr)
    value = pieces.value[:, messages.matrix[messages.heard]].double()
    value = torch.cat([value.new_ones(1, value.size(1)), value])
    column = place[spoken][messages.heard] * len(value) + torch.arange(len(value)).unsqueeze(1)
    return said.unflatten(1, (len(value), -1)).flatten(0, 1), column, value


def _say_by_matrices(x: Tensor, matrices: Tensor, messages: Messages, work: int) -> tuple[Tensor, Tensor]:
    """All messages, with room between them, and what each edge of the level carries."""
    blocks = messages.blocks
    ones = x.new_ones(messages.sender.numel(), dtype=torch.float64)
    rows = ops_for(x, work).combine(x, blocks.places, blocks.place, messages.sender, ones)
    products, first = [], 0
    for chosen, width in blocks.blocks:
        block = rows[first : first + chosen.numel() * width].view(chosen.numel(), width, x.size(1))
        products.append(torch.bmm(block, matrices[chosen]).flatten(0, 1))
        first += chosen.numel() * width
    return torch.cat(products) if products else x.new_zeros(0, matrices.size(2)), blocks.place[messages.heard]


def _act_mpnn(encoder: MPNN, call: Call) -> Any:
    """All rounds go through the same matrices."""
    call.sharing.matrices = {}
    try:
        return call.run(encoder, *call.args, **call.kwargs)
    finally:
        call.sharing.matrices = None


RULES[MPNN] = Rule(MPNN, _act_mpnn, lambda encoder: encoder.rounds)
RULES[NNConv] = Rule(NNConv, _act_nnconv)
