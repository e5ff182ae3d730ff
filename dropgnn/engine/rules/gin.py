r"""Our GIN and GINE as a whole: all layers as one differentiable function, its backward pass written out.

Small batches spend most of their time between operations: calling modules, recording them, walking the record backwards.
A stack of the layers

.. math:: \mathrm{ReLU}\,\mathrm{BN}\,\big(W_2\,\mathrm{ReLU}\,\mathrm{BN}(W_1 h + b_1) + b_2\big), \qquad
    h_s = (1 + \varepsilon)\, x_s + \sum_{t \in N(s)} x_t

needs neither. With features on the edges, GINE, h has :math:`\mathrm{ReLU}(x_t + W e_{ts})` in place of :math:`x_t`. It is what
the encoder's own ``forward`` computes on distinct rows, up to rounding: without features :math:`W_1` goes in front of the sum.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from dropgnn.engine.intercept import Call
from dropgnn.engine.plan import Level
from dropgnn.engine.rows import Block, rows_of
from dropgnn.engine.rules.general import Heard, heard
from dropgnn.engine.rules.rule import RULES, Rule
from dropgnn.engine.spaces import Sharing
from dropgnn.nn.gin import GIN, GINE
from dropgnn.nn.norm import WeightedBatchNorm
from dropgnn.ops import numba_ops, ops_for
from dropgnn.ops.kernels import blocks, edge_features, products, stack
from dropgnn.ops.kernels.tensors import on_tensors

X = 1
"""The place of x among the arguments of the function."""

PARAMETERS, TAPE = 8, 8
"""What a layer has: weight and bias of a linear map, gain and shift of the norm behind it, twice; and what it leaves for the
backward pass: rows before the first norm, before the second and behind it, shares, centre and scale of both norms."""

NARROW = 4
"""Rows that become wider by more than this factor are heard before they are mapped."""

hear_mapped, hear_mapped_back = on_tensors(stack.hear_mapped), on_tensors(stack.hear_mapped_back)
map_heard, map_back = on_tensors(stack.map_heard), on_tensors(blocks.map_back)
finish, finish_back = on_tensors(stack.finish), on_tensors(stack.finish_back)
hear, hear_back = on_tensors(products.hear), on_tensors(products.hear_back)
hear_edges, hear_edges_back = on_tensors(edge_features.hear), on_tensors(edge_features.hear_back)


class _Modules(NamedTuple):
    """Two linear maps and the norms behind them, each with its ReLU."""

    first: torch.nn.Linear
    norm: WeightedBatchNorm
    second: torch.nn.Linear
    next_norm: WeightedBatchNorm

    def parameters(self) -> Iterator[Tensor]:
        """Weight and bias of each."""
        return chain.from_iterable((module.weight, module.bias) for module in self)

    def fit(self, x: Tensor, width: int) -> bool:
        """Whether rows of that width, and of the dtype of x, can go through, and linear maps are small; if something is wrong,
        the modules say what."""
        first, norm, second, next_norm = self
        widths = (first.in_features, first.out_features, first.out_features, second.out_features)
        expected = (width, norm.num_features, second.in_features, next_norm.num_features)
        plain = all(parameter.dtype == x.dtype and parameter.is_contiguous() for parameter in self.parameters())
        return plain and widths == expected and max(first.weight.numel(), second.weight.numel()) <= blocks.LARGEST


class _Layer(NamedTuple):
    """What is fixed in a layer: its modules, and what the states of a level hear, their own row, as often as ``factor`` says, and
    the sum or mean of others.

    Shapes:
        own, counts ``[S]``, edge_ptr ``[S + 1]``, sender ``[K]``; edge ``[K]`` and kind ``[E]`` where edges have features.
    """

    modules: _Modules
    own: Tensor
    edge_ptr: Tensor
    sender: Tensor
    edge: Tensor
    kind: Tensor | None
    factor: float
    mean: bool
    counts: Tensor
    rows: int

    @classmethod
    def of(cls, conv: Any, modules: _Modules, level: Level, kind: Tensor | None) -> _Layer:
        return cls(
            modules, level.own, level.edge_ptr, level.sender, level.edge, kind,
            1.0 + float(conv.eps), conv.aggr == "mean", level.weight, level.rows,
        )  # fmt: skip

    @property
    def along(self) -> tuple[Any, ...]:
        """How rows are heard, without what edges say."""
        return self.own, self.edge_ptr, self.sender, self.factor, self.mean

    @property
    def along_edges(self) -> tuple[Any, ...]:
        """The same with what edges say."""
        return self.own, self.edge_ptr, self.sender, self.edge, self.kind, self.factor, self.mean

    def maps_first(self, x: Tensor) -> bool:
        """Whether the linear map may go in front of the sum, and is not much wider than what is summed."""
        return self.kind is None and NARROW * x.size(1) >= self.modules.first.out_features

    def hear(self, x: Tensor, features: Tensor | None) -> Tensor:
        if features is None:
            return hear(x, self.own.numel(), *self.along)
        return hear_edges(x, features, *self.along_edges)

    def hear_back(
        self, gradient: Tensor, x: Tensor, features: Tensor | None, arriving: Tensor
    ) -> tuple[Tensor, Tensor | None]:
        """Gradients of the rows below, added to what is ``arriving`` there anyway, and of the features."""
        if features is None:
            to_x, to_features = hear_back(gradient, x.size(0), *self.along), None
        else:
            to_x, to_features = hear_edges_back(gradient, x, features, *self.along_edges)
        return to_x.add_(arriving) if arriving.size(0) else to_x, to_features

    def forward(
        self, x: Tensor, features: Tensor | None, parameters: Sequence[Tensor]
    ) -> tuple[tuple[Tensor, ...], list[Tensor]]:
        """The tape, and mean and variance that each norm has seen."""
        weight, bias, gain, shift, next_weight, next_bias, next_gain, next_shift = parameters
        if self.maps_first(x):
            first, moments, share = hear_mapped(x, weight, *self.along, self.counts)
        else:
            first, moments, share = map_heard(self.hear(x, features), weight, self.counts)
        _, norm, _, next_norm = self.modules
        settings = (norm.eps, bias, gain, shift, next_weight, next_norm.eps, next_bias, next_gain, next_shift)
        out, second, *scales, seen, next_seen = finish(first, moments, share, *settings)
        return (first, second, out, share, *scales), [seen, next_seen]

    def backward(
        self, gradient: Tensor, x: Tensor, features: Tensor | None, parameters: Sequence[Tensor],
        tape: tuple[Tensor, ...], arriving: Tensor,
    ) -> tuple[Tensor, Tensor | None, tuple[Tensor, ...]]:  # fmt: skip
        """Gradients of the rows below, added to what is ``arriving`` there anyway, of the features and of the parameters."""
        weight, bias, gain, shift, next_weight, next_bias, next_gain, _ = parameters
        first, second, out, *rest = tape
        settings = (gain, shift, next_weight, next_gain)
        to_first, to_gain, to_shift, *to_next = finish_back(gradient, out, second, first, *rest, *settings)
        to_features = None
        if self.maps_first(x):
            to_x, to_weight = hear_mapped_back(to_first, x, weight, *self.along, arriving)
        else:
            heard = self.hear(x, features)  # again: it was not kept
            to_heard, to_weight = map_back(to_first, heard, weight, torch.zeros_like(heard))
            to_x, to_features = self.hear_back(to_heard, x, features, arriving)
        to_next_weight, to_next_gain, to_next_shift = to_next
        # The norm takes a bias in front of it away again, so that its gradient is zero, not merely small.
        half = (to_weight, torch.zeros_like(bias), to_gain, to_shift)
        return to_x, to_features, (*half, to_next_weight, torch.zeros_like(next_bias), to_next_gain, to_next_shift)

    def update_running(self, seen: Sequence[Tensor]) -> None:
        for norm, (mean, variance) in zip((self.modules.norm, self.modules.next_norm), seen, strict=True):
            norm.update_running(mean, variance, self.rows)


def _act_stack(encoder: Any, call: Call) -> Any:
    """All layers at once, where norms take batch statistics; else the encoder's own forward goes on, layer by layer."""
    given, work = heard(call), call.sharing.plan.work
    if given is None or set(given.rows) != {"x"} or call.sharing.plan.effect.zero_when_read:
        return NotImplemented
    x = given.rows["x"].distinct()
    if x.dim() != 2 or ops_for(x, work) is not numba_ops:
        return NotImplemented
    with torch._C.DisableTorchFunction():  # every tensor inside is an ordinary one
        rows = _run_stack(encoder, x, given, call.sharing)
    if rows is None:
        return NotImplemented
    return rows_of([Block(one, given.level + number) for number, one in enumerate(rows)], call.sharing.nodes)


