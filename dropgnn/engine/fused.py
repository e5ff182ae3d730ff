r"""GIN and GINE layers as one differentiable function, its backward pass written out.

Small batches spend most of their time between operations: calling modules, recording them, walking the record backwards.
A stack of the layers

.. math:: \mathrm{ReLU}\,\mathrm{BN}\,\big(W_2\,\mathrm{ReLU}\,\mathrm{BN}(W_1 h + b_1) + b_2\big), \qquad
    h_s = (1 + \varepsilon)\, x_s + \sum_{t \in N(s)} x_t

needs neither. With features on the edges, GINE, h has :math:`\mathrm{ReLU}(x_t + W e_{ts})` in place of :math:`x_t`. Nothing is
computed here that ``shared.py`` would not compute, module by module, in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch_geometric.nn import GINConv, GINEConv

from dropgnn.engine.compiled import edge_features, norm, products
from dropgnn.engine.compiled.tensors import compiles
from dropgnn.engine.edge_features import can_hear_features, kinds_of, map_features
from dropgnn.engine.layers import Layer
from dropgnn.engine.norm import WeightedBatchNorm
from dropgnn.engine.plan import Level, SharedPlan
from dropgnn.graph import Graph

X = 3
"""The place of x among the arguments of the function."""

PARAMETERS, TAPE = 4, 6
"""What each half of a layer has, weight and bias of the linear map, gain and shift of the norm; and what it leaves for
the backward pass: rows before the linear map, between and behind, and the norm's shares, centre and scale."""


