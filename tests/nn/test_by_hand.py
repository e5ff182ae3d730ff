"""Small cases worked out on paper, since two engines that share a mistake agree."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch_geometric.nn import GINConv

from dropgnn import Bernoulli, DropGNN, Exhaustive, Runs
from dropgnn.data.ports import with_ids, with_random_feature
from dropgnn.data.synthetic import task
from dropgnn.nn import Encoder, Pooled
from tests.conftest import generator

PATH = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])


class AddAndOne(Encoder):
    """x + the sum of the neighbours + 1, twice."""

    def __init__(self) -> None:
        super().__init__()
        self.in_channels = self.out_channels = 1
        self.conv = GINConv(torch.nn.Identity())

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.conv(self.conv(x, edge_index) + 1, edge_index) + 1


@pytest.mark.parametrize("engine", ["reference", "batched", "shared"])
@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("zero", [6, 8, 6]),
        ("zero-layers", [3, 0, 3]),
        ("remove", [3, 0, 3]),
        ("receive-only", [3, 9, 3]),
    ],
)
def test_a_path_whose_middle_is_dropped(mode: str, expected: list[int], engine: str) -> None:
    """A path 0 - 1 - 2 of ones, node 1 dropped.

    zero: 1 0 1, then 1+0+1 = 2, 0+1+1+1 = 3, 2; then 2+3+1 = 6, 3+2+2+1 = 8, 6.
    zero-layers: 1 0 1, then 2 0 2, then 3 0 3. remove: the same for the nodes that are left; node 1 has no embedding.
    receive-only: 1 1 1, then 1+1 = 2, 1+1+1+1 = 4, 2; then 2+1 = 3, 4+2+2+1 = 9, 3.
    """
    model = DropGNN(AddAndOne(), Bernoulli(0.1, 1), mode, engine=engine)
    runs = Runs.of([[(1,)]], items_per_graph=[3])
    assert model(torch.ones(3, 1), PATH, runs=runs).flatten().tolist() == expected


@pytest.mark.parametrize("engine", ["reference", "batched"])
def test_a_path_that_loses_an_edge(engine: str) -> None:
    """1 1 1 without the edge 0 - 1: 2 3 3, then 3 7 7."""
    model = DropGNN(AddAndOne(), Bernoulli(0.1, 1), "edges", engine=engine)
    runs = Runs.of([[(0,)]], items_per_graph=[2], items="links")
    assert model(torch.ones(3, 1), PATH, runs=runs).flatten().tolist() == [3, 7, 7]


def test_the_weights_of_single_runs() -> None:
    """p = 1/4 on two nodes, at most one dropped: 3/5, 1/5, 1/5. A removed node has no prediction of its own."""
    x, edges = torch.ones(2, 1), torch.tensor([[0, 1], [1, 0]])
    linear = torch.nn.Linear(1, 2)
    for_nodes = DropGNN(AddAndOne(), Exhaustive(0.25, k=1), "remove", head=linear, auxiliary=linear)
    outcome = for_nodes(x, edges, return_outcome=True)
    assert outcome.owner is not None
    assert outcome.weight is not None
    seen = sorted(zip(outcome.owner.tolist(), outcome.weight.tolist(), strict=True))
    assert [owner for owner, _ in seen] == [0, 0, 1, 1]
    assert [weight for _, weight in seen] == pytest.approx([0.2, 0.6, 0.2, 0.6])

    for_graphs = DropGNN(AddAndOne(), Exhaustive(0.25, k=1), head=Pooled(linear), auxiliary=Pooled(linear))
    outcome = for_graphs(x, edges, return_outcome=True)
    assert outcome.weight is not None
    assert outcome.weight.tolist() == pytest.approx([0.6, 0.2, 0.2])


def test_chunks_are_computed_again_in_the_backward_pass() -> None:
    calls = []

    class Counted(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(1, 1)

        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            calls.append(x.size(0))
            return self.linear(x)

    model = DropGNN(Counted(), Bernoulli(0.1, r=6), chunk=2, generator=generator())
    out = model(torch.ones(3, 1), PATH)
    assert len(calls) == 3
    out.sum().backward()
    assert len(calls) == 6


def test_ids_are_a_random_permutation_in_every_graph() -> None:
    batch = task("four_cycles", 0).batch()
    ids = with_ids(batch, generator(0)).x[:, -1].reshape(50, 16)
    assert torch.equal(ids.sort(dim=1).values, torch.arange(16.0).expand(50, 16))
    assert len({tuple(row.tolist()) for row in ids}) == 50
    assert abs(float(ids[:, 0].mean()) - 7.5) < 6 * (255 / 12 / 50) ** 0.5


def test_ids_of_the_limits_tasks_run_over_both_structures() -> None:
    limits = task("limits1", 0)
    ids = with_ids(limits.batch(), generator(0), together=limits.counted_together).x[:, -1]
    assert torch.equal(ids.sort().values, torch.arange(16.0))


def test_the_random_feature_is_normal_in_the_paper_and_uniform_in_its_code() -> None:
    batch = task("four_cycles", 0).batch()
    normal = with_random_feature(batch, generator(0)).x[:, -1]
    assert abs(float(normal.mean())) < 6 / 800**0.5
    assert abs(float(normal.std()) - 1) < 0.15
    assert float(normal.min()) < 0
    uniform = with_random_feature(batch, generator(0), published=True).x[:, -1]
    assert torch.equal((uniform * 100).round() / 100, uniform)
    assert float(uniform.min()) >= 0
    assert float(uniform.max()) < 1
    assert abs(float(uniform.mean()) - 0.495) < 6 * (1 / 12 / 800) ** 0.5