def _run_stack(encoder: Any, x: Tensor, given: Heard, sharing: Sharing) -> list[Tensor] | None:
    """The input's rows and those of every layer, or ``None`` where a layer is of another form, or has something wrong to tell."""
    known, features, width = [], [], x.size(1)
    for number, (conv, norm) in enumerate(zip(encoder.convs, encoder.norms, strict=True)):
        modules = _modules(conv, norm)
        if modules is None or not modules.fit(x, width):
            return None
        level = sharing.level(given.level + 1 + number)
        if level.rows < 2 or (given.edges and conv.lin is None and given.edges["edge_attr"][0].size(1) != width):
            return None
        features.append(_features(conv, given, x.dtype))
        known.append(_Layer.of(conv, modules, level, given.edges["edge_attr"][1] if given.edges else None))
        width = modules.second.out_features
    parameters = chain.from_iterable(layer.modules.parameters() for layer in known)
    return [x, *_Stack.apply(known, x, *features, *parameters)]


def _features(conv: Any, given: Heard, dtype: torch.dtype) -> Tensor | None:
    """What a layer adds to the rows that arrive along each kind of edge."""
    if not given.edges:
        return None
    features = given.edges["edge_attr"][0]
    return conv.lin(features) if conv.lin is not None else features.to(dtype).contiguous()


