"""The embeddings of the ``shared`` engine: one row per distinct state, and who is in which state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from dropgnn.engine.copies import expand
from dropgnn.engine.embedded import Embedded, Rows, Transform, maxima
from dropgnn.engine.heads import predict
from dropgnn.engine.layers import Layered
from dropgnn.engine.maps import Maps
from dropgnn.engine.planning import SharedPlan
from dropgnn.graph import Graph, offsets


@runtime_checkable
class PoolsLast(Protocol):
    """A head for graphs that is linear up to the pooling: the few distinct rows can be projected first, and then narrow
    ones pooled."""

    def linear_parts(self, widths: Sequence[int]) -> Sequence[Tensor] | None:
        """A linear map ``[out, width]`` for each slice of the embedding, or ``None`` where it is not linear after all."""

    def finish(self, pooled: Sequence[Tensor], sizes: Tensor) -> Tensor:
        """Predictions from the sums of the projected slices over each graph, and the graphs' numbers of nodes."""


@dataclass(frozen=True, eq=False)
class States(Embedded):
    """Distinct rows.

    Args:
        xs: The rows before the first layer and after each, ``[S_l, F_l]``, with a row of zeros where a level has one.
    """

    xs: Sequence[Tensor]
    layered: Layered
    maps: Maps

    @property
    def graph(self) -> Graph:
        return self.maps.graph

    @property
    def plan(self) -> SharedPlan:
        return self.maps.plan

    def sums(self, transform: Transform | None = None) -> Tensor:
        pieces = self.layered.slices()
        if transform is None and pieces is not None:
            return torch.cat([self._average(number) for number in pieces], dim=1)
        x = self.rows() if transform is None else transform(self.rows())
        return self.maps.average(len(self.xs) - 1, x) @ x

    def _average(self, number: int) -> Tensor:
        return self.maps.average(number, self.xs[number]) @ self.xs[number]

    def maxima(self) -> Tensor:
        owner, state, weight = self._assignment(-1)
        counts = weight > 0
        return maxima(self.rows()[state[counts]], owner[counts], self.graph.num_nodes)

    def seen(self) -> Tensor:
        owner, _, weight = self._assignment(-1)
        return weight.new_zeros(self.graph.num_nodes).index_add(0, owner, weight)

    def predict_rows(self, head: torch.nn.Module) -> tuple[Tensor, Tensor, Tensor]:
        owner, state, weight = self._assignment(-1)
        return predict(head, self.rows())[state], owner, weight

    def predict_copies(self, head: torch.nn.Module) -> Tensor:
        pieces = self.layered.slices()
        if isinstance(head, PoolsLast) and pieces is not None:
            weights = head.linear_parts([self.xs[number].size(1) for number in pieces])
            if weights is not None:
                projected = [self.xs[number] @ weight.t() for number, weight in zip(pieces, weights, strict=True)]
                pooled = [self.maps.pool(number, y) for number, y in zip(pieces, projected, strict=True)]
                return head.finish(pooled, self.maps.copy_sizes())
        return self.expanded().predict_copies(head)

    def rows(self) -> Tensor:
        """The embedding of every state after the last layer, ``[S_L, F]``."""
        levels = self.plan.levels
        ancestor = np.arange(levels[-1].num_rows)
        found = [self.xs[-1]]
        for below, level, x in zip(reversed(levels[:-1]), reversed(levels[1:]), reversed(self.xs[:-1]), strict=True):
            zeros = below.num_states if below.silent else self.plan.source.argmin()  # a row of zeros is one below, too
            ancestor = np.append(level.own, zeros)[ancestor]
            found.append(x[self._tensor(ancestor).long()])
        return self.layered.combine(found[::-1])

    def expanded(self) -> Rows:
        """One row for every node present in every copy, as the other engines have it."""
        runs, pairs = self.plan.runs, self.plan.levels[-1].pairs
        copies, node = expand(self.graph, runs)
        state = self._tensor(pairs.base).long()[node]
        start = offsets(self.graph.nodes_per_graph[runs.graph]) - offsets(self.graph.nodes_per_graph)[runs.graph]
        copy = torch.repeat_interleave(self._tensor(np.diff(pairs.ptr)))
        state[self._tensor(pairs.node).long() + start[copy]] = self._tensor(pairs.label).long()
        present = state >= 0
        node, copy_of_row = node[present], copies.batch[present]
        x = self.rows()[state[present]]
        return Rows(x, node, copy_of_row, runs.row_weights(node, copy_of_row), self.graph.num_nodes, runs)

    def _assignment(self, number: int) -> tuple[Tensor, Tensor, Tensor]:
        owner, state, weight = self.maps.shares(self.plan.levels[number])
        return self._tensor(owner).long(), self._tensor(state).long(), self._tensor(weight)

    def _tensor(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(array).to(self.graph.x.device)
