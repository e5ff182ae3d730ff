"""Edge networks as pieces: the same as asking the network about every edge, and only where that is so."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch_geometric.nn as pyg
from torch import Tensor
from torch_geometric.data import Batch, Data

from dropgnn import Bernoulli, DropGNN, Exhaustive
from dropgnn.data.qm9.dataset import QM9
from dropgnn.engine.edge_features import kinds_of
from dropgnn.engine.parts import Parts
from dropgnn.engine.rules import nnconv
from dropgnn.engine.rules.pieces import VARIES, Features, Pieces, pieces_of
from dropgnn.graph import Graph
from dropgnn.nn import MPNN, OneGNN, Pooled, Set2SetReadout
from dropgnn.runs.modes import MODES
from dropgnn.testing import assert_engines_agree
from dropgnn.training.loop import inputs
from tests.conftest import generator
from tests.engine.test_edge_network import molecule

SIZES = (7, 1, 9, 8, 2)


def batch(*, varying: int = 1) -> Graph:
    """Complete graphs, and so many distances on every edge."""
    found = [molecule(size, seed) for seed, size in enumerate(SIZES)]
    attr = torch.cat([graph.edge_attr for graph in found if graph.edge_attr is not None])
    more = torch.rand(attr.size(0), varying, generator=generator(), dtype=torch.float64)
    place = torch.cat([torch.full((graph.num_nodes,), number) for number, graph in enumerate(found)])
    shift, edges = 0, []
    for graph in found:
        edges.append(graph.edge_index + shift)
        shift += graph.num_nodes
    x = torch.cat([graph.x for graph in found])
    attr = torch.cat([attr[:, :2], more], dim=1) if varying != 1 else attr
    return Graph.of(x, torch.cat(edges, dim=1), attr, place, len(found))


def encoder(kind: str, edge_dim: int = 3) -> torch.nn.Module:
    torch.manual_seed(0)
    if kind == "mpnn":
        return MPNN(3, 4, 3, edge_dim=edge_dim, edge_hidden=5)
    return OneGNN(3, (4, 5), edge_dim=edge_dim, edge_hidden=6, aggr="mean", skip=kind == "skip")


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch) -> list[int | None]:
    """The number of pieces of every network that was asked, or ``None`` where it was asked directly."""
    seen: list[int | None] = []

    def noted(*given: Any) -> Pieces | None:
        pieces = pieces_of(*given)
        seen.append(None if pieces is None else pieces.matrices.size(0))
        return pieces

    monkeypatch.setattr(nnconv, "pieces_of", noted)
    return seen


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sampler", [Bernoulli(0.3, r=4), Exhaustive(0.2, k=1)], ids=repr)
@pytest.mark.parametrize("kind", ["mpnn", "1-gnn", "skip"])
def test_pieces_mean_what_the_network_means(kind: str, sampler: Any, mode: str, chosen: list[int | None]) -> None:
    model = DropGNN(encoder(kind), sampler, mode).double()
    assert_engines_agree(model, batch(), generator=generator(1), inputs=False, engines=("reference", "shared"))
    assert chosen
    assert all(number is not None and 1 < number < 30 for number in chosen)


def test_molecules_have_few_pieces(few: QM9, chosen: list[int | None]) -> None:
    data = few.graphs("complete").batch(list(range(50, 114)))
    model = DropGNN(MPNN(11, edge_dim=5), Bernoulli(0.1, r=2), engine="shared", generator=generator())
    assert kinds_of(model.plan(*inputs(data))).edge.numel() > 1_000
    model(*inputs(data))
    assert chosen[0] is not None
    assert chosen[0] < 64


def test_two_features_that_vary(chosen: list[int | None]) -> None:
    graph = batch(varying=2)
    model = DropGNN(encoder("mpnn", edge_dim=4), Bernoulli(0.3, r=4)).double()
    heads = [Set2SetReadout(4, torch.nn.Linear(8, 1)).double() for _ in range(2)]
    model = DropGNN(model.encoder, Bernoulli(0.3, r=4), head=heads[0], auxiliary=heads[1])
    assert_engines_agree(model, graph, generator=generator(1), inputs=False, engines=("reference", "shared"))
    assert all(number is not None for number in chosen)


def test_where_the_network_is_asked_directly(chosen: list[int | None]) -> None:
    def step(model: DropGNN, graph: Graph, attr: Tensor | None = None) -> list[int | None]:
        chosen.clear()
        model.double()(graph.x, graph.edge_index, graph.edge_attr if attr is None else attr, graph.batch, 5)
        return list(chosen)

    def made(kind: str = "1-gnn") -> DropGNN:
        return DropGNN(encoder(kind), Bernoulli(0.3, r=4), engine="shared", generator=generator())

    graph = batch()
    assert None not in step(made(), graph)
    smooth = made()
    for conv in smooth.modules():
        if isinstance(conv, pyg.NNConv):
            conv.nn[1] = torch.nn.ELU()
    assert step(smooth, graph) == [None, None]
    few = made()
    few.encoder = OneGNN(3, (4,), edge_dim=3, edge_hidden=500)  # as many pieces as edges
    assert step(few, graph) == [None]
    assert graph.edge_attr is not None
    assert step(made(), graph, graph.edge_attr.clone().requires_grad_()) == []


def test_a_part_of_a_plan_has_its_pieces(chosen: list[int | None]) -> None:
    data = []
    for seed, size in enumerate(SIZES):
        graph = molecule(size, seed)
        data.append(Data(x=graph.x, edge_index=graph.edge_index, edge_attr=graph.edge_attr, num_nodes=size))
    model = DropGNN(encoder("mpnn"), Exhaustive(0.2, k=1), head=Pooled(torch.nn.Linear(4, 1))).double()
    parts = Parts(model.plan(*inputs(Batch.from_data_list(data))))
    some = Batch.from_data_list([data[3], data[0]])
    torch.testing.assert_close(model(*inputs(some), plan=parts.take([3, 0])), model(*inputs(some)))
    assert None not in chosen


def test_what_varies() -> None:
    rows = torch.zeros(40, 3, dtype=torch.float64)
    rows[:, 1] = torch.arange(40) % VARIES
    rows[:, 2] = torch.arange(40)
    features = Features.of(rows)
    assert features.varying.tolist() == [2]
    assert features.value.tolist() == [rows[:, 2].tolist()]
    assert features.alike.unique().numel() == VARIES
    assert torch.equal(features.fixed[:, 1], rows[:, 1])
    assert not features.fixed[:, 2].any()