def _modules(conv: Any, norm: torch.nn.Module) -> _Modules | None:
    """The modules of a GIN or GINE layer whose norms take batch statistics, or ``None`` for any other layer."""
    if conv.aggr not in ("add", "sum", "mean") or conv.eps.requires_grad or type(conv.nn) is not torch.nn.Sequential:
        return None
    modules = (*conv.nn, norm)
    kinds = (torch.nn.Linear, WeightedBatchNorm, torch.nn.Linear, WeightedBatchNorm)
    if tuple(map(type, modules)) != kinds or any(map(_is_special, modules)):
        return None
    return _Modules(*modules)


def _is_special(module: torch.nn.Module) -> bool:
    """Whether calling the module does more, or less, than a training step of its plain form."""
    if isinstance(module, WeightedBatchNorm):
        plain = module.training and module.relu and module.affine and module.bias is not None
        return not plain or module.group is not None
    return isinstance(module, torch.nn.Linear) and module.bias is None


class _Stack(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, layers: Sequence[_Layer], x: Tensor, *given: Tensor | None) -> tuple[Tensor, ...]:
        features, parameters = given[: len(layers)], list(_by(PARAMETERS, given[len(layers) :]))
        rows, statistics = [x.contiguous()], []
        tape: list[Tensor] = []
        for layer, feature, own in zip(layers, features, parameters, strict=True):
            left, seen = layer.forward(rows[-1], feature, own)
            statistics.append(seen)
            tape += left
            rows.append(left[2])
        for layer, seen in zip(layers, statistics, strict=True):  # all at once, while the code for it is in the cache
            layer.update_running(seen)
        # Outputs of ours are on the tape: kept any other way they would keep themselves alive.
        ctx.save_for_backward(*rows[:-1], *given, *tape)
        ctx.layers = layers
        return tuple(rows[1:])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        number, parts = len(ctx.layers), iter(ctx.saved_tensors)
        rows, features = list(islice(parts, number)), list(islice(parts, number))
        parameters = list(_by(PARAMETERS, list(islice(parts, PARAMETERS * number))))
        known = list(zip(ctx.layers, rows, features, parameters, _by(TAPE, list(parts)), strict=True))
        collected: list[tuple[Tensor, ...]] = []
        to_features: list[Tensor | None] = []
        gradient = gradients[-1].contiguous()
        for below, (layer, x, feature, own, tape) in reversed(list(enumerate(known))):
            arriving = _arriving(gradients, below, x, wanted=ctx.needs_input_grad[X])
            gradient, to_feature, found = layer.backward(gradient, x, feature, own, tape, arriving)
            to_features.insert(0, to_feature)
            collected.insert(0, found)
        to_x = gradient if ctx.needs_input_grad[X] else None
        return *[None] * X, to_x, *to_features, *chain.from_iterable(collected)


def _arriving(gradients: Sequence[Tensor], below: int, x: Tensor, *, wanted: bool) -> Tensor:
    """What others than the layer above say about the rows below it; no rows where nobody asks for their gradient."""
    if below:
        return gradients[below - 1].contiguous()
    return torch.zeros_like(x) if wanted else x[:0]


def _by(number: int, tensors: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """So many tensors at a time."""
    for first in range(0, len(tensors), number):
        yield tuple(tensors[first : first + number])


for _kind in (GIN, GINE):
    RULES[_kind] = Rule(_kind, _act_stack, lambda stack: stack.num_layers)
