"""Embeddings as distinct rows, for aggregators and heads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from dropgnn.engine.embedded import Embedded, Transform, maxima
from dropgnn.engine.embedded import Rows as AllRows
from dropgnn.engine.handles import batch_of
from dropgnn.engine.heads import predict
from dropgnn.engine.intercept import changed
from dropgnn.engine.plan import Pairs
from dropgnn.engine.pooling import Copies, alike_copies, assignment, average, average_copies, multiplicity, pool
from dropgnn.engine.rows import Block, Rows, full, rows_of
from dropgnn.engine.spaces import CopySpace, Sharing
from dropgnn.nn.modules import inside
from dropgnn.runs.runs import Runs


class _Linear(NamedTuple):
    """A head that is linear up to its pooling, on the embedding at hand: a map per block, or none to pool blocks as they are."""

    head: Any
    parts: Sequence[Tensor]


@dataclass(frozen=True, eq=False)
class SharedRows(Embedded):
    """Distinct rows of nodes.

    Args:
        rows: What the encoder returned.
        sharing: The forward it came out of.
    """

    rows: Rows
    sharing: Sharing

    @property
    def runs(self) -> Runs:  # type: ignore[override]
        return self.sharing.runs

    def sums(self, transform: Transform | None = None) -> Tensor:
        rows = self.rows if transform is None else transform(self.rows)
        if not isinstance(rows, Rows):
            return self._all(rows).sums()
        return average([block.rows for block in rows.blocks], self._pairs(rows), self.runs)

    def maxima(self) -> Tensor:
        pairs = self.sharing.level(self.rows.level).pairs
        owner, state, _ = assignment(pairs, self.runs)
        times = multiplicity(pairs, self.runs, self.sharing.graph.batch)
        return maxima(self.rows.distinct()[state], owner, self.sharing.graph.num_nodes, times)

    def seen(self) -> Tensor:
        plan = self.sharing.plan
        if self.runs.shares is None and not plan.effect.removes:  # everyone is in every copy
            weight = self.runs.weight
            return weight.new_zeros(self.runs.num_graphs).index_add(0, self.runs.graph, weight)[plan.graph.batch]
        level = self.sharing.level(self.rows.level)
        ones = torch.ones(level.num_states, 1, dtype=torch.float64, device=plan.source.device)
        return average([ones], [level.pairs], self.runs).squeeze(1)

    def predict_rows(self, head: torch.nn.Module) -> tuple[Tensor, Tensor, Tensor]:
        out = predict(head, self.rows)
        if not isinstance(out, Rows):
            everyone = self._all(out)
            return out, everyone.owner, everyone.weight
        owner, state, weight = assignment(self.sharing.level(out.level).pairs, self.runs)
        return out.distinct()[state], owner, weight

    def predict_copies(self, head: torch.nn.Module) -> Tensor:
        linear = self._linear(head)
        if linear is None:
            looks_around = getattr(type(head), "looks_at_all_rows", False)
            rows, batch = self.rows, batch_of(self.sharing)
            rows, batch = (full(rows), full(batch)) if looks_around else (rows, batch)
            return full(predict(head, rows, batch, self.runs.num_copies))
        (pooled,), copies = self._pool([linear])
        return self._finish(linear, pooled, copies)

    def predict_means(
        self, head: torch.nn.Module, auxiliary: torch.nn.Module | None
    ) -> tuple[Tensor, Tensor | None] | None:
        """Where heads are linear, the mean of what copies pool to is what mean rows pool to, which are then not computed."""
        if self.runs.shares is not None or self.sharing.plan.effect.removes:
            return None
        main, other = self._linear(head), None if auxiliary is None else self._linear(auxiliary)
        if main is None or (auxiliary is not None and other is None):
            return None
        pooled, copies = self._pool([main] if other is None else [main, other])
        means = average_copies(pooled[0], copies, self.runs)
        single = None if other is None else self._finish(other, pooled[1], copies)
        return main.head.finish(means, self.sharing.graph.nodes_per_graph), single

    def _pairs(self, rows: Rows) -> list[Pairs]:
        return [self.sharing.level(block.level).pairs for block in rows.blocks]

    def _all(self, x: Tensor) -> AllRows:
        """One row for every node of every copy."""
        copies, runs = self.sharing.copies, self.runs
        weight = runs.row_weights(copies.node, copies.graph.batch)
        return AllRows(x, copies.node, copies.graph.batch, weight, self.sharing.graph.num_nodes, runs)

    def _linear(self, head: torch.nn.Module) -> _Linear | None:
        if not hasattr(head, "linear_parts") or any(map(changed, inside(head))):
            return None
        parts = head.linear_parts([block.rows for block in self.rows.blocks])  # type: ignore[operator]
        return None if parts is None else _Linear(head, parts)

    def _pool(self, heads: Sequence[_Linear]) -> tuple[tuple[Tensor, ...], Copies]:
        """What every head makes of every block, summed over copies that are alike once."""
        runs, batch = self.runs, self.sharing.graph.batch
        last = self.sharing.level(self.rows.level).pairs
        copies = alike_copies(last, runs, batch)
        xs = [block.rows for block in self.rows.blocks]
        return pool(xs, [head.parts for head in heads], self._pairs(self.rows), copies.chosen, runs, batch), copies

    def _finish(self, linear: _Linear, pooled: Tensor, copies: Copies) -> Tensor:
        """A prediction for every copy; what may be random in a head is so for every copy."""
        if not linear.parts:
            total = linear.head.average(pooled, copies.size).sum(dim=0)
            return full(linear.head.head(rows_of([Block(total, 0)], CopySpace(self.sharing, copies.kind))))
        if any(map(_drops, linear.head.modules())):
            return linear.head.finish(pooled.index_select(1, copies.kind), copies.size[copies.kind])
        return linear.head.finish(pooled, copies.size).index_select(0, copies.kind)


def _drops(module: torch.nn.Module) -> bool:
    return isinstance(module, torch.nn.Dropout) and module.training and module.p > 0
