"""Batches with plans at hand train like batches without."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch

from dropgnn import GIN, Bernoulli, DropGNN, Exhaustive
from dropgnn.data.collection import Collection
from dropgnn.data.synthetic import task
from dropgnn.errors import InvalidArgument
from dropgnn.nn import LayerReadout, Pooled
from dropgnn.runs.modes import MODES
from dropgnn.runs.samplers import Sampler
from dropgnn.training.batches import PlannedBatches
from dropgnn.training.loop import inputs
from tests.conftest import generator

CHOICES = [[0, 3, 5], [7, 1], [5, 0, 2, 9]]


@pytest.mark.parametrize("mode", ["zero", "zero-layers"])
@pytest.mark.parametrize("sampler", [Exhaustive(0.1, k=1), Bernoulli(0.1, r=3)], ids=repr)
def test_three_steps(sampler: Sampler, mode: str) -> None:
    graphs = list(task("four_cycles", 0).graphs)[:10]
    for graph in graphs:
        graph.edge_attr, graph.x = None, graph.x.double()
    torch.manual_seed(0)
    gin = GIN(1, 4, 2)
    heads = [Pooled(LayerReadout(gin.channels, 2)) for _ in range(2)]
    planned = DropGNN(gin, sampler, mode, head=heads[0], auxiliary=heads[1]).double()
    plain, losses = copy.deepcopy(planned), []
    source = generator(4)
    for model, with_plans in ((planned, True), (plain, False)):
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        source.manual_seed(4)
        for batch, arguments in PlannedBatches(model, graphs)(CHOICES, generator=source):
            assert with_plans is False or list(arguments) == ["plan"]
            given = arguments if with_plans else {"runs": arguments["plan"].runs}
            loss = model(*inputs(batch), return_outcome=True, **given).loss(batch.y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    assert losses[:3] == pytest.approx(losses[3:], rel=1e-9)
    assert len(set(losses[:3])) == 3


@pytest.mark.parametrize("mode", MODES)
def test_runs_that_are_not_random_are_planned_once(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    graphs = list(task("four_cycles", 0).graphs)[:10]
    for graph in graphs:
        graph.edge_attr = None
    model, plans = DropGNN(GIN(1, 4, 2), Exhaustive(0.1, k=1), mode), []
    honest = DropGNN.plan

    def counted(self: DropGNN, *arguments: Any, **named: Any) -> Any:
        plans.append(1)
        return honest(self, *arguments, **named)

    monkeypatch.setattr(DropGNN, "plan", counted)
    batches = PlannedBatches(model, graphs)
    for _ in range(3):
        for batch, arguments in batches(CHOICES):
            model(*inputs(batch), **arguments)
    assert len(plans) == 1


def test_batches_of_a_collection_are_cut_once() -> None:
    """With a plan at hand the batch is the plan's own graph, and the one that the collection would make."""
    graphs = list(task("four_cycles", 0).graphs)[:10]
    for number, graph in enumerate(graphs):
        graph.x, graph.edge_attr, graph.y = torch.rand(16, 2, generator=generator(number)), None, torch.tensor([number])
    collection = Collection.of(graphs)
    model = DropGNN(GIN(2, 4, 2), Exhaustive(0.1, k=1))
    choices = [*CHOICES, (4, 4), range(3)]
    for (batch, arguments), chosen in zip(PlannedBatches(model, collection)(choices), choices, strict=True):
        expected = collection.batch(chosen)
        assert batch.keys() == expected.keys()
        assert all(torch.equal(batch[name], expected[name]) for name in ("x", "edge_index", "batch", "y"))
        assert (batch.num_nodes, batch.num_graphs) == (expected.num_nodes, expected.num_graphs)
        assert batch.x is arguments["plan"].graph.x
        for change in (torch.Tensor.requires_grad_, lambda x: x.requires_grad_(False).add_(1)):
            change(batch.x)  # who writes on a batch, or wants its gradient, has it planned anew
            with pytest.raises(InvalidArgument, match="'plan' must be for this very batch"):
                model(*inputs(batch), **arguments)


@pytest.mark.parametrize(
    "chosen", [torch.tensor([True, False, True]), [True, False], torch.tensor([0.0, 1.0]), [[0, 1]], [3], [-1]]
)
def test_graphs_are_chosen_by_their_numbers(chosen: list[int] | torch.Tensor) -> None:
    """A mask taken for numbers would be graphs 0 and 1, again and again."""
    graphs = Collection.of(list(task("four_cycles", 0).graphs)[:3])
    with pytest.raises(InvalidArgument, match="'chosen' must"):
        graphs.batch(chosen)
    with pytest.raises(InvalidArgument, match="'chosen' must"):
        graphs.subset(chosen)
    assert graphs.batch([]).num_graphs == 0
    assert graphs.batch(torch.tensor([2, 0], dtype=torch.uint16)).num_graphs == 2
