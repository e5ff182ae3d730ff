"""Bad input is ordinary input: it works, or it gets an error with the argument, the rule, the value and the way out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch_geometric.nn as pyg
from torch import Tensor

from dropgnn import GIN, GINE, Bernoulli, DropGNN, DropGNNError, Exhaustive, InvalidArgument, Runs, Unsupported
from dropgnn.nn import LayerReadout, Pooled
from tests.conftest import generator
from tests.engine.test_agreement import OwnGNN

X, EDGES = torch.ones(3, 1), torch.tensor([[0, 1], [1, 2]])
NONE = torch.empty(2, 0, dtype=torch.long)


def model(encoder: Any = None, **arguments: Any) -> DropGNN:
    defaults: dict[str, Any] = {"sampler": Bernoulli(0.2, 4), "generator": generator()}
    return DropGNN(GIN(1, 4, 2) if encoder is None else encoder, **defaults | arguments)


class NeedsPositions(torch.nn.Module):
    def forward(self, x: Tensor, edge_index: Tensor, pos: Tensor) -> Tensor:
        return x


class NormInside(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(1)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.norm(x)


class ReturnsPair(torch.nn.Module):
    def forward(self, x: Tensor, edge_index: Tensor) -> tuple[Tensor, Tensor]:
        return x, x


class Halves(torch.nn.Module):
    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return x[::2]


REFUSED: dict[str, tuple[Callable[[], object], type[DropGNNError], str]] = {
    "no module": (lambda: model(lambda x, e: x), InvalidArgument, r"'encoder' must be a torch.nn.Module \(got function"),
    "a class": (lambda: model(GIN), InvalidArgument, r"'encoder' must be a torch.nn.Module .*pass an instance"),
    "no GNN": (lambda: model(torch.nn.Linear(1, 1)), Unsupported, r"Linear.forward takes 1 argument.*it is no GNN; wrap"),
    "needs more": (lambda: model(NeedsPositions()), Unsupported, r"NeedsPositions.forward needs 'pos', which .*wrap it"),
    "cached": (lambda: model(pyg.GCN(1, 2, 1, cached=True)), Unsupported, r"cached=True\) would keep .*set cached=False"),
    "returns a pair": (lambda: model(ReturnsPair())(X, EDGES), InvalidArgument, r"'encoder' must return a matrix .*tuple"),
    "wrong rows": (lambda: model(Halves())(X, EDGES), InvalidArgument, r"must return one row per node, here 12 .*pooled"),
    "unknown mode": (lambda: model(mode="kill"), InvalidArgument, r"'mode' must be one of zero, .* \(got 'kill'\)"),
    "unknown aggregator": (lambda: model(aggregator="median"), InvalidArgument, r"'aggregator' must be one of mean, sum"),
    "unknown engine": (lambda: model(engine="warp"), InvalidArgument, r"'engine' must be one of reference, batched"),
    "unknown aggr": (lambda: GIN(1, 4, 2, aggr="add"), InvalidArgument, r"'aggr' must be one of sum, mean, max"),
    "unknown pool": (lambda: Pooled(torch.nn.Linear(1, 1), pool="avg"), InvalidArgument, r"'pool' must be one of sum, "),
    "no layers": (lambda: GIN(1, 4, 0), InvalidArgument, r"'num_layers' must be at least 1 \(got 0\)"),
    "no sampler": (lambda: model(sampler=None), InvalidArgument, r"'sampler' must be a Sampler, e.g. Bernoulli"),
    "p as sampler": (lambda: model(sampler=0.1), InvalidArgument, r"'sampler' must be a Sampler.*\(got 0.1\)"),
    "no generator": (lambda: model(generator=None)(X, EDGES), InvalidArgument, r"'generator' is needed.*manual_seed"),
    "chunk of 0": (lambda: model(chunk=0), InvalidArgument, r"'chunk' must be at least 1 \(got 0\)"),
    "chunks in training": (lambda: model(chunk=2)(X, EDGES), Unsupported, r"chunk=2 would take the batch statistics of GIN"),
    "transform without width": (
        lambda: model(Halves(), aggregator="transform-sum"), InvalidArgument, r"must be given its width.*TransformSum",
    ),
    "auxiliary of another level": (
        lambda: model(head=LayerReadout((1, 4, 4), 2), auxiliary=Pooled(LayerReadout((1, 4, 4), 2))),
        InvalidArgument, r"'auxiliary' must predict what head predicts",
    ),
    "layers we cannot reach": (
        lambda: model(OwnGNN(), mode="zero-layers")(torch.ones(3, 3), EDGES), Unsupported, r"must reach between the layers",
    ),
    "norm without weights": (
        lambda: model(NormInside(), sampler=Exhaustive(0.1))(X, EDGES), Unsupported, r"takes no weights.*WeightedBatchNorm",
    ),
    "reference with norm inside": (
        lambda: model(NormInside(), engine="reference")(X, EDGES), Unsupported, r"copy by copy.*use engine='batched'",
    ),
    "edge norm without weights": (
        lambda: model(pyg.EdgeCNN(1, 4, 2, norm="batch_norm"), sampler=Exhaustive(0.1))(X, EDGES),
        Unsupported, r"takes no weights",
    ),
    "x is a list": (lambda: model()([[1.0]], EDGES), InvalidArgument, r"'x' must be a tensor of node features .*got list"),
    "x is a vector": (lambda: model()(torch.ones(3), EDGES), InvalidArgument, r"'x' must be a matrix .*x.unsqueeze\(1\)"),
    "NaN": (
        lambda: model()(torch.tensor([[1.0], [torch.nan], [1.0]]), EDGES),
        InvalidArgument, r"'x' must be finite \(got NaN or infinity in row 1\); clean",
    ),
    "float64": (lambda: model()(X.double(), EDGES), InvalidArgument, r"'x' must have the dtype of the encoder.*x.to\("),
    "complex": (lambda: model()(X.to(torch.complex64), EDGES), InvalidArgument, r"'x' must hold real numbers"),
    "integers": (lambda: model()(X.long(), EDGES), InvalidArgument, r"'x' must be floating point where dropping means"),
    "too many features": (lambda: model()(torch.ones(3, 2), EDGES), InvalidArgument, r"must have the encoder's 1 features"),
    "edges of int32": (lambda: model()(X, EDGES.int()), InvalidArgument, r"'edge_index' must have dtype torch.long"),
    "edges transposed": (lambda: model()(X, torch.zeros(5, 2).long()), InvalidArgument, r"must be a tensor of shape \[2, E\]"),
    "no edge tensor": (lambda: model()(X, None), InvalidArgument, r"'edge_index' must be .*got NoneType.*torch.empty\(2, 0"),
    "edge out of range": (lambda: model()(X, EDGES + 1), InvalidArgument, r"point at the 3 rows of x, 0 to 2 \(got 3\)"),
    "negative edge": (lambda: model()(X, EDGES - 1), InvalidArgument, r"'edge_index' must point at .*\(got -1\)"),
    "edge between graphs": (
        lambda: model()(X, EDGES, batch=torch.tensor([0, 0, 1])), InvalidArgument, r"must join nodes of one graph .*\[1, 2\]",
    ),
    "unsorted batch": (
        lambda: model()(X, NONE, batch=torch.tensor([1, 0, 1])), InvalidArgument, r"'batch' must be .*non-decreasing",
    ),
    "short batch": (lambda: model()(X, NONE, batch=torch.tensor([0])), InvalidArgument, r"'batch' must be .*here \[3\]"),
    "float batch": (lambda: model()(X, NONE, batch=torch.zeros(3)), InvalidArgument, r"'batch' must be a torch.long tensor"),
    "too few graphs": (
        lambda: model()(X, NONE, batch=torch.tensor([0, 1, 2]), num_graphs=2), InvalidArgument, r"must be at least 3",
    ),
    "edge features ignored by GIN": (
        lambda: model()(X, EDGES, torch.ones(2, 1)), Unsupported, r"GIN would ignore edge_attr; use an encoder with edge",
    ),
    "edge features ignored by GCN": (
        lambda: model(pyg.GCN(1, 2, 1))(X, EDGES, torch.ones(2, 1)), Unsupported, r"GCN would ignore edge_attr",
    ),
    "edge features ignored by GAT": (
        lambda: model(pyg.GAT(1, 2, 1))(X, EDGES, torch.ones(2, 1)), Unsupported, r"GAT was built without edge_dim",
    ),
    "edge features ignored by a module": (
        lambda: model(Halves())(X, EDGES, torch.ones(2, 1)), Unsupported, r"Halves.forward has no 'edge_attr'",
    ),
    "edge features missing": (lambda: model(GINE(1, 4, 2, edge_dim=1))(X, EDGES), Unsupported, r"edge_dim=1 and needs edge"),
    "edge features of the wrong length": (
        lambda: model(GINE(1, 4, 2, edge_dim=1))(X, EDGES, torch.ones(3, 1)), InvalidArgument, r"'edge_attr' must be a matrix",
    ),
    "edge features of the wrong width": (
        lambda: model(GINE(1, 4, 2, edge_dim=1))(X, EDGES, torch.ones(2, 3)), InvalidArgument, r"encoder's 1 features per edge",
    ),
    "edge features of the wrong width for GAT": (
        lambda: model(pyg.GAT(1, 2, 1, edge_dim=1))(X, EDGES, torch.ones(2, 3)), InvalidArgument, r"1 features per edge",
    ),
    "runs for other graphs": (
        lambda: model()(X, EDGES, runs=Runs.of([[()]], [5])), InvalidArgument, r"'runs' must be for these graphs, with \[3\]",
    ),
    "runs for edges": (
        lambda: model()(X, EDGES, runs=Runs.of([[()]], [2], items="links")), InvalidArgument, r"'runs' must drop nodes",
    ),
    "neighbourhoods of pooled graphs": (
        lambda: model(Halves(), sampler=Exhaustive(0.1, scope="neighborhood", hops=1), pooled=True)(X, EDGES),
        Unsupported, r"use scope='graph'",
    ),
    "planned without layers": (
        lambda: DropGNN.planned(Halves(), [], seed=0), InvalidArgument, r"'hops' must be given: we cannot count the layers",
    ),
    "loss for another batch": (
        lambda: model(head=LayerReadout((1, 4, 4), 2))(X, EDGES, return_outcome=True).loss(torch.zeros(2).long()),
        InvalidArgument, r"'target' must have one entry per prediction, here 3 \(got 2\)",
    ),
    "share of 2": (
        lambda: model()(X, EDGES, return_outcome=True).loss(torch.zeros(3).long(), auxiliary_share=2),
        InvalidArgument, r"'auxiliary_share' must lie in \[0, 1\]",
    ),
    "channels": (lambda: LayerReadout((1, 4), 2)(torch.ones(3, 4)), InvalidArgument, r"must have 5 features, the sum of"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    call, kind, message = REFUSED[case]
    with pytest.raises(kind, match=message):
        call()


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("mode", ["zero", "zero-layers", "remove", "edges", "receive-only"])
@pytest.mark.parametrize("p", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("engine", ["reference", "batched"])
@pytest.mark.parametrize(
    ("nodes", "edges"),
    [(0, NONE), (1, NONE), (3, NONE), (3, torch.tensor([[0, 1], [1, 0]]))],
    ids=["no node", "one node", "no edges", "isolated last node"],
)
def test_small_graphs_work(engine: str, nodes: int, edges: Tensor, p: float, mode: str, training: bool) -> None:
    gin = GIN(1, 4, 2)
    readout = Pooled(LayerReadout(gin.channels, 2))
    drop = model(gin, sampler=Bernoulli(p, 3), mode=mode, head=readout, engine=engine).train(training)
    assert drop(torch.ones(nodes, 1), edges, num_graphs=1).shape == (1, 2)
    drop = model(gin, sampler=Bernoulli(p, 1), mode=mode, engine=engine).eval()
    assert drop(torch.ones(nodes, 1), edges).shape == (nodes, 9)


def test_a_batch_without_graphs_works() -> None:
    drop = model(head=Pooled(LayerReadout((1, 4, 4), 2)))
    assert drop(torch.ones(0, 1), NONE, batch=torch.empty(0, dtype=torch.long), num_graphs=0).shape == (0, 2)


def test_trailing_graphs_without_nodes_are_kept() -> None:
    drop = model(head=Pooled(LayerReadout((1, 4, 4), 2)))
    assert drop(X, EDGES, batch=torch.zeros(3, dtype=torch.long), num_graphs=3).shape == (3, 2)
