"""Bad input is ordinary input: it works, or it gets an error with the argument, the rule, the value and the way out."""

from __future__ import annotations

import dataclasses
import importlib
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch_geometric.nn as pyg
from torch import Tensor
from torch_geometric.nn import GraphConv

from dropgnn import (
    GIN,
    GINE,
    Bernoulli,
    DropGNN,
    DropGNNError,
    Exhaustive,
    Graph,
    InvalidArgument,
    RunPlan,
    Runs,
    Unsupported,
)
from dropgnn.nn import Encoder, LayerReadout, OneGNN, Pooled
from dropgnn.runs.modes import DropEdges
from tests.conftest import generator

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


class NormOfSome(NormInside):
    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return torch.cat([self.norm(x[:5]), x[5:]])


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
    "needs more": (lambda: model(NeedsPositions())(X, EDGES), InvalidArgument, r"'pos' is needed by NeedsPositions.forward"),
    "cached": (lambda: model(pyg.GCN(1, 2, 1, cached=True)), Unsupported, r"cached=True\) would keep .*set cached=False"),
    "returns a pair": (lambda: model(ReturnsPair())(X, EDGES), InvalidArgument, r"'encoder' must return a matrix .*tuple"),
    "wrong rows": (lambda: model(Halves())(X, EDGES), InvalidArgument, r"must return one row per node, here 12 .*pooled"),
    "unknown mode": (lambda: model(mode="kill"), InvalidArgument, r"'mode' must be one of zero, .* \(got 'kill'\)"),
    "unknown aggregator": (lambda: model(aggregator="median"), InvalidArgument, r"'aggregator' must be one of mean, sum"),
    "unknown engine": (lambda: model(engine="warp"), InvalidArgument, r"'engine' must be one of auto, reference, batched"),
    "unknown aggr": (lambda: GIN(1, 4, 2, aggr="add"), InvalidArgument, r"'aggr' must be one of sum, mean, max"),
    "unknown pool": (lambda: Pooled(torch.nn.Linear(1, 1), pool="avg"), InvalidArgument, r"'pool' must be one of sum, "),
    "no layers": (lambda: GIN(1, 4, 0), InvalidArgument, r"'num_layers' must be a whole number of at least 1 \(got 0\)"),
    "no sampler": (lambda: model(sampler=None), InvalidArgument, r"'sampler' must be a Sampler \(got None\); e.g. Bernoulli"),
    "p as sampler": (lambda: model(sampler=0.1), InvalidArgument, r"'sampler' must be a Sampler \(got 0.1\)"),
    "no generator": (lambda: model(generator=None)(X, EDGES), InvalidArgument, r"'generator' is needed.*manual_seed"),
    "chunk of 0": (lambda: model(chunk=0), InvalidArgument, r"'chunk' must be a whole number of at least 1 \(got 0\)"),
    "chunks in training": (lambda: model(chunk=2)(X, EDGES), Unsupported, r"chunk=2 would take the batch statistics of GIN"),
    "transform without width": (
        lambda: model(Halves(), aggregator="transform-sum"), InvalidArgument, r"must be given its width.*TransformSum",
    ),
    "auxiliary of another level": (
        lambda: model(head=LayerReadout((1, 4, 4), 2), auxiliary=Pooled(LayerReadout((1, 4, 4), 2))),
        InvalidArgument, r"'auxiliary' must predict what head predicts",
    ),
    "norm without weights": (
        lambda: model(NormOfSome(), sampler=Exhaustive(0.1), engine="batched")(X, EDGES),
        Unsupported, r"over 5 rows, of which it cannot be told whether they are nodes",
    ),
    "x is a list": (lambda: model()([[1.0]], EDGES), InvalidArgument, r"'x' must be a tensor of node features .*got list"),
    "no x": (lambda: model()(None, EDGES), InvalidArgument, r"'x' must be .*got NoneType\); without features use torch.ones"),
    "sparse x": (lambda: model()(X.to_sparse(), EDGES), InvalidArgument, r"'x' must be a dense tensor .*x.to_dense"),
    "sparse edges": (
        lambda: model()(X, torch.eye(3).to_sparse()), InvalidArgument, r"'edge_index' must be a dense tensor .*indices\(\)",
    ),
    "an adjacency matrix": (lambda: model()(X, torch.eye(3).long()), InvalidArgument, r"shape \[2, E\] .*nonzero\(\).t"),
    "graphs without batch": (lambda: model()(X, EDGES, num_graphs=3), InvalidArgument, r"'num_graphs' must be 1 without batch"),
    "seed as generator": (lambda: model(generator=0), InvalidArgument, r"'generator' must be a Generator .*manual_seed"),
    "head as mode": (lambda: model(mode=torch.nn.Linear(1, 1)), InvalidArgument, r"'mode' must be a Mode .*or one of zero"),
    "no aggregator": (lambda: model(aggregator=None), InvalidArgument, r"'aggregator' must be an Aggregator \(got None"),
    "pool as head": (lambda: model(head=pyg.global_add_pool), InvalidArgument, r"'head' must be a Module .*Pooled"),
    "aggregation as head": (
        lambda: model(head=pyg.SumAggregation())(X, EDGES), InvalidArgument, r"'head' must return one prediction per row, here 3",
    ),
    "runs as lists": (lambda: model()(X, EDGES, runs=[[()]]), InvalidArgument, r"'runs' must be a Runs .*Runs.of"),
    "norm over the graph": (
        lambda: model(pyg.Sequential("x, edge_index", [(pyg.GCNConv(1, 2), "x, edge_index -> x"), pyg.GraphNorm(2)])),
        Unsupported, r"GraphNorm 'module_1' looks at a whole graph, .* no 'batch' to tell the copies apart; add batch=None",
    ),
    "pooled without batch": (
        lambda: model(pyg.GCN(1, 2, 1), pooled=True)(X, EDGES), InvalidArgument, r"one row per graph, here 4 .*needs no pooled",
    ),
    "a module as criterion": (
        lambda: model()(X, EDGES, return_outcome=True).loss(torch.zeros(3, 9), torch.nn.MSELoss()),
        InvalidArgument, r"'criterion' must be a function with a reduction argument .*mse_loss for MSELoss",
    ),
    "a target that would broadcast": (
        lambda: model()(X, EDGES, return_outcome=True).loss(torch.zeros(3), torch.nn.functional.mse_loss),
        InvalidArgument, r"'target' must have the shape of the prediction, \(3, 9\), .*target.unsqueeze",
    ),
    "x is a vector": (lambda: model()(torch.ones(3), EDGES), InvalidArgument, r"'x' must be a matrix .*x.unsqueeze\(1\)"),
    "NaN": (
        lambda: model()(torch.tensor([[1.0], [torch.nan], [1.0]]), EDGES),
        InvalidArgument, r"'x' must be finite \(got NaN or infinity in row 1\); clean",
    ),
    "float64": (lambda: model()(X.double(), EDGES), InvalidArgument, r"'x' must have the dtype of the encoder.*x.to\("),
    "complex": (lambda: model()(X.to(torch.complex64), EDGES), InvalidArgument, r"'x' must hold real numbers"),
    "integers": (lambda: model()(X.long(), EDGES), InvalidArgument, r"'x' must be floating point for this encoder"),
    "too many features": (lambda: model()(torch.ones(3, 2), EDGES), InvalidArgument, r"must have the encoder's 1 features"),
    "edges of int32": (lambda: model()(X, EDGES.int()), InvalidArgument, r"'edge_index' must have dtype torch.long"),
    "edges transposed": (
        lambda: model()(X, torch.zeros(5, 2).long()), InvalidArgument, r"must have shape \[2, E\] .*edge_index.t\(\)",
    ),
    "no edge tensor": (
        lambda: model()(X, None), InvalidArgument, r"must be a tensor \[2, E\] \(got NoneType\); without edges pass torch.empty",
    ),
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
    "integer edge features": (
        lambda: model(GINE(1, 4, 2, edge_dim=1))(X, EDGES, torch.ones(2, 1).long()),
        InvalidArgument, r"'edge_attr' must be floating point for this encoder .*one-hot",
    ),
    "GAT without its edge features": (lambda: model(pyg.GAT(1, 2, 1, edge_dim=3))(X, EDGES), Unsupported, r"needs edge_attr"),
    "a norm over the graph inside GIN": (
        lambda: model(pyg.GIN(1, 4, 2, norm="graph_norm")), Unsupported, r"GraphNorm .* looks at a whole graph, but GINConv",
    ),
    "a pooling head on a pooling encoder": (
        lambda: model(Halves(), pooled=True, head=Pooled(torch.nn.Linear(1, 1))), InvalidArgument, r"'head' must be for rows",
    ),
    "runs with wrong weights": (
        lambda: model()(X, EDGES, runs=dataclasses.replace(Runs.of([[()]], [3]), weight=torch.tensor([torch.nan]))),
        InvalidArgument, r"'weight' must be 1 non-negative",
    ),
    "an index as mask": (
        lambda: model()(X, EDGES, return_outcome=True).loss(torch.zeros(3).long(), mask=torch.tensor([1])),
        InvalidArgument, r"'mask' must be a mask of booleans",
    ),
    "planned with a sampler": (
        lambda: DropGNN.planned(GIN(1, 4, 2), [], seed=0, sampler=Bernoulli(0.1, 2)), InvalidArgument, r"chosen by planned",
    ),
    "planned for edges": (
        lambda: DropGNN.planned(GIN(1, 4, 2), [], seed=0, mode="edges"), InvalidArgument, r"the plan is for them",
    ),
    "a p for nodes where edges are dropped": (
        lambda: model(mode="edges", sampler=Bernoulli(RunPlan.of(Graph.of(X, EDGES), hops=1).p_by_region, 2))(X, EDGES),
        InvalidArgument, r"'items' must be nodes: regions are regions of nodes \(got links\)",
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
        lambda: DropGNN.planned(Halves(), [], seed=0), InvalidArgument, r"'hops' must be given: Halves has no num_layers",
    ),
    "loss for another batch": (
        lambda: model(head=LayerReadout((1, 4, 4), 2))(X, EDGES, return_outcome=True).loss(torch.zeros(2).long()),
        InvalidArgument, r"'target' must have one entry per prediction, here 3 \(got 2\)",
    ),
    "generator for runs that are there": (
        lambda: model()(X, EDGES, runs=Runs.of([[()]], [3]), generator=generator()), InvalidArgument,
        r"'generator' has no effect on runs that are drawn already",
    ),
    "planned for a mode of edges": (
        lambda: DropGNN.planned(GIN(1, 4, 2), [], seed=0, mode=DropEdges()), InvalidArgument, r"'mode' must drop nodes",
    ),
    "2.0 graphs": (
        lambda: model()(X, EDGES, batch=torch.zeros(3).long(), num_graphs=2.0), InvalidArgument,
        r"'num_graphs' must be a whole number of at least 0 \(got 2.0\)",
    ),
    "batch elsewhere": (
        lambda: Graph.of(X, EDGES, batch=torch.zeros(3, dtype=torch.long, device="meta")), InvalidArgument,
        r"'batch' must be on cpu, where x is \(got meta\); batch.to\(x.device\)",
    ),
    "half a layer": (lambda: GIN(1, 4, 2.5), InvalidArgument, r"'num_layers' must be a whole number"),  # type: ignore[arg-type]
    "no layer": (lambda: OneGNN(1, (), edge_dim=1), InvalidArgument, r"'channels' must have a width"),
    "item 1.7": (lambda: Runs.of([[(1.7,)]], [3]), InvalidArgument, r"'dropped' must list graphs"),  # type: ignore[list-item]
    "share of 2": (
        lambda: model(auxiliary=torch.nn.Linear(9, 9))(X, EDGES, return_outcome=True).loss(
            torch.zeros(3).long(), auxiliary_share=2
        ),
        InvalidArgument, r"'auxiliary_share' must lie in \[0, 1\]",
    ),
    "share without auxiliary head": (
        lambda: model()(X, EDGES, return_outcome=True).loss(torch.zeros(3).long(), auxiliary_share=0.5),
        InvalidArgument, r"'auxiliary_share' has no effect without an auxiliary head",
    ),
    "channels": (lambda: LayerReadout((1, 4), 2)(torch.ones(3, 4)), InvalidArgument, r"must have 5 features, the sum of"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    call, kind, message = REFUSED[case]
    with pytest.raises(kind, match=message):
        call()


def test_encoders_in_layers_still_run_and_are_deprecated() -> None:
    sys.modules.pop("dropgnn.engine.layers", None)
    with pytest.warns(DeprecationWarning, match=r"dropgnn\.engine\.layers will go"):
        layers = importlib.import_module("dropgnn.engine.layers")
    with pytest.warns(DeprecationWarning, match=r"InLayers: write a forward instead of layers\(\)"):

        class InLayers(Encoder):
            def __init__(self) -> None:
                super().__init__()
                self.in_channels, self.out_channels, self.conv = 1, 2, GraphConv(1, 2)

            def layers(self) -> list[Any]:
                conv = self.conv
                return [layers.Layer(lambda x, edge_index, attr: conv(x, edge_index), None, conv, (torch.nn.ReLU(),))]

    encoder = InLayers()
    found = DropGNN(encoder, Bernoulli(0.0, 1), engine="shared", generator=generator())(X, EDGES)
    torch.testing.assert_close(found, encoder.conv(X, EDGES).relu())


def test_a_loss_on_nodes_that_are_never_present_is_finite() -> None:
    runs = Runs.of([[(0,)]], items_per_graph=[3])
    drop = model(mode="remove", head=torch.nn.Linear(9, 2), auxiliary=torch.nn.Linear(9, 2))
    outcome = drop(X, EDGES, runs=runs, return_outcome=True)
    assert torch.isfinite(outcome.loss(torch.zeros(3).long(), mask=torch.tensor([True, False, False])))


def test_pooling_encoders_may_ask_for_the_number_of_graphs() -> None:
    class Pools(torch.nn.Module):
        def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor, batch_size: int) -> Tensor:
            return pyg.global_mean_pool(x, batch, batch_size)

    runs = Runs.of([[(), (0, 1, 2)]], items_per_graph=[3])
    for engine in ("reference", "batched"):
        assert model(Pools(), pooled=True, mode="remove", engine=engine)(X, EDGES, runs=runs).shape == (1, 1)
