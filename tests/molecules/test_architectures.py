"""The models of the QM9 experiments against the same networks written down in PyG, weight by weight."""

from __future__ import annotations

import pytest
import torch
import torch_geometric.nn as pyg
from torch import Tensor
from torch.nn import ELU, GRU, Linear, ReLU, Sequential

from dropgnn.data.qm9.dataset import QM9
from dropgnn.molecules.models import Settings, build
from dropgnn.training.loop import inputs


def edge_network(width: int) -> Sequential:
    return Sequential(Linear(5, 128), ReLU(), Linear(128, width))


class GilmerMPNN(torch.nn.Module):
    """Three rounds of one edge network and one GRU, three steps of Set2Set, a layer of 64 and the output."""

    def __init__(self) -> None:
        super().__init__()
        self.first = Linear(11, 64)
        self.conv = pyg.NNConv(64, 64, edge_network(64 * 64), aggr="mean")
        self.gru = GRU(64, 64)
        self.set2set = pyg.Set2Set(64, processing_steps=3)
        self.hidden, self.out = Linear(128, 64), Linear(64, 1)

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor, batch: Tensor) -> Tensor:
        x = self.first(x).relu()
        memory = x.unsqueeze(0)
        for _ in range(3):
            heard = self.conv(x, edge_index, edge_attr).relu()
            out, memory = self.gru(heard.unsqueeze(0), memory)
            x = out.squeeze(0)
        return self.out(self.hidden(self.set2set(x, batch)).relu())


class MorrisOneGNN(torch.nn.Module):
    """Three edge networks of their own, ELU, the mean over atoms, 64-32-16-1."""

    def __init__(self) -> None:
        super().__init__()
        sizes = ((11, 32), (32, 64), (64, 64))
        self.convs = torch.nn.ModuleList(
            pyg.NNConv(below, above, edge_network(below * above), aggr="add") for below, above in sizes
        )
        self.mlp = Sequential(Linear(64, 32), ELU(), Linear(32, 16), ELU(), Linear(16, 1))

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor, batch: Tensor) -> Tensor:
        for conv in self.convs:
            x = torch.nn.functional.elu(conv(x, edge_index, edge_attr))
        return self.mlp(pyg.global_mean_pool(x, batch))


@pytest.mark.parametrize(("name", "written"), [("mpnn", GilmerMPNN), ("1-gnn", MorrisOneGNN)])
def test_the_same_network_in_pyg(name: str, written: type[torch.nn.Module], few: QM9) -> None:
    settings = Settings(name, "none")
    architecture = settings.architecture
    torch.manual_seed(0)
    ours, theirs = build(settings, 18).double(), written().double()
    for parameter, other in zip(theirs.parameters(), ours.parameters(), strict=True):
        assert parameter.shape == other.shape
        parameter.data.copy_(other.data)
    batch = few.graphs(architecture.graphs, scaled=architecture.scaled).batch([3, 50, 110])
    x, edge_index, edge_attr, of_node, number = inputs(batch)
    assert edge_attr is not None
    x, edge_attr = x.double(), edge_attr.double()
    found = ours(x, edge_index, edge_attr, of_node, number)
    torch.testing.assert_close(found, theirs(x, edge_index, edge_attr, of_node))
