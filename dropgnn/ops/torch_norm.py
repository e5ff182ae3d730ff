"""Weighted batch norm for any device, and over all ranks that train together; ``torch.nn.SyncBatchNorm`` needs a GPU."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed
from torch import Tensor
from torch.autograd.function import once_differentiable


class TorchNorm(torch.autograd.Function):
    r"""Weighted batch norm, and a ReLU if asked, with the backward pass in closed form.

    With :math:`\sum_i w_i = 1`, :math:`\hat x_i = (x_i - \mu) / s` and :math:`s = \sqrt{\sigma^2 + \varepsilon}`,

    .. math::
        \frac{\partial L}{\partial x_i} =
        \frac{\gamma}{s} \Big( g_i - w_i \sum_j g_j - w_i \hat x_i \sum_j g_j \hat x_j \Big)

    Sums are over the rows of all ranks of ``group``, or of this process where it is ``None``. Gradients of gain and bias are
    those of this process' rows: they are added up with all other gradients.
    """

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, weight: Tensor, gain: Tensor, bias: Tensor, eps: float, relu: bool, group: Any = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        rows = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x  # sums need more digits than rows have
        (total,) = _over_ranks(group, weight.sum().unsqueeze(0))
        share = (weight / total).to(rows.dtype)
        (mean,) = _over_ranks(group, share @ rows)
        centred = rows - mean
        (variance,) = _over_ranks(group, share @ centred.square())
        scale = torch.rsqrt(variance + eps)
        unit = centred.mul_(scale)
        out = torch.addcmul(bias, unit, gain)
        out = (out.relu_() if relu else out).to(x.dtype)
        ctx.relu, ctx.group, ctx.dtype = relu, group, x.dtype
        kept = out if relu else unit  # nobody looks at it without a ReLU, and others may write on what leaves us
        ctx.save_for_backward(unit, share, scale, gain, kept)
        ctx.mark_non_differentiable(mean, variance)
        return out, mean, variance

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        unit, share, scale, gain, out = ctx.saved_tensors
        gradient = (gradients[0] * (out > 0) if ctx.relu else gradients[0]).to(unit.dtype)
        total, along = gradient.sum(dim=0), (gradient * unit).sum(dim=0)
        all_total, all_along = _over_ranks(ctx.group, total, along)
        to_x = (gradient - share.unsqueeze(1) * torch.addcmul(all_total, unit, all_along)).mul_(scale * gain)
        return to_x.to(ctx.dtype), None, along.to(gain.dtype), total.to(gain.dtype), None, None, None


def count_over_ranks(rows: int, group: Any, device: torch.device) -> int:
    """The number of rows on all ranks."""
    (total,) = _over_ranks(group, torch.tensor([rows], device=device))
    return int(total)


def _over_ranks(group: Any, *sums: Tensor) -> tuple[Tensor, ...]:
    """The sums over all ranks, in one message."""
    if group is None:
        return sums
    together = torch.cat(sums)
    torch.distributed.all_reduce(together, group=group)
    return together.split([one.numel() for one in sums])
