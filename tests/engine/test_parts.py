"""A plan kept for a dataset: every batch's part of it is the plan the batch would have made."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
import torch
import torch_geometric.nn as pyg
from torch_geometric.data import Batch, Data

from dropgnn import GIN, GINE, Bernoulli, DropGNN, Exhaustive, Graph, Runs, Unsupported
from dropgnn.engine.parts import Parts
from dropgnn.engine.planning import make_plan
from dropgnn.nn import MPNN, LayerReadout, Pooled
from dropgnn.ops import numba_ops, torch_ops
from dropgnn.runs.modes import MODES
from dropgnn.training.loop import inputs
from tests.conftest import generator

ENCODERS: dict[str, Any] = {
    "gin": lambda: GIN(3, 4, 3),
    "gine": lambda: GINE(3, 4, 2, edge_dim=2),
    "gcn": lambda: pyg.GCN(3, 4, 2, norm="batch_norm"),
    "mpnn": lambda: MPNN(3, 4, 2, edge_dim=2, edge_hidden=5),
    "gat": lambda: pyg.GAT(3, 4, 2, edge_dim=2),
}
SAMPLERS = {
    "exhaustive-1": Exhaustive(0.2, k=1),
    "exhaustive-2": Exhaustive(0.2, k=2),
    "local": Exhaustive(0.2, k=2, scope="neighborhood", hops=1),
    "bernoulli": Bernoulli(0.3, r=4),
}


def graphs(*, edge_attr: bool) -> list[Data]:
    """Eight random graphs, directed and with loops and repeated edges; one without edges, one node alone."""
    source, found = generator(5), []
    for size in (4, 6, 1, 5, 3, 6, 2, 5):
        edges = torch.randint(size, (2, 0 if size == 2 else 2 * size), generator=source)
        x = torch.eye(3, dtype=torch.float64)[torch.randint(3, (size,), generator=source)]
        attr = torch.randint(2, (edges.size(1), 2), generator=source).double() if edge_attr else None
        found.append(Data(x=x, edge_index=edges, edge_attr=attr, num_nodes=size))
    return found


@pytest.mark.parametrize("chosen", [[7, 2, 5, 6], [3], [4, 4, 1]], ids=str)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("encoder", ENCODERS)
def test_the_part_of_a_batch_computes_what_the_batch_does(
    encoder: str, sampler: str, mode: str, chosen: list[int]
) -> None:
    torch.manual_seed(0)
    data = graphs(edge_attr=encoder in ("gine", "gat", "mpnn"))
    model = DropGNN(ENCODERS[encoder](), SAMPLERS[sampler], mode, generator=generator()).double()
    parts = Parts(model.plan(*inputs(Batch.from_data_list(data))))
    batch = Batch.from_data_list([data[index] for index in chosen])
    for _ in range(2):  # taking leaves nothing behind
        plan = parts.take(chosen)
    gradients = []
    for given in ({"plan": plan}, {"runs": plan.runs}):
        model.zero_grad()
        out = model(*inputs(batch), **given)
        out.square().sum().backward()
        gradients.append([out, *(weight.grad for weight in model.parameters())])
    for a, b in zip(*gradients, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("mode", MODES)
def test_a_part_has_as_few_states_as_the_batch_by_itself(mode: str) -> None:
    data = graphs(edge_attr=False)
    model = DropGNN(GIN(3, 4, 3), Exhaustive(0.2, k=2), mode).double()
    parts = Parts(model.plan(*inputs(Batch.from_data_list(data))))
    alone = model.plan(*inputs(Batch.from_data_list([data[1], data[3]])))
    taken = parts.take([1, 3])
    assert (taken.states, str(taken)) == (alone.states, str(alone))
    assert taken.runs.as_sets() == alone.runs.as_sets()
    for a, b in zip(taken.levels, alone.levels, strict=True):
        assert a.rows == b.rows
        torch.testing.assert_close(a.weight.sort().values, b.weight.sort().values)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("aggregator", ["mean", "max"])
def test_a_batch_in_which_nothing_is_dropped(aggregator: str, mode: str) -> None:
    data = [Data(x=torch.rand(size, 3), edge_index=torch.arange(size).repeat(2, 1)) for size in (0, 2, 3)]
    model = DropGNN(GIN(3, 4, 2), Exhaustive(0.2, k=1), mode, aggregator).eval()
    graph = Graph.of(*inputs(Batch.from_data_list(data)))
    runs = Runs.of([[()], [(), ()], [(0,), (1,)]], [0, 2, 3], items=model.mode.items)
    parts = Parts(make_plan(graph, runs, model.mode, 2))
    for chosen in ([0], [1], [0, 1]):
        batch, plan = inputs(Batch.from_data_list([data[number] for number in chosen])), parts.take(chosen)
        torch.testing.assert_close(model(*batch, plan=plan), model(*batch, runs=plan.runs))


@pytest.mark.parametrize("cut", [numba_ops, torch_ops], ids=["numba", "torch"])
def test_both_ways_of_cutting(cut: ModuleType) -> None:
    torch.manual_seed(0)
    data = graphs(edge_attr=True)
    gine = GINE(3, 4, 2, edge_dim=2)
    heads = [Pooled(LayerReadout(gine.channels, 2)) for _ in range(2)]
    model = DropGNN(gine, SAMPLERS["local"], head=heads[0], auxiliary=heads[1]).double()
    parts = Parts(model.plan(*inputs(Batch.from_data_list(data))))
    parts._loops = cut
    batch = Batch.from_data_list([data[5], data[0]])
    plan = parts.take(torch.tensor([5, 0]))
    y = torch.tensor([0, 1])
    kept = model(*inputs(batch), plan=plan, return_outcome=True).loss(y)
    fresh = model(*inputs(batch), return_outcome=True).loss(y)
    torch.testing.assert_close(kept, fresh, rtol=1e-9, atol=1e-9)


def test_what_cannot_be_kept_is_refused() -> None:
    data = graphs(edge_attr=False)
    batch = Batch.from_data_list(data)
    model = DropGNN(GIN(3, 4, 2), Exhaustive(0.2, k=1)).double()
    parts = Parts(model.plan(*inputs(batch)))
    with pytest.raises(ValueError, match=r"'graphs' must name graphs from 0 to 7 \(got \[8\]\)"):
        parts.take([8])
    other = Batch.from_data_list([data[1], data[0]])
    with pytest.raises(ValueError, match="'plan' must be for this very batch"):
        model(*inputs(other), plan=parts.take([0, 1]))
    batch.x.requires_grad_()
    with pytest.raises(Unsupported, match="has no gradients of x"):
        Parts(model.plan(*inputs(batch)))
