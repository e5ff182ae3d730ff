r"""GINE under the ``shared`` engine, on the CPU: the features of an edge go through their linear map once for each distinct
feature, and what is heard, :math:`\sum_t \mathrm{ReLU}(x_t + W e_{ts})`, is added up edge by edge without storing it."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch_geometric.nn import GINEConv

from dropgnn.engine.compiled import edge_features as compiled
from dropgnn.engine.compiled.tensors import compiles
from dropgnn.engine.loops import loops_for
from dropgnn.engine.plan import Level, SharedPlan
from dropgnn.errors import InvalidArgument
from dropgnn.graph import Graph


class Kinds(NamedTuple):
    """The distinct features of the edges of a batch: an edge with each of them, ``[W]``, and which every edge has, ``[E]``."""

    edge: Tensor
    of_edge: Tensor


def kinds_of(plan: SharedPlan) -> Kinds:
    """Made once and kept with the plan."""
    if "kinds" not in plan.kept:
        with torch.inference_mode(False):  # it may be needed for training later
            plan.kept["kinds"] = _kinds(plan)
    return plan.kept["kinds"]


def _kinds(plan: SharedPlan) -> Kinds:
    colour, loops = plan.edge_colour, loops_for(plan.source, plan.work)
    assert colour is not None  # there are edge features, or the encoder would have refused
    if plan.origin is None:
        kind, first = loops.colour_rows(colour.long().unsqueeze(1))
        return Kinds(first, kind)
    # Colours are those of the dataset, and few of its edges are in the batch.
    edges = torch.cat([level.edge for level in plan.levels[1:]]).unique()
    kind, first = loops.colour_rows(colour[edges].long().unsqueeze(1))
    of_edge = torch.zeros_like(colour)
    of_edge[edges] = kind
    return Kinds(edges[first], of_edge)


def can_hear_features(conv: torch.nn.Module, x: Tensor, work: int) -> bool:
    """Whether :func:`hear_features` is what the layer does, in a plan of so much work."""
    return (
        isinstance(conv, GINEConv)
        and conv.aggr in ("add", "sum", "mean")
        and not conv.eps.requires_grad
        and (conv.lin is None or conv.lin.weight.dtype == x.dtype)
        and compiles(x, work)
    )


def hear_features(conv: GINEConv, x: Tensor, level: Level, graph: Graph, kinds: Kinds) -> Tensor:
    """What every state of a level hears, and its own row, ``[S, F]``."""
    features = map_features(conv, graph, kinds, width=x.size(1), dtype=x.dtype)
    heard = (level.own, level.edge_ptr, level.sender, level.edge, kinds.of_edge)
    return _Hear.apply(x, features, heard, 1.0 + float(conv.eps), conv.aggr == "mean")


def map_features(conv: torch.nn.Module, graph: Graph, kinds: Kinds, *, width: int, dtype: torch.dtype) -> Tensor:
    """What a layer adds to rows of such a width along each kind of edge, ``[W, F]``."""
    assert graph.edge_attr is not None
    features = graph.edge_attr[kinds.edge]
    if conv.lin is not None:
        return conv.lin(features)  # type: ignore[operator]
    if features.size(1) != width:
        raise InvalidArgument(
            "edge_attr",
            f"must have the {width} features of the rows that {type(conv).__name__} adds it to",
            got=features.size(1),
            hint="set its edge_dim, or map the features first",
        )
    return features.to(dtype).contiguous()


class _Hear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, features: Tensor, heard: Any, factor: float, mean: bool) -> Tensor:
        x, features = x.contiguous(), features.contiguous()
        ctx.save_for_backward(x, features)
        ctx.arguments = (*(tensor.numpy() for tensor in heard), factor, mean)
        return torch.from_numpy(compiled.hear(x.detach().numpy(), features.detach().numpy(), *ctx.arguments))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        arrays = (tensor.detach().numpy() for tensor in (gradients[0].contiguous(), *ctx.saved_tensors))
        to_x, to_features = map(torch.from_numpy, compiled.hear_back(*arrays, *ctx.arguments))
        return to_x, to_features, None, None, None
