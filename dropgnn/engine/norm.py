"""Batch norm that knows how much each row counts.

While training, batch statistics are taken over all rows of all copies, each with the weight of its copy. An engine
says the weights with :func:`row_weights`; outside of it :class:`WeightedBatchNorm` is ``torch.nn.BatchNorm1d``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm

from dropgnn.errors import InvalidArgument

_weights: ContextVar[Tensor | None] = ContextVar("row_weights", default=None)


@contextmanager
def row_weights(weight: Tensor | None) -> Iterator[None]:
    """Within this context row i of every weighted norm's input counts ``weight[i]``; ``None`` means all alike."""
    token = _weights.set(weight)
    try:
        yield
    finally:
        _weights.reset(token)


class WeightedBatchNorm(torch.nn.BatchNorm1d):
    r"""Batch norm with weighted statistics.

    .. math::
        \mu = \frac{\sum_i w_i x_i}{\sum_i w_i}, \qquad
        \sigma^2 = \frac{\sum_i w_i (x_i - \mu)^2}{\sum_i w_i}

    As in ``torch.nn.BatchNorm1d`` the running variance is multiplied by :math:`M / (M - 1)`, where M is the number of
    rows, and the running statistics move once per call.

    Shapes:
        input and output ``[M, F]``.
    """

    def forward(self, x: Tensor) -> Tensor:
        weight = _weights.get()
        if x.size(0) == 0:
            return x
        if weight is None or not self.training:
            return super().forward(x)
        if weight.numel() != x.size(0):
            raise InvalidArgument(
                "row weights",
                f"must match the {x.size(0)} rows that reach the norm",
                got=weight.numel(),
                hint="weighted batch norm belongs on node rows",
            )
        if x.size(0) < 2:
            raise InvalidArgument("x", "must have more than one row where batch statistics are taken", got=x.size(0))
        share = (weight / weight.sum()).to(x.dtype)
        mean = share @ x
        variance = share @ (x - mean).square()
        self._update_running(mean.detach(), variance.detach() * (x.size(0) / (x.size(0) - 1)))
        out = (x - mean) * torch.rsqrt(variance + self.eps)
        out = out if self.weight is None else out * self.weight
        return out if self.bias is None else out + self.bias

    @torch.no_grad()
    def _update_running(self, mean: Tensor, variance: Tensor) -> None:
        if self.running_mean is None or self.running_var is None or self.num_batches_tracked is None:
            return
        self.num_batches_tracked.add_(1)
        momentum = 1.0 / float(self.num_batches_tracked) if self.momentum is None else self.momentum
        self.running_mean.lerp_(mean, momentum)
        self.running_var.lerp_(variance, momentum)


def weigh_norms(module: torch.nn.Module, *, leave: Iterable[torch.nn.Module] = ()) -> None:
    """Teach every plain ``BatchNorm1d`` inside ``module`` to take weights, except inside the modules to ``leave``.

    Only the class changes (``WeightedBatchNorm`` has no state of its own), so parameters, optimisers, hooks and state
    dicts stay as they are.
    """
    left = {id(child) for whole in leave for child in whole.modules()}
    for child in module.modules():
        if type(child) is torch.nn.BatchNorm1d and id(child) not in left:
            child.__class__ = WeightedBatchNorm


def takes_batch_statistics(module: torch.nn.Module, *, unweighted: bool = False) -> bool:
    """Whether ``module`` is training with a batch norm inside; with ``unweighted``, with one that takes no weights."""
    return any(
        isinstance(child, _BatchNorm) and child.training and not (unweighted and isinstance(child, WeightedBatchNorm))
        for child in module.modules()
    )
