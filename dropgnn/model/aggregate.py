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

from dropgnn.engine.embedded import Embedded
from dropgnn.errors import InvalidArgument, of_kind
from dropgnn.nn.widths import check_matrix, check_weights, width
from dropgnn.registry import Registry

FROM_ENGINES = "engines make it: ENGINES['batched'](encoder, mode, graph, runs)"


class Collected(NamedTuple):
    """A partial result: value ``[N, F]``, weight ``[N]``."""

    value: Tensor
    weight: Tensor


def _check(*collected: Collected) -> None:
    """Raise unless these are partial results for the same owners. Looks at no entry."""
    for part in collected:
        kind = isinstance(part, Collected) and isinstance(part.value, Tensor) and isinstance(part.weight, Tensor)
        if not kind or part.value.dim() != 2 or part.weight.shape != part.value.shape[:1]:
            got = tuple(tuple(getattr(item, "shape", ())) for item in part) if kind else type(part).__name__
            raise InvalidArgument("collected", "must have a value [N, F] and a weight [N]", got=got, hint="see collect")
        if part.value.shape != collected[0].value.shape:
            rule = f"must be of the same shape, here {tuple(collected[0].value.shape)}"
            raise InvalidArgument("collected", rule, got=tuple(part.value.shape))


def _check_all(collected: Collected, r: Tensor) -> None:
    """Raise unless ``collected`` is a partial result and ``r`` a number for each of its owners."""
    _check(collected)
    if not isinstance(r, Tensor) or r.shape != collected.weight.shape:
        got = tuple(r.shape) if isinstance(r, Tensor) else type(r).__name__
        raise InvalidArgument("r", f"must be a tensor with {collected.weight.numel()} entries", got=got)


class Aggregator(torch.nn.Module, ABC):
    """Turns the embeddings of a node in all runs into one."""

    @abstractmethod
    def collect(self, embedded: Embedded) -> Collected:
        """Reduce the rows of each node to one."""

    @abstractmethod
    def merge(self, a: Collected, b: Collected) -> Collected:
        """One partial result from two."""

    @abstractmethod
    def finish(self, collected: Collected, r: Tensor) -> Tensor:
        """The embedding ``[N, F]``, where r ``[N]`` is the number of copies a node averages over."""


class _Additive(Aggregator):
    """Aggregators built on the weighted sum."""

    def collect(self, embedded: Embedded) -> Collected:
        of_kind("embedded", embedded, Embedded, FROM_ENGINES)
        return Collected(embedded.sums(), embedded.seen())

    def merge(self, a: Collected, b: Collected) -> Collected:
        _check(a, b)
        return Collected(a.value + b.value, a.weight + b.weight)

    @staticmethod
    def mean(collected: Collected) -> Tensor:
        """The weighted mean; zeros where nothing was seen."""
        safe = torch.where(collected.weight > 0, collected.weight, torch.ones_like(collected.weight))
        return collected.value / safe.to(collected.value.dtype).unsqueeze(1)


class Mean(_Additive):
    r""":math:`\sum_i w_i x_i / \sum_i w_i` over the copies where the node is present. The paper's choice."""

    def finish(self, collected: Collected, r: Tensor) -> Tensor:
        _check_all(collected, r)
        return self.mean(collected)


class Sum(_Additive):
    r""":math:`r` times the mean; for random runs in which the node is always present, the plain sum."""

    def finish(self, collected: Collected, r: Tensor) -> Tensor:
        _check_all(collected, r)
        return self.mean(collected) * r.to(collected.value.dtype).unsqueeze(1)


class Max(Aggregator):
    """The largest value of each feature over all copies of positive weight where the node is present."""

    def collect(self, embedded: Embedded) -> Collected:
        of_kind("embedded", embedded, Embedded, FROM_ENGINES)
        return Collected(embedded.maxima(), embedded.seen())

    def merge(self, a: Collected, b: Collected) -> Collected:
        _check(a, b)
        return Collected(torch.maximum(a.value, b.value), a.weight + b.weight)

    def finish(self, collected: Collected, r: Tensor) -> Tensor:
        _check_all(collected, r)
        return collected.value.masked_fill((collected.weight <= 0).unsqueeze(1), 0.0)


class TransformSum(_Additive):
    r"""Transform, then sum: :math:`\sum_i \sigma(W x_i + b)` with a sigmoid (Section 2.3).

    Unlike the mean this sees the *distribution* of a node's embeddings, not only its centre.

    Args:
        in_channels: Width of the rows.
        out_channels: Width of the result; by default the same.
    """

    def __init__(self, in_channels: int, out_channels: int | None = None) -> None:
        super().__init__()
        in_channels = width("in_channels", in_channels)
        out_channels = in_channels if out_channels is None else width("out_channels", out_channels)
        check_weights(in_channels * out_channels, in_channels=in_channels, out_channels=out_channels)
        self.linear = torch.nn.Linear(in_channels, out_channels)

    def collect(self, embedded: Embedded) -> Collected:
        of_kind("embedded", embedded, Embedded, FROM_ENGINES)
        return Collected(embedded.sums(self._transformed), embedded.seen())

    def _transformed(self, x: Tensor) -> Tensor:
        check_matrix(x, self.linear.in_features, self.linear.weight, "as the aggregator takes them")
        return torch.sigmoid(self.linear(x))

    def finish(self, collected: Collected, r: Tensor) -> Tensor:
        _check_all(collected, r)
        return self.mean(collected) * r.to(collected.value.dtype).unsqueeze(1)


AGGREGATORS = Registry[type[Aggregator]](
    "aggregator", {"mean": Mean, "sum": Sum, "max": Max, "transform-sum": TransformSum}
)


def aggregator_by_name(name: str, encoder: torch.nn.Module) -> Aggregator:
    """An aggregator for an encoder, whose width a transform must know."""
    of_kind("encoder", encoder, torch.nn.Module)
    kind = AGGREGATORS[name]
    if kind is not TransformSum:
        return kind()
    channels = getattr(encoder, "out_channels", None)
    if not isinstance(channels, int):
        raise InvalidArgument(
            "aggregator",
            "must be given its width: the encoder has no out_channels",
            got=repr(name),
            hint="pass aggregator=TransformSum(in_channels=...)",
        )
    return TransformSum(channels)
