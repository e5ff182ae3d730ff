"""GNNs as PyG's users write them, which know nothing of runs."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch_geometric.nn as pyg
from torch import Tensor
from torch_geometric.data import Data

WIDTH, DEPTH = 32, 4

Conv = Callable[[int, int], torch.nn.Module]


class Residual(torch.nn.Module):
    """Layers with batch norm and a connection past each."""

    def __init__(self, in_channels: int, conv: Conv) -> None:
        super().__init__()
        self.embed = torch.nn.Linear(in_channels, WIDTH)
        self.convs = torch.nn.ModuleList(conv(WIDTH, WIDTH) for _ in range(DEPTH))
        self.norms = torch.nn.ModuleList(torch.nn.BatchNorm1d(WIDTH) for _ in range(DEPTH))

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        x = self.embed(x)
        for conv, norm in zip(self.convs, self.norms, strict=True):
            x = x + norm(conv(x, edge_index)).relu()
        return x


class Bonds(torch.nn.Module):
    """GINE layers that hear the type of a bond."""

    def __init__(self, in_channels: int, edge_dim: int) -> None:
        super().__init__()
        self.embed = torch.nn.Linear(in_channels, WIDTH)
        self.convs = torch.nn.ModuleList(
            pyg.GINEConv(
                torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU(), torch.nn.Linear(WIDTH, WIDTH)),
                edge_dim=edge_dim,
            )
            for _ in range(DEPTH)
        )

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:
        x = self.embed(x)
        for conv in self.convs:
            x = conv(x, edge_index, edge_attr).relu()
        return x


class Tutorial(torch.nn.Module):
    """PyG's tutorial on graph classification: layers, mean pooling and a linear map in one ``forward``."""

    def __init__(self, in_channels: int, classes: int, conv: Conv, *, norms: bool = False) -> None:
        super().__init__()
        widths = [in_channels, *[WIDTH] * 3]
        self.convs = torch.nn.ModuleList(map(conv, widths, widths[1:]))
        self.norms = torch.nn.ModuleList(
            torch.nn.BatchNorm1d(WIDTH) if norms else torch.nn.Identity() for _ in self.convs
        )
        self.lin = torch.nn.Linear(WIDTH, classes)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        for conv, norm in zip(self.convs, self.norms, strict=True):
            x = norm(conv(x, edge_index)).relu()
        return self.lin(pyg.global_mean_pool(x, batch))


def gin_layer(below: int, above: int) -> torch.nn.Module:
    return pyg.GINConv(
        torch.nn.Sequential(torch.nn.Linear(below, above), torch.nn.ReLU(), torch.nn.Linear(above, above))
    )


def pna_layer(below: int, above: int) -> torch.nn.Module:
    return pyg.PNAConv(
        below, above, ["mean", "max", "std"], ["identity", "amplification"], deg=torch.tensor([0, 100, 300, 200, 10])
    )


RESIDUAL: dict[str, Conv] = {
    "GraphConv": pyg.GraphConv,
    "GATv2Conv": pyg.GATv2Conv,
    "TransformerConv": pyg.TransformerConv,
    "ResGatedGraphConv": pyg.ResGatedGraphConv,
    "PNAConv": pna_layer,
}
"""Layers of the residual models, by the name of the workload."""

MODELS: dict[str, Callable[[int], torch.nn.Module]] = {
    "GraphSAGE": lambda features: pyg.GraphSAGE(features, WIDTH, DEPTH),
    "PyG GIN": lambda features: pyg.GIN(features, WIDTH, DEPTH),
    "EdgeCNN": lambda features: pyg.EdgeCNN(features, WIDTH, DEPTH),
}
"""Models of PyG."""

TUTORIAL: dict[str, tuple[Conv, bool]] = {
    "GraphConv": (pyg.GraphConv, False),
    "GATv2Conv": (pyg.GATv2Conv, False),
    "GIN with batch norm": (gin_layer, True),
}
"""Layers of the tutorial's classifier, and whether batch norms follow them."""


def features_of(graph: Data) -> int:
    return int(graph.x.size(1))
