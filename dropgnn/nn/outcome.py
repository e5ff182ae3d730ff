"""What a DropGNN says about a batch, beyond its prediction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from dropgnn.errors import InvalidArgument
from dropgnn.runs.runs import Runs

AUXILIARY_SHARE = 1.0 / 3.0
"""The auxiliary loss' share of the whole, as the paper's text says; the published code takes 1/4."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """Everything one forward pass found out.

    Shapes:
        prediction ``[N or G, out]``; embedding ``[N or G, F]``: the aggregated rows before the head, worked out when
        asked for; auxiliary ``[A, out]``: predictions from single runs; owner ``[A]``: the node or graph each is about;
        weight ``[A]``: how much each counts; all three ``None`` without an auxiliary head.
    """

    prediction: Tensor
    embed: Callable[[], Tensor] = field(repr=False)
    auxiliary: Tensor | None
    owner: Tensor | None
    weight: Tensor | None
    runs: Runs

    @cached_property
    def embedding(self) -> Tensor:
        return self.embed()

    @property
    def spread(self) -> Tensor | None:
        """How far predictions from single runs scatter around their mean: for every prediction a weighted standard deviation;
        ``None`` without an auxiliary head."""
        if self.auxiliary is None or self.owner is None or self.weight is None:
            return None
        x, nothing = self.auxiliary.double(), torch.zeros_like(self.prediction, dtype=torch.float64)
        total = self.weight.new_zeros(nothing.size(0)).index_add(0, self.owner, self.weight)
        share = (self.weight / total[self.owner]).unsqueeze(1)
        mean = nothing.index_add(0, self.owner, share * x)
        return nothing.index_add(0, self.owner, share * (x - mean[self.owner]).square()).sqrt()

    def loss(
        self,
        target: Tensor,
        criterion: Callable[..., Tensor] = torch.nn.functional.cross_entropy,
        *,
        mask: Tensor | None = None,
        auxiliary_share: float | None = None,
    ) -> Tensor:
        r"""The main loss and, where there is an auxiliary head, the loss of the single runs.

        .. math:: (1 - a)\, \ell(\hat y, y) + a\, \frac{\sum_i w_i\, \ell(\hat y_i, y)}{\sum_i w_i}

        Args:
            target: One entry per prediction.
            criterion: A function with a ``reduction`` argument, as those of ``torch.nn.functional``.
            mask: Which nodes or graphs count; by default all.
            auxiliary_share: a above, by default one third; only with an auxiliary head.
        """
        if auxiliary_share is not None and self.auxiliary is None:
            raise InvalidArgument("auxiliary_share", "has no effect without an auxiliary head", got=auxiliary_share)
        auxiliary_share = AUXILIARY_SHARE if auxiliary_share is None else auxiliary_share
        if mask is not None and mask.dtype != torch.bool:
            raise InvalidArgument("mask", "must be a mask of booleans", got=mask.dtype, hint="e.g. data.train_mask")
        if not 0 <= auxiliary_share <= 1:
            raise InvalidArgument("auxiliary_share", "must lie in [0, 1]", got=auxiliary_share)
        if target.size(0) != self.prediction.size(0):
            raise InvalidArgument(
                "target", f"must have one entry per prediction, here {self.prediction.size(0)}", got=target.size(0)
            )
        if target.is_floating_point() and target.shape != self.prediction.shape:
            raise InvalidArgument(
                "target",
                f"must have the shape of the prediction, {tuple(self.prediction.shape)}, where it is a real number",
                got=tuple(target.shape),
                hint="for one number per prediction use target.unsqueeze(1)",
            )
        if isinstance(criterion, torch.nn.Module):
            raise InvalidArgument(
                "criterion",
                "must be a function with a reduction argument",
                got=type(criterion).__name__,
                hint="use its twin in torch.nn.functional, e.g. mse_loss for MSELoss",
            )
        main = criterion(_taken(self.prediction, mask), _taken(target, mask), reduction="mean")
        if self.auxiliary is None or self.owner is None or self.weight is None:
            return main
        rows = None if mask is None else mask[self.owner]
        single = criterion(_taken(self.auxiliary, rows), target[_taken(self.owner, rows)], reduction="none")
        weight = _taken(self.weight, rows).to(single.dtype)
        weight = weight.reshape(-1, *[1] * (single.dim() - 1)).expand_as(single)
        # Where no counted node is present in any copy there is nothing to learn from single runs.
        single = (weight * single).sum() / weight.sum().clamp(min=torch.finfo(weight.dtype).tiny)
        return (1 - auxiliary_share) * main + auxiliary_share * single


def _taken(x: Tensor, mask: Tensor | None) -> Tensor:
    return x if mask is None else x[mask]
