"""Batch norm that knows how much each row counts.

While training, batch statistics are taken over all rows of all copies, each with the weight of its copy. An engine
says the weights with :func:`row_weights`; outside of it :class:`WeightedBatchNorm` is ``torch.nn.BatchNorm1d``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm

from dropgnn.errors import InvalidArgument, real_number, whole_number, yes_or_no
from dropgnn.nn.modules import inside
from dropgnn.ops import ops_for
from dropgnn.ops.torch_norm import TorchNorm, count_over_ranks

MAX_FEATURES = 2**24
"""The widest rows; more is a typing error, and takes memory before anything can be said."""


class RowWeights(NamedTuple):
    """How much each row counts, shape ``[M]``, and how many rows they stand for where equal rows are one."""

    weight: Tensor
    rows: int


_weights: ContextVar[RowWeights | None] = ContextVar("row_weights", default=None)


@contextmanager
def row_weights(weights: RowWeights | None) -> Iterator[None]:
    """Within this context the rows of every weighted norm's input count as given; ``None`` means all alike."""
    token = _weights.set(weights)
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

    Args:
        num_features, arguments: As for ``torch.nn.BatchNorm1d``.
        relu: Whether a ReLU follows, which then costs nothing extra.

    Shapes:
        input and output ``[M, F]``.
    """

    relu = False
    group: Any = None
    """The processes over whose rows batch statistics are taken while training; by default those of this one."""

    def __init__(self, num_features: int, *, relu: bool = False, **arguments: Any) -> None:
        num_features = whole_number("num_features", num_features, least=1, most=MAX_FEATURES)
        if "eps" in arguments:
            arguments["eps"] = real_number("eps", arguments["eps"], least=1e-38)
        if arguments.get("momentum") is not None:
            arguments["momentum"] = real_number("momentum", arguments["momentum"], least=0.0, most=1.0)
        super().__init__(num_features, **arguments)
        self.relu = yes_or_no("relu", relu)

    def forward(self, x: Tensor) -> Tensor:
        if x.dim() > 1 and x.size(1) != self.num_features:
            raise InvalidArgument("x", f"must have the norm's {self.num_features} features", got=x.size(1))
        given = _weights.get()
        if self.group is not None and self.training:
            return self._over_ranks(x, given)
        if x.size(0) == 0 or (given is not None and given.rows == 0):  # nobody is there: nothing to learn from
            return x
        if given is None or not (self.training or self.running_mean is None):
            plain = super().forward(x)
            return plain.relu() if self.relu else plain
        self._check(x, given, given.rows)
        ops = ops_for(x, given.rows)
        out, mean, variance = ops.batch_norm(x, given.weight, *self._affine(x), self.eps, self.relu)
        self.update_running(mean, variance, given.rows)
        return out

    def _over_ranks(self, x: Tensor, given: RowWeights | None) -> Tensor:
        """The same over the rows of all ranks; one without rows takes part, or the others would wait for it."""
        given = RowWeights(x.new_ones(x.size(0)), x.size(0)) if given is None else given
        rows = count_over_ranks(given.rows, self.group, x.device)
        self._check(x, given, rows)
        out, mean, variance = TorchNorm.apply(x, given.weight, *self._affine(x), self.eps, self.relu, self.group)
        self.update_running(mean, variance, rows)
        return out

    def _check(self, x: Tensor, given: RowWeights, rows: int) -> None:
        if given.weight.numel() != x.size(0):
            raise InvalidArgument(
                "row weights",
                f"must match the {x.size(0)} rows that reach the norm",
                got=given.weight.numel(),
                hint="weighted batch norm belongs on node rows",
            )
        if rows < 2:
            raise InvalidArgument("x", "must have more than one row where batch statistics are taken", got=rows)

    def _affine(self, x: Tensor) -> tuple[Tensor, Tensor]:
        gain = x.new_ones(self.num_features) if self.weight is None else self.weight
        return gain, x.new_zeros(self.num_features) if self.bias is None else self.bias

    @torch.no_grad()
    def update_running(self, mean: Tensor, variance: Tensor, rows: int) -> None:
        """Move the running statistics towards those of a batch of so many rows."""
        running_mean, running_var, seen = self.running_mean, self.running_var, self.num_batches_tracked
        if running_mean is None or running_var is None or seen is None:
            return
        seen.add_(1)
        momentum = 1.0 / float(seen) if self.momentum is None else self.momentum
        running_mean.lerp_(mean.to(running_mean.dtype), momentum)
        running_var.lerp_((variance * (rows / (rows - 1))).to(running_var.dtype), momentum)


def use_weighted_batch_norm(module: torch.nn.Module) -> None:
    """Make every plain ``BatchNorm1d`` inside ``module`` a :class:`WeightedBatchNorm`, which can look over several processes.

    Only the class changes (``WeightedBatchNorm`` has no state of its own), so parameters, optimisers, hooks and state
    dicts stay as they are.
    """
    for child in module.modules():
        if type(child) is torch.nn.BatchNorm1d:
            child.__class__ = WeightedBatchNorm


def looks_over_ranks(module: torch.nn.Module) -> bool:
    """Whether a batch norm inside ``module`` takes its statistics from several processes."""
    return any(isinstance(child, WeightedBatchNorm) and child.group is not None for child in inside(module))


def takes_batch_statistics(module: torch.nn.Module, *, unweighted: bool = False) -> bool:
    """Whether a batch norm inside ``module`` looks at the batch; with ``unweighted``, one that takes no weights."""
    return any(_takes(child, unweighted=unweighted) for child in inside(module))


def find_batch_norm(module: torch.nn.Module, *, unweighted: bool = False) -> str | None:
    """The name of a batch norm inside ``module`` that takes its statistics from the batch: one that is training, or
    that never keeps any."""
    named = module.named_modules() if takes_batch_statistics(module, unweighted=unweighted) else ()
    return next((name for name, child in named if _takes(child, unweighted=unweighted)), None)


def _takes(module: torch.nn.Module, *, unweighted: bool) -> bool:
    takes = isinstance(module, _BatchNorm) and (module.training or module.running_mean is None)
    return takes and not (unweighted and isinstance(module, WeightedBatchNorm))
