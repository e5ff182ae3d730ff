r"""Run aggregation (Section 2.3): a node's embeddings from all runs become one.

An aggregator first collects rows, part by part if runs come in chunks, and then finishes:

* ``collect``: for each node the weighted sum (or the maximum) of its rows, and the weight it saw,
* ``merge``: two such partial results become one,
* ``finish``: the embedding. A node present in no copy gets zeros.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

import torch
from torch import Tensor

from dropgnn.registry import Registry


class Collected(NamedTuple):
    """A partial result: value ``[N, F]``, weight ``[N]``."""

    value: Tensor
    weight: Tensor


class Aggregator(torch.nn.Module, ABC):
    """Turns the embeddings of a node in all runs into one."""

    @abstractmethod
    def collect(self, x: Tensor, owner: Tensor, weight: Tensor, num_owners: int) -> Collected:
        """Reduce rows x ``[M, F]`` of nodes owner ``[M]`` with weights ``[M]`` to one row per node."""

    @abstractmethod
    def merge(self, a: Collected, b: Collected) -> Collected:
        """One partial result from two."""

    @abstractmethod
    def finish(self, collected: Collected, r: Tensor) -> Tensor:
        """The embedding ``[N, F]``, where r ``[N]`` is the number of copies a node averages over."""

    def out_channels(self, in_channels: int) -> int:
        """Width of the result for rows of width ``in_channels``."""
        return in_channels


class _Additive(Aggregator):
    """Aggregators built on the weighted sum."""

    def collect(self, x: Tensor, owner: Tensor, weight: Tensor, num_owners: int) -> Collected:
        value = x.new_zeros(num_owners, x.size(1)).index_add(0, owner, weight.to(x.dtype).unsqueeze(1) * x)
        return Collected(value, weight.new_zeros(num_owners).index_add(0, owner, weight))

    def merge(self, a: Collected, b: Collected) -> Collected:
        return Collected(a.value + b.value, a.weight + b.weight)


class Mean(_Additive):
    r""":math:`\sum_i w_i x_i / \sum_i w_i` over the copies where the node is present. The paper's choice."""

    def finish(self, collected: Collected, r: Tensor) -> Tensor:
        present = collected.weight > 0
        safe = torch.where(present, collected.weight, torch.ones_like(collected.weight))
        return collected.value / safe.to(collected.value.dtype).unsqueeze(1)


class Sum(_Additive):
    r""":math:`r` times the mean; for random runs the plain sum."""

    def finish(self, collected: Collected, r: Tensor) -> Tensor:
        mean = Mean.finish(self, collected, r)  # type: ignore[arg-type]
        return mean * r.to(mean.dtype).unsqueeze(1)


class Max(Aggregator):
    """The largest value of each feature over all copies of positive weight where the node is present."""

    def collect(self, x: Tensor, owner: Tensor, weight: Tensor, num_owners: int) -> Collected:
        x, owner, weight = x[weight > 0], owner[weight > 0], weight[weight > 0]
        lowest = x.new_full((num_owners, x.size(1)), -torch.inf)
        value = lowest.scatter_reduce(0, owner.unsqueeze(1).expand_as(x), x, "amax")
        return Collected(value, weight.new_zeros(num_owners).index_add(0, owner, weight))

    def merge(self, a: Collected, b: Collected) -> Collected:
        return Collected(torch.maximum(a.value, b.value), a.weight + b.weight)

    def finish(self, collected: Collected, r: Tensor) -> Tensor:
        return collected.value.masked_fill((collected.weight <= 0).unsqueeze(1), 0.0)


class TransformSum(Aggregator):
    r"""Transform, then sum: :math:`\sum_i \sigma(W x_i + b)` with a sigmoid (Section 2.3).

    Unlike the mean this sees the *distribution* of a node's embeddings, not only its centre.

    Args:
        in_channels: Width of the rows.
        out_channels: Width of the result; by default the same.
    """

    def __init__(self, in_channels: int, out_channels: int | None = None) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(in_channels, out_channels or in_channels)
        self.total = Sum()

    def collect(self, x: Tensor, owner: Tensor, weight: Tensor, num_owners: int) -> Collected:
        return self.total.collect(torch.sigmoid(self.linear(x)), owner, weight, num_owners)

    def merge(self, a: Collected, b: Collected) -> Collected:
        return self.total.merge(a, b)

    def finish(self, collected: Collected, r: Tensor) -> Tensor:
        return self.total.finish(collected, r)

    def out_channels(self, in_channels: int) -> int:
        return self.linear.out_features


AGGREGATORS = Registry[type[Aggregator]](
    "aggregator", {"mean": Mean, "sum": Sum, "max": Max, "transform-sum": TransformSum}
)
