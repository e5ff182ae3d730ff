"""What a DropGNN says about a batch, beyond its prediction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from dropgnn.errors import InvalidArgument, of_kind, real_number
from dropgnn.runs.runs import Runs

AUXILIARY_SHARE = 1.0 / 3.0
"""The auxiliary loss' share of the whole, as the paper's text says; the published code takes 1/4."""

OUT_OF_MEMORY = getattr(torch, "OutOfMemoryError", torch.cuda.OutOfMemoryError)


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

    def __post_init__(self) -> None:
        of_kind("prediction", self.prediction, Tensor)
        if not callable(self.embed):
            raise InvalidArgument("embed", "must be a function that returns the embedding", got=repr(self.embed))

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
        share = AUXILIARY_SHARE if auxiliary_share is None else auxiliary_share
        auxiliary_share = real_number("auxiliary_share", share, least=0.0, most=1.0)
        number = self.prediction.size(0)
        if mask is not None and of_kind("mask", mask, Tensor, "e.g. data.train_mask").dtype != torch.bool:
            raise InvalidArgument("mask", "must be a mask of booleans", got=mask.dtype, hint="e.g. data.train_mask")
        if mask is not None and mask.shape != (number,):
            raise InvalidArgument("mask", f"must have one entry per prediction, here {number}", got=tuple(mask.shape))
        if of_kind("target", target, Tensor, "e.g. data.y").dim() == 0 or target.size(0) != number:
            got = target.size(0) if target.dim() else "a single number"
            raise InvalidArgument("target", f"must have one entry per prediction, here {number}", got=got)
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
        if not callable(criterion):
            raise InvalidArgument("criterion", "must be a function with a reduction argument", got=repr(criterion))
        main = _explained(criterion, _taken(self.prediction, mask), _taken(target, mask), reduction="mean")
        if self.auxiliary is None or self.owner is None or self.weight is None:
            return main
        rows = None if mask is None else mask[self.owner]
        single = _explained(criterion, _taken(self.auxiliary, rows), target[_taken(self.owner, rows)], reduction="none")
        weight = _taken(self.weight, rows).to(single.dtype)
        weight = weight.reshape(-1, *[1] * (single.dim() - 1)).expand_as(single)
        # Where no counted node is present in any copy there is nothing to learn from single runs.
        single = (weight * single).sum() / weight.sum().clamp(min=torch.finfo(weight.dtype).tiny)
        return (1 - auxiliary_share) * main + auxiliary_share * single


def _explained(criterion: Callable[..., Tensor], prediction: Tensor, target: Tensor, *, reduction: str) -> Tensor:
    """The criterion's value. What one of torch's says of a target that it does not take becomes an error that names it."""
    try:
        return criterion(prediction, target, reduction=reduction)
    except (IndexError, RuntimeError, TypeError, ValueError) as problem:
        if getattr(criterion, "__module__", None) != "torch.nn.functional" or isinstance(problem, OUT_OF_MEMORY):
            raise
        rule = f"must be what {criterion.__name__} takes beside predictions of shape {tuple(prediction.shape)}"
        got = f"{target.dtype} of shape {tuple(target.shape)}: {problem}"
        raise InvalidArgument("target", rule, got=got) from problem


def _taken(x: Tensor, mask: Tensor | None) -> Tensor:
    return x if mask is None else x[mask]
