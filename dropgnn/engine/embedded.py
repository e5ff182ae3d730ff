"""What an engine hands on: the embeddings of all nodes in all copies, however they are stored."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from dropgnn.engine.heads import predict
from dropgnn.runs.runs import Runs

ROUNDING = 0.8
"""Entries of an owner count as equal that are no further apart than the unit of rounding to this power, times the largest of
them: 3e-13 of it in double precision, 3e-6 in single; and a little more, see ``UNITS``."""

UNITS = 8
"""Units of rounding of the largest entry in a column, which a norm over all rows may leave in any of them."""

Transform = Callable[[Tensor], Tensor]
"""A function of rows, one at a time."""


class Embedded(ABC):
    """Embeddings of owners (nodes or, where the encoder pools, graphs) in copies, and how much each copy counts."""

    runs: Runs

    @abstractmethod
    def sums(self, transform: Transform | None = None) -> Tensor:
        """For each owner the weighted sum of its rows, transformed first if asked, shape ``[owners, F]``."""

    @abstractmethod
    def maxima(self) -> Tensor:
        """For each owner the largest entries over its rows of positive weight, -inf where there is none."""

    @abstractmethod
    def seen(self) -> Tensor:
        """For each owner the weight of the copies where it is present, shape ``[owners]``, float64."""

    @abstractmethod
    def predict_rows(self, head: torch.nn.Module) -> tuple[Tensor, Tensor, Tensor]:
        """``head`` on single rows: predictions ``[A, out]``, the owner of each and its weight."""

    @abstractmethod
    def predict_copies(self, head: torch.nn.Module) -> Tensor:
        """``head`` on the rows of each copy, ``head(x, copy, num_copies)``, shape ``[C, out]``."""

    def predict_means(
        self, head: torch.nn.Module, auxiliary: torch.nn.Module | None
    ) -> tuple[Tensor, Tensor | None] | None:
        """``head`` on every graph's nodes with their mean rows, ``[G, out]``, and ``auxiliary``, where there is one, on
        each copy, both at once; ``None`` where that is no less work than one after the other."""
        return None


@dataclass(frozen=True, eq=False)
class Rows(Embedded):
    """One row for every owner in every copy.

    Shapes:
        x ``[M, F]``; owner, copy, weight ``[M]``.
    """

    x: Tensor
    owner: Tensor
    copy: Tensor
    weight: Tensor
    num_owners: int
    runs: Runs

    def sums(self, transform: Transform | None = None) -> Tensor:
        x = self.x if transform is None else transform(self.x)
        return x.new_zeros(self.num_owners, x.size(1)).index_add(
            0, self.owner, self.weight.to(x.dtype).unsqueeze(1) * x
        )

    def maxima(self) -> Tensor:
        counts = self.weight > 0
        return maxima(self.x[counts], self.owner[counts], self.num_owners)

    def seen(self) -> Tensor:
        return self.weight.new_zeros(self.num_owners).index_add(0, self.owner, self.weight)

    def predict_rows(self, head: torch.nn.Module) -> tuple[Tensor, Tensor, Tensor]:
        return predict(head, self.x), self.owner, self.weight

    def predict_copies(self, head: torch.nn.Module) -> Tensor:
        return predict(head, self.x, self.copy, self.runs.num_copies)


def maxima(x: Tensor, owner: Tensor, num_owners: int, times: Tensor | None = None) -> Tensor:
    """The largest entries of each owner's rows, -inf where it has none. The gradient of a tie is shared among the rows; where
    rows stand for several, ``times`` says for how many.

    Entries tie that are equal up to rounding: copies may come to the same number by different sums, and which of them is the
    largest then should not be for the order of addition to say.
    """
    lowest = x.new_full((num_owners, x.size(1)), -torch.inf)
    highest = lowest.scatter_reduce(0, owner.unsqueeze(1).expand_as(x), x.detach(), "amax")
    if not (x.requires_grad and x.numel()):
        return highest
    size, eps = x.detach().abs(), torch.finfo(x.dtype).eps
    own = torch.zeros_like(lowest).scatter_reduce(0, owner.unsqueeze(1).expand_as(x), size, "amax")
    near = eps**ROUNDING * own + UNITS * eps * size.amax(dim=0)
    tied = (x >= (highest - near)[owner]).to(x.dtype)
    tied = tied if times is None else tied * times.to(x.dtype).unsqueeze(1)
    ties = torch.zeros_like(lowest).index_add(0, owner, tied)
    shared = torch.zeros_like(lowest).index_add(0, owner, tied / ties[owner] * x)
    return highest + (shared - shared.detach())
