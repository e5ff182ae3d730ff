"""What may be shared: layers known to be functions of a node's own row and the multiset of what it hears, followed by
modules known to treat rows one by one. Everything else is computed copy by copy, by the ``batched`` engine."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import torch
from torch.nn.modules.batchnorm import _BatchNorm
from torch_geometric.nn import BatchNorm as PyGBatchNorm
from torch_geometric.nn import (
    GATConv,
    GCNConv,
    GINConv,
    GINEConv,
    GraphConv,
    JumpingKnowledge,
    LayerNorm,
    MessagePassing,
    NNConv,
    SAGEConv,
)
from torch_geometric.nn import Linear as PyGLinear
from torch_geometric.nn.models import MLP
from torch_geometric.utils._trim_to_layer import TrimToLayer

from dropgnn.engine.intercept import GLOBAL_HOOKS, MESSAGE_HOOKS, MODULE_HOOKS
from dropgnn.engine.layers import Layer, as_layered
from dropgnn.engine.modules import inside
from dropgnn.engine.norm import WeightedBatchNorm, find_batch_norm
from dropgnn.runs.modes import Mode

CONVOLUTIONS = (GINConv, GINEConv, GraphConv, SAGEConv, GCNConv, GATConv, NNConv)
AGGREGATIONS = ("add", "sum", "mean", "max")
ROW_BY_ROW = (
    torch.nn.Identity, torch.nn.Linear, torch.nn.Sequential, torch.nn.ModuleList, torch.nn.LayerNorm, WeightedBatchNorm,
    PyGLinear, PyGBatchNorm, MLP, LayerNorm, torch.nn.Dropout, torch.nn.ReLU, torch.nn.LeakyReLU, torch.nn.ELU, torch.nn.GELU,
    torch.nn.SiLU, torch.nn.Tanh, torch.nn.Sigmoid, torch.nn.GRUCell,
)  # fmt: skip
"""Beside these, modules whose class says ``row_by_row`` of itself."""

COMBINES = (JumpingKnowledge, TrimToLayer)
"""What PyG's GNNs have behind their layers: the rows of a node put together, by an LSTM or not; and what trims sampled
neighbourhoods, which have no place in a call of ours."""

HEARS_FEATURES = (GINEConv, GATConv, NNConv)
"""Layers whose use of edge features is the one we know."""

FUNCTIONS = (
    torch.relu, torch.tanh, torch.sigmoid, torch.nn.functional.relu, torch.nn.functional.elu, torch.nn.functional.gelu,
    torch.nn.functional.silu, torch.nn.functional.leaky_relu,
)  # fmt: skip


def why_not(encoder: torch.nn.Module, mode: Mode, *, pooled: bool) -> str | None:
    """Why equal rows may not be computed once, or ``None`` where they may."""
    layered = None if pooled else as_layered(encoder)
    if layered is None:
        return (
            f"{type(encoder).__name__} is a module of your own; layers are known of PyG's GIN, GCN, GraphSAGE, GAT, PNA and "
            "EdgeCNN, of the encoders in dropgnn.nn, and of subclasses of dropgnn.nn.Encoder"
        )
    if any(GLOBAL_HOOKS):
        return "hooks on all modules want to see every copy"
    if mode.shared_effect is None:
        return f"mode {mode!r} does not declare its effect"
    layers, entry = layered.layers(), layered.entry()
    with_features = isinstance(encoder, torch.nn.Module) and getattr(encoder, "edge_dim", None) is not None
    reasons = (
        _why_not_entry(entry),
        *(_why_not_layer(layer, with_features=with_features) for layer in layers),
        _why_not_beside(encoder, layers, entry),
    )
    return next((reason for reason in reasons if reason is not None), None)


def _why_not_entry(entry: torch.nn.Module | None) -> str | None:
    if entry is None:
        return None
    if find_batch_norm(entry) is not None:
        return "what comes before the first layer takes batch statistics"
    return why_not_row_by_row(entry)


def _why_not_layer(layer: Layer, *, with_features: bool) -> str | None:
    conv, name = layer.message, type(layer.message).__name__
    if type(conv) in (GINConv, GINEConv) and not layer.split:
        return f"{name} is called as a whole; take it apart with dropgnn.engine.layers.split_gin"
    if with_features and type(conv) not in HEARS_FEATURES:
        return f"{name} may use edge features as weights"
    behind = {id(module) for module in layer.behind}
    reasons = (_why_not_convolution(conv, without=behind), *(why_not_row_by_row(module) for module in layer.behind))
    return next((reason for reason in reasons if reason is not None), None)


def _why_not_beside(encoder: torch.nn.Module, layers: Sequence[Layer], entry: torch.nn.Module | None) -> str | None:
    """Modules outside of all layers can only run in ``combine``, on states: statistics and chance would be those of states."""
    known = {id(entry)} | {id(part) for layer in layers for part in (layer.message, *layer.behind)}
    combining = [part for child in inside(encoder) if type(child) in COMBINES for part in inside(child)]
    _, *beside = inside(encoder, without=known | {id(part) for part in combining})
    for child in combining:
        if type(child) not in (*COMBINES, torch.nn.LSTM, torch.nn.Linear):
            return f"{type(child).__name__} is not a module known to treat rows one by one"
        if (reason := why_changed(child)) is not None:
            return reason
    for child in beside:
        if isinstance(child, _BatchNorm) and (child.training or child.running_mean is None):
            return f"{type(child).__name__} behind the last layer takes batch statistics"
        if (reason := _why_not_alone(child)) is not None:
            return reason
    return None


def _why_not_convolution(conv: torch.nn.Module, *, without: Collection[int]) -> str | None:
    """The same for the layer itself, without the modules in it that are looked at elsewhere."""
    name = type(conv).__name__
    if type(conv) not in CONVOLUTIONS:
        return f"{name} is not a layer known to look only at a node and what it hears"
    if getattr(conv, "explain", False):
        return f"{name} is being explained, which wants to see every copy"
    if (reason := next(filter(None, map(why_changed, inside(conv, without=without))), None)) is not None:
        return reason
    if type(conv) is not GATConv and getattr(conv, "aggr", None) not in AGGREGATIONS:
        return f"{name} aggregates by {conv.aggr!r}"
    if getattr(conv, "flow", "source_to_target") != "source_to_target":
        return f"{name} sends against the direction of its edges"
    if conv.training and float(getattr(conv, "dropout", 0)):
        return f"{name} drops attention at random while training"
    return _why_not_options(conv, name)


def _why_not_options(conv: torch.nn.Module, name: str) -> str | None:
    """Options of single layers that change what they compute."""
    if isinstance(conv, GATConv):
        if conv.residual:
            return f"{name} has a residual connection"
        if conv.edge_dim is not None and conv.fill_value != "mean":
            return f"{name} fills the features of loops with {conv.fill_value!r}"
    if isinstance(conv, GCNConv):
        if conv.aggr not in ("add", "sum"):
            return f"{name} aggregates by {conv.aggr!r}"
        if conv.normalize and (not conv.add_self_loops or conv.improved):
            return f"{name} normalises without loops, or with improved ones"
    if isinstance(conv, NNConv):
        return f"{name} aggregates by {conv.aggr!r}" if conv.aggr == "max" else _why_not_edge_network(conv.nn)
    return None


def _why_not_edge_network(network: torch.nn.Module) -> str | None:
    if isinstance(network, torch.nn.Module) and find_batch_norm(network) is not None:
        return "the edge network takes batch statistics over all copies of an edge"
    return why_not_row_by_row(network)


def why_not_row_by_row(module: object) -> str | None:
    """Why a module, or a function, is not known to treat rows one by one."""
    if not isinstance(module, torch.nn.Module):
        return _why_not_function(module)
    return next((reason for reason in map(_why_not_alone, inside(module)) if reason is not None), None)


def _why_not_function(function: object) -> str | None:
    if function in FUNCTIONS:
        return None
    return f"the function {getattr(function, '__name__', function)!r} is not known to treat rows one by one"


def _why_not_alone(module: torch.nn.Module) -> str | None:
    """The same for a module without what is inside it."""
    name = type(module).__name__
    known = type(module) in ROW_BY_ROW or vars(type(module)).get("row_by_row", False)
    if not known:  # what is derived from known ones may do anything
        return f"{name} is not a module known to treat rows one by one"
    if (reason := why_changed(module)) is not None:
        return reason
    if isinstance(module, LayerNorm) and module.mode != "node":
        return f"{name} in mode {module.mode!r} looks at a whole graph"
    if isinstance(module, MLP) and not isinstance(module.act, torch.nn.Module | None):
        return _why_not_function(module.act)
    if not module.training:
        return None
    if (isinstance(module, torch.nn.Dropout) and module.p > 0) or (isinstance(module, MLP) and any(module.dropout)):
        return "features are dropped at random inside the encoder while training"
    if isinstance(module, PyGBatchNorm) and module.allow_single_element:
        return f"{name}(allow_single_element=True) counts rows"
    return None


def why_changed(module: torch.nn.Module) -> str | None:
    """Why a module may do something else than its class says."""
    name = type(module).__name__
    if has_hooks(module):
        return f"{name} has hooks, which want to see every copy"
    return f"{name} has a forward of its own" if "forward" in vars(module) else None


def has_hooks(module: torch.nn.Module) -> bool:
    """Whether someone wants to see, or change, what goes into a module or comes out of it."""
    names = MESSAGE_HOOKS if isinstance(module, MessagePassing) else MODULE_HOOKS
    return any(map(vars(module).get, names))
