"""The embeddings of the ``shared`` engine: one row per distinct state, and who is in which state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, Protocol, cast, runtime_checkable

import torch
from torch import Tensor

from dropgnn.compiling import worth_compiling
from dropgnn.engine.allowed import why_not_row_by_row
from dropgnn.engine.copies import expand
from dropgnn.engine.embedded import Embedded, Rows, Transform, maxima
from dropgnn.engine.heads import predict
from dropgnn.engine.layers import Layered
from dropgnn.engine.norm import takes_batch_statistics
from dropgnn.engine.plan import Pairs, SharedPlan
from dropgnn.engine.pooling import Copies, average_copies, distinct_copies, every_copy, pool
from dropgnn.engine.products import assignment, average, multiplicity
from dropgnn.graph import offsets
from dropgnn.runs.modes import RemoveNodes
from dropgnn.runs.runs import Runs


@runtime_checkable
class PoolsLast(Protocol):
    """A head for graphs that is linear up to the pooling: the few distinct rows can be projected first, and then narrow
    ones pooled."""

    def behind(self) -> Sequence[torch.nn.Module]:
        """The modules that ``finish`` runs."""

    def linear_parts(self, xs: Sequence[Tensor]) -> Sequence[Tensor] | None:
        """A linear map ``[out, width]`` for each slice of the embedding; none where it pools them as they are, side by side; or
        ``None`` where it is not linear after all."""

    def finish(self, pooled: Tensor, sizes: Tensor) -> Tensor:
        """Predictions from the sums of the projected slices over each graph, ``[L, G, out]``, or of the slices side by side,
        ``[1, G, F]``, and the graphs' numbers of nodes."""


@cache
def _pools_last(kind: type) -> bool:
    """Whether all of it is there; asking takes longer than pooling, so it is asked once."""
    return issubclass(kind, PoolsLast)


class _Linear(NamedTuple):
    """A head of that kind, on the embedding at hand."""

    parts: Sequence[Tensor]
    finish: Callable[[Tensor, Tensor], Tensor]
    behind: Sequence[torch.nn.Module]


@dataclass(frozen=True, eq=False)
class States(Embedded):
    """Distinct rows.

    Args:
        xs: The rows before the first layer and after each, ``[S_l, F_l]``, with a row of zeros where a level has one.
    """

    xs: Sequence[Tensor]
    layered: Layered
    plan: SharedPlan

    @property
    def runs(self) -> Runs:  # type: ignore[override]
        return self.plan.runs

    def sums(self, transform: Transform | None = None) -> Tensor:
        pieces = self.layered.slices()
        if transform is None and pieces is not None:
            return average([self.xs[number] for number in pieces], self._pairs(pieces), self.runs)
        x = self.rows() if transform is None else transform(self.rows())
        return average([x], self._pairs([-1]), self.runs)

    def _pairs(self, pieces: Sequence[int]) -> list[Pairs]:
        return [self.plan.levels[number].pairs for number in pieces]

    def maxima(self) -> Tensor:
        owner, state, _ = self._assignment()
        times = multiplicity(self.plan.levels[-1].pairs, self.runs, self.plan.graph.batch)
        return maxima(self.rows()[state], owner, self.plan.graph.num_nodes, times)

    def seen(self) -> Tensor:
        if self.runs.shares is None and not isinstance(self.plan.mode, RemoveNodes):  # everyone is in every copy
            weight = self.runs.weight
            return weight.new_zeros(self.runs.num_graphs).index_add(0, self.runs.graph, weight)[self.plan.graph.batch]
        ones = torch.ones(self.plan.levels[-1].num_rows, 1, dtype=torch.float64, device=self.plan.source.device)
        return average([ones], self._pairs([-1]), self.runs).squeeze(1)

    def predict_rows(self, head: torch.nn.Module) -> tuple[Tensor, Tensor, Tensor]:
        if not is_row_by_row(head):
            return self.expanded().predict_rows(head)
        owner, state, weight = self._assignment()
        return predict(head, self.rows())[state], owner, weight

    def predict_copies(self, head: torch.nn.Module) -> Tensor:
        linear = self._linear(head)
        if linear is None:
            return self.expanded().predict_copies(head)
        (pooled,), copies = self._pool([linear])
        return _predict_kinds(linear, pooled, copies)

    def predict_means(
        self, head: torch.nn.Module, auxiliary: torch.nn.Module | None
    ) -> tuple[Tensor, Tensor | None] | None:
        """Where heads are linear, the mean of what copies pool to is what mean rows pool to: nobody needs those."""
        if self.runs.shares is not None or isinstance(self.plan.mode, RemoveNodes):
            return None
        main, other = self._linear(head), None if auxiliary is None else self._linear(auxiliary)
        if main is None or (auxiliary is not None and other is None):
            return None
        pooled, copies = self._pool([main] if other is None else [main, other])
        means = average_copies(pooled[0], copies, self.runs)
        single = None if other is None else _predict_kinds(other, pooled[1], copies)
        return main.finish(means, self.plan.graph.nodes_per_graph), single

    def _linear(self, head: torch.nn.Module) -> _Linear | None:
        """The head as a linear map per slice of the embedding, or ``None`` where it is not of that kind."""
        pieces = self.layered.slices()
        kind: Any = type(head)
        if pieces is None or not _pools_last(kind):
            return None
        pooling = cast(PoolsLast, head)
        parts = pooling.linear_parts([self.xs[number] for number in pieces])
        return None if parts is None else _Linear(parts, pooling.finish, pooling.behind())

    def _pool(self, heads: Sequence[_Linear]) -> tuple[tuple[Tensor, ...], Copies]:
        """What every head makes of every slice, summed over copies, as ``finish`` takes it; on the CPU, over those that are alike
        once."""
        pieces, runs, batch = self.layered.slices(), self.runs, self.plan.graph.batch
        assert pieces is not None
        last = self.plan.levels[-1].pairs
        kinds = distinct_copies if batch.is_cpu and worth_compiling(last.work) else every_copy
        copies = kinds(last, runs, batch)
        xs = [self.xs[number] for number in pieces]
        return pool(xs, [head.parts for head in heads], self._pairs(pieces), copies.chosen, runs, batch), copies

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
        graph, runs, pairs = self.plan.graph, self.runs, self.plan.levels[-1].pairs
        copies, node = expand(graph, runs)
        state = pairs.base[node]
        start = offsets(graph.nodes_per_graph[runs.graph]) - offsets(graph.nodes_per_graph)[runs.graph]
        state[pairs.node + start[pairs.copy]] = pairs.label
        present = state >= 0
        node, copy_of_row = node[present], copies.batch[present]
        x = self.rows()[state[present]]
        return Rows(x, node, copy_of_row, runs.row_weights(node, copy_of_row), graph.num_nodes, runs)

    def _assignment(self) -> tuple[Tensor, Tensor, Tensor]:
        return assignment(self.plan.levels[-1].pairs, self.runs)


def _predict_kinds(linear: _Linear, pooled: Tensor, copies: Copies) -> Tensor:
    """A prediction for every copy from sums for every kind; what may be random in a head is so for every copy."""
    if all(map(is_row_by_row, linear.behind)):
        return linear.finish(pooled, copies.size).index_select(0, copies.kind)
    return linear.finish(pooled.index_select(1, copies.kind), copies.size[copies.kind])


def is_row_by_row(head: torch.nn.Module) -> bool:
    """Whether a head may see one row per state: it is known to treat rows one by one, with nothing random."""
    return why_not_row_by_row(head) is None and not takes_batch_statistics(head)
