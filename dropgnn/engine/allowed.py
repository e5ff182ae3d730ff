"""What may be shared: layers known to be functions of a node's own row and the multiset of what it hears, followed by
modules known to treat rows one by one. Everything else is computed copy by copy, by the ``batched`` engine."""

from __future__ import annotations

import torch
from torch_geometric.nn import BatchNorm as PyGBatchNorm
from torch_geometric.nn import GATConv, GCNConv, GINConv, GINEConv, GraphConv, LayerNorm, NNConv, SAGEConv
from torch_geometric.nn import Linear as PyGLinear
from torch_geometric.nn.models import MLP

from dropgnn.engine.layers import Layered, as_layered
from dropgnn.engine.norm import WeightedBatchNorm, find_batch_norm
from dropgnn.engine.planning import MODES
from dropgnn.runs.modes import Mode

CONVOLUTIONS = (GINConv, GINEConv, GraphConv, SAGEConv, GCNConv, GATConv, NNConv)
AGGREGATIONS = ("add", "sum", "mean", "max")
ROW_BY_ROW = (
    torch.nn.Identity, torch.nn.Linear, torch.nn.Sequential, torch.nn.ModuleList, torch.nn.LayerNorm, WeightedBatchNorm,
    PyGLinear, PyGBatchNorm, MLP, torch.nn.ReLU, torch.nn.LeakyReLU, torch.nn.ELU, torch.nn.GELU, torch.nn.SiLU, torch.nn.Tanh,
    torch.nn.Sigmoid, torch.nn.GRUCell,
)  # fmt: skip


def why_not(encoder: torch.nn.Module, mode: Mode, *, pooled: bool) -> str | None:
    """Why equal rows may not be computed once, or ``None`` where they may."""
    layered = None if pooled else as_layered(encoder)
    if layered is None:
        return f"{type(encoder).__name__} does not come apart into layers that we can look into"
    if type(mode) not in MODES:
        return f"mode {mode!r} is not one of ours"
    return _why_not_layers(layered)


def _why_not_layers(layered: Layered) -> str | None:
    entry = layered.entry()
    if entry is not None and (reason := _why_not_row_by_row(entry)) is not None:
        return reason
    for layer in layered.layers():
        reason = _why_not_convolution(layer.message)
        for module in layer.behind:
            reason = reason or _why_not_row_by_row(module)
        if reason is not None:
            return reason
    return None


def _why_not_convolution(conv: torch.nn.Module) -> str | None:
    name = type(conv).__name__
    if type(conv) not in CONVOLUTIONS:
        return f"{name} is not a layer known to look only at a node and what it hears"
    if type(conv) is not GATConv and getattr(conv, "aggr", None) not in AGGREGATIONS:
        return f"{name} aggregates by {conv.aggr!r}"
    if getattr(conv, "flow", "source_to_target") != "source_to_target":
        return f"{name} sends against the direction of its edges"
    if conv.training and float(getattr(conv, "dropout", 0)):
        return f"{name} drops attention at random while training"
    if isinstance(conv, GATConv) and conv.residual:
        return f"{name} has a residual connection"
    if isinstance(conv, NNConv):
        return f"{name} aggregates by {conv.aggr!r}" if conv.aggr == "max" else _why_not_edge_network(conv.nn)
    return None


def _why_not_edge_network(network: torch.nn.Module) -> str | None:
    if find_batch_norm(network) is not None:
        return "the edge network takes batch statistics over all copies of an edge"
    return _why_not_row_by_row(network)


def _why_not_row_by_row(module: torch.nn.Module) -> str | None:
    for child in module.modules():
        name = type(child).__name__
        if isinstance(child, torch.nn.Dropout):
            if child.training and child.p > 0:
                return "features are dropped at random inside the encoder while training"
        elif isinstance(child, LayerNorm):
            if child.mode != "node":
                return f"{name} in mode {child.mode!r} looks at a whole graph"
        elif isinstance(child, MLP):
            if child.training and any(child.dropout):
                return "features are dropped at random inside the encoder while training"
        elif type(child) not in ROW_BY_ROW:
            return f"{name} is not a module known to treat rows one by one"
    return None