class _Half(NamedTuple):
    """A linear map and the norm behind it, with its ReLU."""

    linear: torch.nn.Linear
    norm: WeightedBatchNorm

    def parameters(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return self.linear.weight, self.linear.bias, self.norm.weight, self.norm.bias


class _Hearing(NamedTuple):
    """What the states of a level hear: their own row, as often as ``factor`` says, and the sum or mean of others.

    Shapes:
        own ``[S]``, edge_ptr ``[S + 1]``, sender ``[K]``; edge ``[K]`` and kind ``[E]`` where edges have features.
    """

    own: Any
    edge_ptr: Any
    sender: Any
    edge: Any
    kind: Any
    factor: float
    mean: bool

    @classmethod
    def of(cls, layer: Layer, level: Level, kind: Tensor | None) -> _Hearing:
        return cls(
            level.own.numpy(),
            level.edge_ptr.numpy(),
            level.sender.numpy(),
            None if kind is None else level.edge.numpy(),
            None if kind is None else kind.numpy(),
            1.0 + float(layer.message.eps),  # type: ignore[arg-type]
            layer.message.aggr == "mean",
        )

    def forward(self, x: Tensor, features: Tensor | None) -> Tensor:
        if features is None:
            plain = (self.own, self.edge_ptr, self.sender, self.factor, self.mean)
            return torch.from_numpy(products.hear(x.numpy(), self.own.size, *plain))
        return torch.from_numpy(edge_features.hear(x.numpy(), features.numpy(), *self))

    def backward(
        self, arriving: Tensor, gradient: Tensor, x: Tensor, features: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        """The gradients of the rows below, added to what is ``arriving`` there anyway, and of the features."""
        if features is None:
            plain = (self.own, self.edge_ptr, self.sender, self.factor, self.mean)
            return torch.from_numpy(products.hear_back_onto(arriving.numpy(), gradient.numpy(), *plain)), None
        arrays = (tensor.detach().numpy() for tensor in (gradient, x, features))
        to_x, to_features = map(torch.from_numpy, edge_features.hear_back(*arrays, *self))
        return to_x.add_(arriving), to_features


def run_fused(layers: Sequence[Layer], x: Tensor, plan: SharedPlan, graph: Graph) -> list[Tensor] | None:
    """Rows before the first layer and after each, or ``None`` where a layer is not of this form."""
    if not compiles(x) or any(level.silent for level in plan.levels):
        return None
    halves = [_halves(layer, x) for layer in layers]
    if any(half is None for half in halves):
        return None
    if any(level.rows < 2 for level in plan.levels):  # the norm says what is wrong with that
        return None
    known = [pair for pair in halves if pair is not None]
    hearings, features = [], []
    for layer, level in zip(layers, plan.levels[1:], strict=True):
        kinds = kinds_of(plan) if isinstance(layer.message, GINEConv) else None
        hearings.append(_Hearing.of(layer, level, None if kinds is None else kinds.of_edge))
        features.append(None if kinds is None else map_features(layer.message, x, graph, kinds))
    norms = [(first.norm, second.norm) for first, second in known]
    parameters = chain.from_iterable(half.parameters() for pair in known for half in pair)
    return [x, *_Stack.apply(hearings, norms, plan.levels[1:], x, *features, *parameters)]


def _halves(layer: Layer, x: Tensor) -> tuple[_Half, _Half] | None:
    """The two halves of a GIN or GINE layer whose norms take batch statistics, or ``None`` for any other layer."""
    conv = layer.message
    if type(conv) is GINConv:
        if conv.aggr not in ("add", "sum", "mean") or conv.eps.requires_grad:
            return None
    elif type(conv) is not GINEConv or not can_hear_features(conv, x):
        return None
    if layer.update is not None or len(layer.behind) != 2 or type(layer.behind[0]) is not torch.nn.Sequential:
        return None
    modules = (*layer.behind[0], layer.behind[1])
    kinds = (torch.nn.Linear, WeightedBatchNorm, torch.nn.Linear, WeightedBatchNorm)
    if tuple(map(type, modules)) != kinds or any(map(_is_special, (layer.behind[0], *modules))):
        return None
    return _Half(*modules[:2]), _Half(*modules[2:])


def _is_special(module: torch.nn.Module) -> bool:
    """Whether calling the module does more, or less, than a training step of its plain form."""
    if isinstance(module, WeightedBatchNorm):
        plain = module.training and module.relu and module.affine and module.bias is not None
        return not plain or module.group is not None
    return isinstance(module, torch.nn.Linear) and module.bias is None


class _Stack(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, hearings: Sequence[_Hearing], norms: Sequence[tuple[WeightedBatchNorm, WeightedBatchNorm]],
        levels: Sequence[Level], x: Tensor, *given: Tensor | None,
    ) -> tuple[Tensor, ...]:  # fmt: skip
        features, parameters = given[: len(hearings)], given[len(hearings) :]
        rows, statistics, tape, known = [x], [], [], _by(PARAMETERS, parameters)
        for hearing, feature, pair, level in zip(hearings, features, norms, levels, strict=True):
            x, counts = hearing.forward(x, feature), level.weight.numpy()
            for module in pair:
                weight, bias, gain, shift = next(known)
                between = torch.addmm(bias, x, weight.t())
                arrays = norm.forward(between.numpy(), counts, gain.numpy(), shift.numpy(), module.eps, True)
                out, centre, variance, scale, share = map(torch.from_numpy, arrays)
                statistics.append((module, centre, variance, level.rows))
                tape += [x, between, out, share, centre, scale]
                x = out
            rows.append(x)
        for module, centre, variance, count in statistics:  # all at once, while the code for it is in the cache
            module.update_running(centre, variance, count)
        # Outputs of ours are on the tape: kept any other way they would keep themselves alive.
        ctx.save_for_backward(*rows[:-1], *given, *tape)
        ctx.hearings = hearings
        return tuple(rows[1:])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        layers = len(ctx.hearings)
        parts = iter(ctx.saved_tensors)
        rows, features = list(islice(parts, layers)), list(islice(parts, layers))
        parameters = list(islice(parts, 2 * PARAMETERS * layers))
        halves = list(zip(_by(PARAMETERS, parameters), _by(TAPE, list(parts)), strict=True))
        collected: list[tuple[Tensor, ...]] = []
        to_features: list[Tensor | None] = [None] * layers
        gradient = gradients[-1]
        for number in reversed(range(layers)):
            for _ in range(2):
                gradient, found = _half_backward(gradient, *halves.pop())
                collected.insert(0, found)
            if number or ctx.needs_input_grad[X] or features[number] is not None:
                x = rows[number]
                arriving = gradients[number - 1].contiguous() if number else torch.zeros_like(x)
                gradient, to_features[number] = ctx.hearings[number].backward(arriving, gradient, x, features[number])
        to_x = gradient if ctx.needs_input_grad[X] else None
        return *[None] * X, to_x, *to_features, *chain.from_iterable(collected)


def _half_backward(
    gradient: Tensor, parameters: tuple[Tensor, ...], tape: tuple[Tensor, ...]
) -> tuple[Tensor, tuple[Tensor, Tensor, Tensor, Tensor]]:
    """The gradients of the rows, and of weight, bias, gain and shift."""
    (weight, _, gain, _), (x, *normed) = parameters, tape
    arrays = [tensor.detach().numpy() for tensor in (gradient.contiguous(), *normed, gain)]
    between, to_gain, to_shift = map(torch.from_numpy, norm.backward(*arrays, True))
    # The norm takes a bias in front of it away again, so that its gradient is zero, not merely small.
    return between @ weight, (between.t() @ x, torch.zeros_like(gain), to_gain, to_shift)


def _by(number: int, tensors: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """So many tensors at a time."""
    for first in range(0, len(tensors), number):
        yield tuple(tensors[first : first + number])
