"""Edge networks under the `shared` engine: asked once, about each distinct edge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch_geometric.nn as pyg
from torch import Tensor

from dropgnn import Bernoulli, DropGNN, Exhaustive, Unsupported
from dropgnn.graph import Graph
from dropgnn.nn import MPNN, Encoder, OneGNN, Pooled, Set2SetReadout
from dropgnn.runs.samplers import Sampler
from dropgnn.testing import assert_engines_agree
from tests.conftest import generator

Asked = Callable[[DropGNN, Graph], list[int]]


def molecule(atoms: int, seed: int) -> Graph:
    """A complete graph with bond types and distances, equal in both directions."""
    place = torch.rand(atoms, 3, generator=generator(seed), dtype=torch.float64)
    one, other = torch.triu_indices(atoms, atoms, 1)
    kind = torch.eye(2, dtype=torch.float64)[torch.randint(2, one.shape, generator=generator(seed))]
    attr = torch.cat([kind, (place[one] - place[other]).norm(dim=1, keepdim=True)], dim=1)
    edges = torch.stack([torch.cat([one, other]), torch.cat([other, one])])
    x = torch.randint(2, (atoms, 3), generator=generator(seed)).double()
    return Graph.of(x, edges, torch.cat([attr, attr]))


def mpnn(**arguments: Any) -> MPNN:
    torch.manual_seed(0)
    return MPNN(3, 4, 3, edge_dim=3, edge_hidden=5, **arguments).double()


def one_gnn() -> OneGNN:
    torch.manual_seed(0)
    return OneGNN(3, (4, 4, 4), edge_dim=3, edge_hidden=5).double()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """How many edges edge networks are asked about in a step of a model, call by call. Not by hooks: those are not shared."""

    def count(model: DropGNN, graph: Graph) -> list[int]:
        first = {id(conv.nn[0]) for conv in model.modules() if isinstance(conv, pyg.NNConv)}
        calls, forward = [], torch.nn.Linear.forward

        def counted(self: torch.nn.Linear, rows: Tensor) -> Tensor:
            calls.extend([rows.size(0)] if id(self) in first else [])
            return forward(self, rows)

        monkeypatch.setattr(torch.nn.Linear, "forward", counted)
        model(graph.x, graph.edge_index, graph.edge_attr).sum().backward()
        return calls

    return count


def test_one_matrix_for_every_undirected_edge(asked: Asked) -> None:
    model = DropGNN(mpnn(), Bernoulli(0.2, r=7), engine="shared", generator=generator())
    assert asked(model, molecule(6, seed=0)) == [15]  # 6 atoms have 15 pairs; 7 runs, 3 rounds and 2 directions


def test_each_layer_has_a_network_of_its_own(asked: Asked) -> None:
    model = DropGNN(one_gnn(), Bernoulli(0.2, r=7), engine="shared", generator=generator())
    assert asked(model, molecule(6, seed=0)) == [15] * 3


@pytest.mark.parametrize("encoder", ["mpnn", "one-gnn"])
def test_the_others_ask_for_every_copy_in_every_round(encoder: str, asked: Asked) -> None:
    made = mpnn() if encoder == "mpnn" else one_gnn()
    model = DropGNN(made, Bernoulli(0.2, r=7), engine="batched", generator=generator())
    assert asked(model, molecule(6, seed=0)) == [7 * 30] * 3


@pytest.mark.parametrize("sampler", [Bernoulli(0.3, r=5), Exhaustive(0.2, k=2)], ids=repr)
@pytest.mark.parametrize("mode", ["zero", "zero-layers", "remove"])
def test_molecules_with_set2set(sampler: Sampler, mode: str) -> None:
    torch.manual_seed(0)
    heads = [Set2SetReadout(4, torch.nn.Linear(8, 1)) for _ in range(2)]
    model = DropGNN(mpnn(), sampler, mode, head=heads[0], auxiliary=heads[1]).double()
    assert_engines_agree(model, molecule(5, seed=1), generator=generator())
    assert_engines_agree(model, molecule(5, seed=1), generator=generator(), inputs=False)


def test_no_edges_at_all() -> None:
    alone = Graph.of(torch.ones(3, 3).double(), torch.empty(2, 0, dtype=torch.long), torch.empty(0, 3).double())
    for encoder in (mpnn(), OneGNN(3, (4, 4), edge_dim=3).double()):
        model = DropGNN(encoder, Bernoulli(0.3, r=4), head=Pooled(torch.nn.Linear(4, 1))).double()
        assert_engines_agree(model, alone, generator=generator())
        assert_engines_agree(model, alone, generator=generator(), inputs=False)


@pytest.mark.parametrize("atoms", [4, 12])
def test_a_plan_used_in_inference_mode_can_train(atoms: int) -> None:
    graph = molecule(atoms, seed=0)
    model = DropGNN(one_gnn(), Exhaustive(0.2, k=1), engine="shared")
    plan = model.plan(graph.x, graph.edge_index, graph.edge_attr)
    with torch.inference_mode():
        seen = model.eval()(graph.x, graph.edge_index, graph.edge_attr, plan=plan)
    out = model.train()(graph.x, graph.edge_index, graph.edge_attr, plan=plan)
    out.sum().backward()
    torch.testing.assert_close(out.detach(), seen.clone())


class NetworkGNN(Encoder):
    """One NNConv layer around a network of choice."""

    def __init__(self, network: torch.nn.Module, aggr: str = "add") -> None:
        super().__init__()
        self.in_channels, self.out_channels, self.edge_dim = 3, 2, 3
        self.conv = pyg.NNConv(3, 2, network, aggr=aggr)

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:
        return self.conv(x, edge_index, edge_attr)


@pytest.mark.parametrize(
    ("encoder", "reason"),
    [
        (
            lambda: NetworkGNN(torch.nn.Sequential(torch.nn.Linear(3, 6), torch.nn.Dropout(0.5))),
            "NNConv: Dropout drops at random while training",
        ),
    ],
)
def test_networks_that_cannot_be_asked_once(encoder: Any, reason: str) -> None:
    graph = molecule(4, seed=0)
    model = DropGNN(encoder(), Bernoulli(0.1, r=3), engine="shared", generator=generator()).double()
    with pytest.raises(Unsupported, match=reason):
        model(graph.x, graph.edge_index, graph.edge_attr)


@pytest.mark.parametrize(
    "encoder",
    [
        lambda: NetworkGNN(torch.nn.Linear(3, 6), aggr="max"),
        lambda: NetworkGNN(torch.nn.Sequential(torch.nn.Linear(3, 6), torch.nn.BatchNorm1d(6))),
    ],
    ids=["max", "norm"],
)
@pytest.mark.parametrize("training", [True, False])
def test_networks_that_are_asked_by_the_general_rule(encoder: Any, training: bool) -> None:
    torch.manual_seed(0)
    model = DropGNN(encoder(), Bernoulli(0.3, r=5)).double().train(training)
    assert_engines_agree(model, molecule(5, seed=0), generator=generator(), engines=("batched", "auto"))
