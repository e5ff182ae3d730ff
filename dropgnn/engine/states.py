"""The embeddings of the ``shared`` engine: one row per distinct state, and who is in which state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from torch import Tensor
from torch.nn.modules.dropout import _DropoutNd

from dropgnn.engine.copies import expand
from dropgnn.engine.embedded import Embedded, Rows, Transform, maxima
from dropgnn.engine.heads import predict
from dropgnn.engine.layers import Layered
from dropgnn.engine.norm import takes_batch_statistics
from dropgnn.engine.plan import Pairs, SharedPlan
from dropgnn.engine.products import assignment, average, distinct_copies, every_copy, pool
from dropgnn.graph import offsets


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
    plan: SharedPlan

    def sums(self, transform: Transform | None = None) -> Tensor:
        pieces = self.layered.slices()
        if transform is None and pieces is not None:
            return average([self.xs[number] for number in pieces], self._pairs(pieces), self.plan.runs)
        x = self.rows() if transform is None else transform(self.rows())
        return average([x], self._pairs([-1]), self.plan.runs)

    def _pairs(self, pieces: Sequence[int]) -> list[Pairs]:
        return [self.plan.levels[number].pairs for number in pieces]

    def maxima(self) -> Tensor:
        owner, state, _ = self._assignment()
        return maxima(self.rows()[state], owner, self.plan.graph.num_nodes)

    def seen(self) -> Tensor:
        ones = torch.ones(self.plan.levels[-1].num_rows, 1, dtype=torch.float64, device=self.plan.source.device)
        return average([ones], self._pairs([-1]), self.plan.runs).squeeze(1)

    def predict_rows(self, head: torch.nn.Module) -> tuple[Tensor, Tensor, Tensor]:
        if not is_row_by_row(head):
            return self.expanded().predict_rows(head)
        owner, state, weight = self._assignment()
        return predict(head, self.rows())[state], owner, weight

    def predict_copies(self, head: torch.nn.Module) -> Tensor:
        pieces = self.layered.slices()
        if isinstance(head, PoolsLast) and pieces is not None:
            xs = [self.xs[number] for number in pieces]
            weights = head.linear_parts([x.size(1) for x in xs])
            if weights is not None:
                runs, batch = self.plan.runs, self.plan.graph.batch
                alike = is_row_by_row(head) and batch.device.type == "cpu"
                copies = (distinct_copies if alike else every_copy)(self.plan.levels[-1].pairs, runs, batch)
                pooled = pool(xs, weights, self._pairs(pieces), copies.chosen, runs, batch)
                return head.finish(pooled, copies.size)[copies.kind]
        return self.expanded().predict_copies(head)

    def rows(self) -> Tensor:
        """The embedding of every state after the last layer, ``[S_L, F]``."""
        levels = self.plan.levels
        ancestor = torch.arange(levels[-1].num_rows, device=self.xs[-1].device)
        found = [self.xs[-1]]
        for below, level, x in zip(reversed(levels[:-1]), reversed(levels[1:]), reversed(self.xs[:-1]), strict=True):
            own = level.own
            if level.silent:  # a row of zeros is one below, too
                zeros = below.num_states if below.silent else int(self.plan.source.argmin())
                own = torch.cat([own, own.new_tensor([zeros])])
            ancestor = own[ancestor]
            found.append(x[ancestor])
        return self.layered.combine(found[::-1])

    def expanded(self) -> Rows:
        """One row for every node present in every copy, as the other engines have it."""
        graph, runs, pairs = self.plan.graph, self.plan.runs, self.plan.levels[-1].pairs
        copies, node = expand(graph, runs)
        state = pairs.base[node]
        start = offsets(graph.nodes_per_graph[runs.graph]) - offsets(graph.nodes_per_graph)[runs.graph]
        state[pairs.node + start[pairs.copy]] = pairs.label
        present = state >= 0
        node, copy_of_row = node[present], copies.batch[present]
        x = self.rows()[state[present]]
        return Rows(x, node, copy_of_row, runs.row_weights(node, copy_of_row), graph.num_nodes, runs)

    def _assignment(self) -> tuple[Tensor, Tensor, Tensor]:
        return assignment(self.plan.levels[-1].pairs, self.plan.runs)


def is_row_by_row(head: torch.nn.Module) -> bool:
    """Whether a head may see one row per state: no batch statistics, nothing random."""
    random = any(isinstance(child, _DropoutNd) and child.training and child.p > 0 for child in head.modules())
    return not random and not takes_batch_statistics(head)
