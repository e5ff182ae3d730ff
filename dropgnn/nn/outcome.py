"""What a DropGNN says about a batch, beyond its prediction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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
        prediction ``[N or G, out]``; embedding ``[N or G, F]``: the aggregated rows before the head; auxiliary
        ``[A, out]``: predictions from single runs, or ``None``; owner ``[A]``: the node or graph each is about;
        weight ``[A]``: how much each counts.
    """

    prediction: Tensor
    embedding: Tensor
    auxiliary: Tensor | None
    owner: Tensor
    weight: Tensor
    runs: Runs

    def loss(
        self,
        target: Tensor,
        criterion: Callable[..., Tensor] = torch.nn.functional.cross_entropy,
        *,
        mask: Tensor | None = None,
        auxiliary_share: float = AUXILIARY_SHARE,
    ) -> Tensor:
        r"""The main loss and, where there is an auxiliary head, the loss of the single runs.

        .. math:: (1 - a)\, \ell(\hat y, y) + a\, \frac{\sum_i w_i\, \ell(\hat y_i, y)}{\sum_i w_i}

        Args:
            target: One entry per prediction.
            criterion: A function with a ``reduction`` argument, as those of ``torch.nn.functional``.
            mask: Which nodes or graphs count; by default all.
            auxiliary_share: a above.
        """
        if not 0 <= auxiliary_share <= 1:
            raise InvalidArgument("auxiliary_share", "must lie in [0, 1]", got=auxiliary_share)
        if target.size(0) != self.prediction.size(0):
            raise InvalidArgument(
                "target", f"must have one entry per prediction, here {self.prediction.size(0)}", got=target.size(0)
            )
        counted = slice(None) if mask is None else mask
        main = criterion(self.prediction[counted], target[counted], reduction="mean")
        if self.auxiliary is None:
            return main
        rows = slice(None) if mask is None else mask[self.owner]
        single = criterion(self.auxiliary[rows], target[self.owner[rows]], reduction="none")
        weight = self.weight[rows].to(single.dtype)
        weight = weight.reshape(-1, *[1] * (single.dim() - 1)).expand_as(single)
        single = (weight * single).sum() / weight.sum()
        return (1 - auxiliary_share) * main + auxiliary_share * single
