"""Encoders, aggregators and heads say what they cannot be made of, and called with, before they take memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from dropgnn import GIN, GINE, InvalidArgument, Runs
from dropgnn.engine import ENGINES
from dropgnn.graph import Graph
from dropgnn.model.aggregate import Collected
from dropgnn.nn import MPNN, LayerReadout, Mean, OneGNN, Outcome, Pooled, Set2SetReadout, Sum, TransformSum
from dropgnn.runs.modes import MODES, DropEdges, RemoveNodes
from dropgnn.testing import peak_megabytes
from tests.nn.test_refusals import EDGES, X

BATCH = torch.zeros(3, dtype=torch.long)


def pooled(x: Any = X, batch: Any = BATCH, num_graphs: Any = 1) -> object:
    return Pooled(torch.nn.Linear(1, 2))(x, batch, num_graphs)


def outcome(prediction: Any = X) -> Outcome:
    return Outcome(prediction, lambda: X, None, None, None, Runs.of([[()]], [3]))


def collected(rows: int = 3, width: int = 2) -> Collected:
    return Collected(torch.ones(rows, width), torch.ones(rows))


REFUSED: dict[str, Callable[[Any], object]] = {
    r"'in_channels' must be a whole number of at least 1 \(got 0\)": lambda x: GIN(0, 4, 2),
    r"'hidden_channels' must be a whole number of at least 1 \(got 4.0\)": lambda x: GIN(1, 4.0, 2),  # type: ignore[arg-type]
    r"'hidden_channels' must be at most 268,435,456 \(got 2147483648\)": lambda x: GIN(1, 2**31, 2),
    r"'hidden_channels' must keep the module within 268,435,456 weights \(got 20000, which makes 1,200,020,000": (
        lambda x: GIN(1, 20_000, 2)
    ),
    r"'num_layers' must be at most 256 \(got 257\)": lambda x: GIN(1, 4, 257),
    r"'eps' must lie in \[-1e\+06, 1e\+06\] \(got nan\)": lambda x: GIN(1, 4, 2, eps=torch.nan),
    r"'aggr' must be one of sum, mean, max \(got None\)": lambda x: GIN(1, 4, 2, aggr=None),  # type: ignore[arg-type]
    r"'edge_dim' must be a whole number": lambda x: GINE(1, 4, 2, edge_dim=None),  # type: ignore[arg-type]
    r"'edge_hidden' must keep the module within": lambda x: MPNN(1, 64, edge_dim=1, edge_hidden=10**6),
    r"'rounds' must be at most 256": lambda x: MPNN(1, 64, 10**9, edge_dim=1),
    r"'channels' must have a width for each of at least one .*\(got None\)": (
        lambda x: OneGNN(1, None, edge_dim=1)  # type: ignore[arg-type]
    ),
    r"'channels' must be a whole number of at least 1 \(got None\)": (
        lambda x: OneGNN(1, [None], edge_dim=1)  # type: ignore[list-item]
    ),
    r"'skip' must be True or False \(got 'yes'\)": lambda x: OneGNN(1, edge_dim=1, skip="yes"),  # type: ignore[arg-type]
    r"'x' must have the encoder's 3 features per node \(got 1\)": lambda x: GIN(3, 4, 2)(x, EDGES),
    r"'x' must have the dtype of the encoder, torch.float32": lambda x: GIN(1, 4, 2)(x.double(), EDGES),
    r"'channels' must be a whole number of at least 1 \(got -1\)": lambda x: LayerReadout((1, -1), 2),
    r"'out_channels' must be a whole number": lambda x: LayerReadout((1, 1), "2"),  # type: ignore[arg-type]
    r"'dropout' must lie in \[0, 1\] \(got nan\)": lambda x: LayerReadout((1,), 2, dropout=torch.nan),
    r"'x' must have the dtype of the weights, torch.float32 \(got torch.float64\)": lambda x: LayerReadout((1,), 2)(x.double()),
    r"'head' must be a Module .*torch.nn.Linear": lambda x: Pooled(3),  # type: ignore[arg-type]
    r"'head' must be called as head\(x\) \(got GIN: missing a required argument: 'edge_index'\)": lambda x: Pooled(GIN(1, 4, 2)),
    r"'x' must have 1 features, as the head takes them": lambda x: pooled(torch.ones(3, 2)),
    r"'x' must be a dense matrix of rows \(got \(3,\)\)": lambda x: pooled(torch.ones(3)),
    r"'batch' must be a torch.long tensor with one entry per row, here \[3\] \(got NoneType\)": lambda x: pooled(batch=None),
    r"'batch' must name graphs from 0 to 0 \(got \[5, 5, 5\]\)": lambda x: pooled(batch=BATCH + 5),
    r"'num_graphs' must be at most 33,554,432": lambda x: pooled(num_graphs=2**40),
    r"'steps' must be at most 256": lambda x: Set2SetReadout(1, torch.nn.Linear(2, 2), steps=10**9),
    r"'in_channels' must keep the module within": lambda x: Set2SetReadout(10**5, torch.nn.Linear(2, 2)),
    r"'out_channels' must keep the module within": lambda x: TransformSum(1_000, 10**6),
    r"'embedded' must be an Embedded \(got None\)": lambda x: Mean().collect(None),  # type: ignore[arg-type]
    r"'x' must have 7 features, as the aggregator takes them": lambda x: TransformSum(7).collect(
        ENGINES["batched"](GIN(1, 4, 2), MODES["zero"](), Graph.of(x, EDGES), Runs.of([[()]], [3]))
    ),
    r"'collected' must be of the same shape, here \(3, 2\) \(got \(2, 2\)\)": lambda x: Sum().merge(collected(), collected(2)),
    r"'collected' must have a value \[N, F\] and a weight": lambda x: Sum().finish((x, x), x),  # type: ignore[arg-type]
    r"'r' must be a tensor with 3 entries": lambda x: Sum().finish(collected(), torch.ones(2)),
    r"'dropped' must be a mask over the 3 nodes": lambda x: RemoveNodes()(Graph.of(x, EDGES), torch.zeros(3)),
    r"'dropped' must be a mask over the 2 links": lambda x: DropEdges()(Graph.of(x, EDGES), torch.zeros(3) > 1),
    r"'graph' must be a Graph": lambda x: RemoveNodes()(x, torch.zeros(3) > 1),
    r"'prediction' must be a Tensor": lambda x: outcome(None),
    r"'target' must be a Tensor": lambda x: outcome().loss(None),  # type: ignore[arg-type]
    r"'target' must be what cross_entropy takes .*Target 9 is out of bounds": lambda x: outcome().loss(BATCH + 9),
    r"'mask' must have one entry per prediction, here 3": lambda x: outcome().loss(BATCH, mask=torch.zeros(2) > 1),
    r"'criterion' must be a function": lambda x: outcome().loss(BATCH, "mse"),  # type: ignore[arg-type]
    r"'x' must hold real numbers \(got torch.complex64\)": lambda x: Graph.of(x.to(torch.complex64), EDGES),
    r"'x' must be a dense tensor \(got torch.sparse_coo\); convert with x.to_dense": lambda x: Graph.of(x.to_sparse(), EDGES),
    r"'x' must be a dense tensor \(got one without data\)": lambda x: Graph.of(x.to("meta"), EDGES),
    r"'x' must be of at most 2,147,483,647": lambda x: Graph.of(torch.empty(2**40, 0), EDGES),
    r"'edge_attr' must be a dense tensor": lambda x: Graph.of(x, EDGES, torch.ones(2, 1).to_sparse()),
    r"'edge_attr' must hold real numbers": lambda x: Graph.of(x, EDGES, torch.ones(2, 1) * 1j),
    r"'num_graphs' must be at most 33,554,432 \(got 1": lambda x: Graph.of(x, EDGES, batch=BATCH, num_graphs=2**40),
}  # fmt: skip


@pytest.mark.parametrize("message", REFUSED)
def test_refused(message: str) -> None:
    def call() -> None:
        with pytest.raises(InvalidArgument, match=message):
            REFUSED[message](X)

    assert peak_megabytes(call) < 100


def test_features_may_be_laid_out_in_any_way() -> None:
    """Columns of a larger matrix, turned or expanded: the same features are the same graph."""
    wide = torch.rand(3, 4)
    for x in (wide[:, ::2], wide[:, :2].t().contiguous().t(), wide[:, :1].expand(3, 2), wide[:, 1:3].flip(0).flip(0)):
        gin = GIN(2, 4, 2).eval()
        assert torch.equal(gin(x, EDGES), gin(x.contiguous(), EDGES))
        assert torch.equal(gin(x, EDGES.t().contiguous().t()), gin(x, EDGES))
