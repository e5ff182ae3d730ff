"""A GNN of one's own, made to see what it could not: are two nodes in triangles or in a hexagon?

Run it with ``python examples/wrap_your_gnn.py``.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch_geometric.nn import GraphConv

from dropgnn import DropGNN, Exhaustive

# Two triangles (label 0) beside a hexagon (label 1): every node has two neighbours.
RING = [(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (6, 7), (7, 8), (8, 9), (9, 10), (10, 11), (11, 6)]
EDGES = torch.tensor([*RING, *[(b, a) for a, b in RING]]).t()
LABELS = torch.tensor([0] * 6 + [1] * 6)


class MyGNN(torch.nn.Module):
    """Any module with ``forward(x, edge_index, ...)`` will do."""

    def __init__(self) -> None:
        super().__init__()
        self.first = GraphConv(1, 32)
        self.second = GraphConv(32, 32)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.second(self.first(x, edge_index).relu(), edge_index).relu()


def train(model: torch.nn.Module, epochs: int = 300) -> float:
    """Accuracy on the nodes themselves: here the question is what a model *can* learn."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(epochs):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(torch.ones(12, 1), EDGES), LABELS)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        return float((model(torch.ones(12, 1), EDGES).argmax(dim=1) == LABELS).double().mean())


def main() -> tuple[float, float]:
    """Train both and return their accuracies."""
    torch.manual_seed(0)
    nothing = Exhaustive(p=0.0, k=0)
    every_single_node = Exhaustive(p=0.2, k=1)
    plain, dropped = (
        train(DropGNN(MyGNN(), sampler, mode="remove", head=torch.nn.Linear(32, 2)))
        for sampler in (nothing, every_single_node)
    )
    return plain, dropped


def test() -> None:
    plain, dropped = main()
    assert plain == 0.5
    assert dropped == 1.0


if __name__ == "__main__":
    plain, dropped = main()
    print(f"plain: {plain:.2f}   with dropouts: {dropped:.2f}")
