"""PyG's layers under the general rule: how many hops each looks, and whether it looks at degrees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch_geometric.nn as pyg

from dropgnn.engine.rules.general import general_rule
from dropgnn.engine.rules.rule import RULES, rule_of

ONE_HOP = (
    "SimpleConv", "SAGEConv", "GraphConv", "ResGatedGraphConv", "TransformerConv", "MFConv", "GINConv", "GINEConv", "CGConv",
    "GENConv", "FiLMConv", "GMMConv", "NNConv", "EdgeConv", "LEConv", "PNAConv", "GeneralConv", "GATConv", "GATv2Conv",
    "AGNNConv", "FeaStConv", "ClusterGCNConv", "RGCNConv", "FastRGCNConv", "RGATConv", "WLConvContinuous", "PointNetConv",
    "PointTransformerConv", "PointGNNConv", "PPFConv", "HEATConv",
)  # fmt: skip
"""Layers that look at their own row and at what arrives along edges."""

SEVERAL_HOPS: dict[str, Callable[[Any], int]] = {
    "GCNConv": lambda conv: 1 + conv.normalize,
    "GCN2Conv": lambda conv: 1 + conv.normalize,
    "FAConv": lambda conv: 1 + conv.normalize,
    "LGConv": lambda conv: 1 + conv.normalize,
    "PDNConv": lambda conv: 1 + conv.normalize,
    "DNAConv": lambda conv: 2,
    "EGConv": lambda conv: 1 + ("symnorm" in conv.aggregators),
    "SGConv": lambda conv: conv.K + 1,
    "SSGConv": lambda conv: conv.K + 1,
    "TAGConv": lambda conv: conv.K + conv.normalize,
    "APPNP": lambda conv: conv.K + conv.normalize,
    "ARMAConv": lambda conv: conv.num_layers + 1,
    "MixHopConv": lambda conv: max(conv.powers) + 1,
    "GatedGraphConv": lambda conv: conv.num_layers,
    "SuperGATConv": lambda conv: 1,
    "ChebConv": lambda conv: 1,
    "AntiSymmetricConv": lambda conv: _rounds_of_repeated(conv),
}
"""Others: how many rounds of states their result depends on. Degrees of those who send take one more."""

OBSTACLES: dict[str, Callable[[Any], str | None]] = {
    "SuperGATConv": lambda conv: "it draws edges at random while training" if conv.training else None,
    "ChebConv": lambda conv: "it looks at the degrees of the whole graph" if len(conv.lins) > 1 else None,
    "EGConv": lambda conv: (
        "it adds loops up to the last node that has an edge"
        if conv.add_self_loops and "symnorm" not in conv.aggregators
        else None
    ),
    "AntiSymmetricConv": lambda conv: None if rule_of(conv.phi) else f"no rule for {type(conv.phi).__name__} inside",
}

NOT_SHARED = {
    "MessagePassing": "the base class does nothing",
    "HypergraphConv": "its edge_index is an incidence of nodes and hyperedges, and messages go back to those who sent them",
    "HGTConv": "it takes dictionaries of node types",
    "HANConv": "it takes dictionaries of node types",
    "HeteroConv": "it takes dictionaries of node types; the layers inside have rules of their own",
    "DirGNNConv": "it sends along and against the direction of edges",
    "GPSConv": "its attention looks at all nodes; the layer inside has a rule of its own",
    "SignedConv": "it takes two sets of edges",
    "WLConv": "it numbers colours in the order in which it meets them",
    "PANConv": "it needs torch-sparse, and looks several hops far along sparse matrices",
    "DynamicEdgeConv": "it makes edges of its own",
    "GravNetConv": "it makes edges of its own",
    "XConv": "it makes edges of its own",
    "SplineConv": "it needs pyg-lib",
    "MeshCNNConv": "its rows are edges of a mesh",
    "FusedGATConv": "it needs dgNN",
    "CuGraphSAGEConv": "it needs cugraph",
    "CuGraphGATConv": "it needs cugraph",
    "CuGraphRGCNConv": "it needs cugraph",
}
"""Why other classes have no rule."""


def _rounds_of_repeated(conv: Any) -> int:
    """Of a layer that repeats another: the hops of each repetition, and one for degrees."""
    inside = rule_of(conv.phi)
    rounds = 1 if inside is None else inside.rounds(conv.phi)
    degrees = rounds > 1  # the layers that can be inside look one hop far
    return conv.num_iters + degrees


def _register(name: str, rounds: Callable[[Any], int]) -> None:
    kind: type[torch.nn.Module] | None = getattr(pyg, name, None)  # older versions of PyG do not have them all
    if kind is not None and kind not in RULES:
        RULES[kind] = general_rule(kind, rounds=rounds, obstacle=OBSTACLES.get(name))


for _name in ONE_HOP:
    _register(_name, lambda conv: 1)
for _name, _rounds in SEVERAL_HOPS.items():
    _register(_name, _rounds)
