r"""GIN layers as one differentiable function, its backward pass written out.

Small batches spend most of their time between operations: calling modules, recording them, walking the record backwards.
A stack of the layers

.. math:: \mathrm{ReLU}\,\mathrm{BN}\,\big(W_2\,\mathrm{ReLU}\,\mathrm{BN}(W_1 h + b_1) + b_2\big), \qquad
    h_s = (1 + \varepsilon)\, x_s + \sum_{t \in N(s)} x_t

needs neither. Nothing is computed here that ``shared.py`` would not compute, module by module, in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch_geometric.nn import GINConv

from dropgnn.engine.allowed import has_hooks
from dropgnn.engine.compiled import norm, products
from dropgnn.engine.compiled.tensors import compiles
from dropgnn.engine.layers import Layer
from dropgnn.engine.norm import WeightedBatchNorm, update_all_running
from dropgnn.engine.plan import Level, SharedPlan

PARAMETERS, TAPE = 4, 6
"""What each half of a layer has, weight and bias of the linear map, gain and shift of the norm; and what it leaves for
the backward pass: rows before the linear map, between and behind, and the norm's shares, centre and scale."""


class _Half(NamedTuple):
    """A linear map and the norm behind it, with its ReLU."""

    linear: torch.nn.Linear
    norm: WeightedBatchNorm

    def parameters(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return self.linear.weight, self.linear.bias, self.norm.weight, self.norm.bias


def run_fused(layers: Sequence[Layer], x: Tensor, plan: SharedPlan) -> list[Tensor] | None:
    """Rows before the first layer and after each, or ``None`` where a layer is not of this form."""
    halves = [_halves(layer) for layer in layers]
    if not compiles(x) or any(half is None for half in halves) or any(level.silent for level in plan.levels):
        return None
    if any(level.rows < 2 for level in plan.levels):  # the norm says what is wrong with that
        return None
    known = [half for half in halves if half is not None]
    factors = [1.0 + float(layer.message.eps) for layer in layers]  # type: ignore[arg-type]
    means = [layer.message.aggr == "mean" for layer in layers]
    epsilons = [(first.norm.eps, second.norm.eps) for first, second in known]
    parameters = chain.from_iterable(half.parameters() for pair in known for half in pair)
    found = _Stack.apply(plan.levels[1:], factors, means, epsilons, x, *parameters)
    rows, statistics = found[: len(layers)], found[len(layers) :]
    norms = [half.norm for pair in known for half in pair]
    counts = [level.rows for level in plan.levels[1:] for _ in range(2)]
    update_all_running(norms, statistics[::2], statistics[1::2], counts)
    return [x, *rows]


def _halves(layer: Layer) -> tuple[_Half, _Half] | None:
    """The two halves of a GIN layer whose norms take batch statistics, or ``None`` for any other layer."""
    conv = layer.message
    if type(conv) is not GINConv or conv.aggr not in ("add", "sum", "mean") or conv.eps.requires_grad:
        return None
    if not layer.in_order or len(layer.behind) != 2 or type(layer.behind[0]) is not torch.nn.Sequential:
        return None
    modules = (*layer.behind[0], layer.behind[1])
    kinds = (torch.nn.Linear, WeightedBatchNorm, torch.nn.Linear, WeightedBatchNorm)
    if tuple(map(type, modules)) != kinds or any(map(_is_special, (layer.behind[0], *modules))):
        return None
    return _Half(*modules[:2]), _Half(*modules[2:])


def _is_special(module: torch.nn.Module) -> bool:
    """Whether calling the module does more, or less, than a training step of its plain form."""
    if has_hooks(module):
        return True
    if isinstance(module, WeightedBatchNorm):
        return not (module.training and module.relu and module.affine and module.bias is not None)
    return isinstance(module, torch.nn.Linear) and module.bias is None


class _Stack(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, levels: Sequence[Level], factors: Any, means: Any, epsilons: Any, x: Tensor, *parameters: Tensor
    ) -> tuple[Tensor, ...]:
        ctx.levels, ctx.factors, ctx.means, ctx.rows = levels, factors, means, x.size(0)
        rows, statistics, tape, given = [], [], [], _by(PARAMETERS, parameters)
        for level, factor, mean, eps in zip(levels, factors, means, epsilons, strict=True):
            x = torch.from_numpy(products.hear(x.numpy(), level.num_states, *_heard(level), factor, mean))
            for epsilon in eps:
                weight, bias, gain, shift = next(given)
                between = torch.addmm(bias, x, weight.t())
                arrays = norm.forward(between.numpy(), level.weight.numpy(), gain.numpy(), shift.numpy(), epsilon, True)
                out, centre, variance, scale, share = map(torch.from_numpy, arrays)
                tape += [x, between, out, share, centre, scale]
                statistics += [centre, variance]
                x = out
            rows.append(x)
        # Outputs of ours are on the tape: kept any other way they would keep themselves alive.
        ctx.save_for_backward(*parameters, *tape)
        ctx.parameters = len(parameters)
        ctx.mark_non_differentiable(*statistics)
        return (*rows, *statistics)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        parameters, tape = ctx.saved_tensors[: ctx.parameters], ctx.saved_tensors[ctx.parameters :]
        halves = list(zip(_by(PARAMETERS, parameters), _by(TAPE, tape), strict=True))
        collected: list[tuple[Tensor, ...]] = []
        arriving = None
        for number in reversed(range(len(ctx.levels))):
            level = ctx.levels[number]
            gradient = gradients[number] if arriving is None else arriving.add_(gradients[number])
            for _ in range(2):
                gradient, found = _half_backward(gradient, *halves.pop())
                collected.insert(0, found)
            if number or ctx.needs_input_grad[4]:
                below = ctx.levels[number - 1].num_states if number else ctx.rows
                heard = (*_heard(level), ctx.factors[number], ctx.means[number])
                arriving = torch.from_numpy(products.hear_back(gradient.numpy(), below, *heard))
        return None, None, None, None, arriving if ctx.needs_input_grad[4] else None, *chain.from_iterable(collected)


def _half_backward(
    gradient: Tensor, parameters: tuple[Tensor, ...], tape: tuple[Tensor, ...]
) -> tuple[Tensor, tuple[Tensor, Tensor, Tensor, Tensor]]:
    """The gradients of the rows, and of weight, bias, gain and shift."""
    (weight, _, gain, _), (x, *normed) = parameters, tape
    arrays = [tensor.detach().numpy() for tensor in (gradient.contiguous(), *normed, gain)]
    between, to_gain, to_shift = map(torch.from_numpy, norm.backward(*arrays, True))
    # The norm takes a bias in front of it away again, so that its gradient is zero, not merely small.
    return between @ weight, (between.t() @ x, torch.zeros_like(gain), to_gain, to_shift)


def _heard(level: Level) -> tuple[Any, Any, Any]:
    return level.own.numpy(), level.edge_ptr.numpy(), level.sender.numpy()


def _by(number: int, tensors: Sequence[Tensor]) -> Iterator[tuple[Tensor, ...]]:
    """So many tensors at a time."""
    for first in range(0, len(tensors), number):
        yield tuple(tensors[first : first + number])
