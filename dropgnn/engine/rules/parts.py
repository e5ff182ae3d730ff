"""What may be inside a layer that is called on rows of another number or weight: modules known to treat rows one by one."""

from __future__ import annotations

from typing import Any

import torch
import torch_geometric.nn as pyg
from torch import nn
from torch_geometric.nn import aggr as aggregations
from torch_geometric.nn.aggr import Aggregation
from torch_geometric.nn.conv import dna_conv, gen_conv

from dropgnn.engine.rules.rule import rule_of
from dropgnn.nn.norm import WeightedBatchNorm

ORDERLESS = (
    aggregations.SumAggregation, aggregations.MeanAggregation, aggregations.MaxAggregation, aggregations.MinAggregation,
    aggregations.MulAggregation, aggregations.VarAggregation, aggregations.StdAggregation, aggregations.SoftmaxAggregation,
    aggregations.PowerMeanAggregation, aggregations.MultiAggregation, aggregations.DegreeScalerAggregation,
)  # fmt: skip
"""Aggregations that look at the rows that arrive, and not at their order or at how many nodes there are."""

ROW_BY_ROW = {
    nn.Identity, nn.Linear, nn.Bilinear, nn.Sequential, nn.ModuleList, nn.ModuleDict, nn.ParameterList, nn.ParameterDict,
    nn.LayerNorm, nn.BatchNorm1d, WeightedBatchNorm, nn.ReLU, nn.ReLU6, nn.LeakyReLU, nn.ELU, nn.SELU, nn.CELU, nn.GELU,
    nn.SiLU, nn.Mish, nn.Softplus, nn.Softsign, nn.Tanh, nn.Sigmoid, nn.Hardtanh, nn.Hardswish, nn.Hardsigmoid,
    nn.LogSigmoid, nn.Tanhshrink, nn.Softshrink, nn.Hardshrink, nn.PReLU, nn.Dropout, nn.AlphaDropout, nn.GRUCell,
    nn.LSTMCell, nn.RNNCell, nn.Embedding, pyg.Linear, pyg.HeteroLinear, pyg.MLP, pyg.BatchNorm, pyg.MessageNorm,
    gen_conv.MLP, dna_conv.MultiHead, dna_conv.Linear, dna_conv.Attention,
}  # fmt: skip


def unknown_part(module: torch.nn.Module) -> str | None:
    """What inside a layer is not known to treat rows one by one, as it is set; ``None`` where all is."""
    for part in module.modules():
        kind: Any = type(part)
        if part is module or kind in ROW_BY_ROW or kind in ORDERLESS or rule_of(part) is not None:
            continue
        if getattr(kind, "row_by_row", False) or kind.__name__ == "FusedAggregation":
            continue
        if kind is pyg.LayerNorm and part.mode == "node":
            continue
        what = "look only at what arrives" if isinstance(part, Aggregation) else "treat rows one by one"
        return f"{kind.__name__} inside is not known to {what}"
    return None


def unusual(part: torch.nn.Module) -> str | None:
    """Why a module, wherever it is, wants to see every copy, as it is set."""
    name = type(part).__name__
    if isinstance(part, pyg.MessagePassing):
        if part.flow != "source_to_target":
            return f"{name} sends against the direction of its edges"
        if part.explain:
            return f"{name} is being explained, which wants to see every copy"
    if isinstance(part, Aggregation) and type(part) not in ORDERLESS and name != "FusedAggregation":
        return f"{name} is not known to look only at what arrives"
    return f"{name} drops at random while training" if part.training and _drops(part) else None


def _drops(part: torch.nn.Module) -> bool:
    rates = vars(part).get("dropout")
    if rates is None:
        return isinstance(part, torch.nn.modules.dropout._DropoutNd) and part.p > 0
    rates = rates if isinstance(rates, (list, tuple)) else [rates]
    return any(isinstance(rate, (int, float)) and rate > 0 for rate in rates)
