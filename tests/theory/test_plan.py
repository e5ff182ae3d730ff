"""`RunPlan` on graphs whose numbers are known, on awkward ones, and on real ones."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.datasets import FakeDataset

from dropgnn import InvalidArgument, RunPlan
from dropgnn.data.synthetic import task
from dropgnn.theory.numbers import runs_theorem1


def star_and_pair() -> Data:
    """A star with nine leaves, beside a single edge."""
    out = [(0, leaf) for leaf in range(1, 10)] + [(10, 11)]
    edges = torch.tensor(out + [(b, a) for a, b in out]).t()
    return Data(edge_index=edges, num_nodes=12)


def test_a_three_regular_graph() -> None:
    plan = RunPlan.of(task("triangles", 0).graphs, hops=1)
    assert (plan.gamma, plan.p, plan.runs, plan.nodes, plan.graphs) == (3.0, 0.25, 11, 60, 1)
    assert plan.runs_to_see(1) == 10
    assert plan.theorem1(delta=0.5, t=100) == runs_theorem1(3, delta=0.5, t=100)
    assert plan.theorem1(delta=0.5, t=100, all_nodes=True) == runs_theorem1(3, 60, delta=0.5, t=100)
    assert plan.theorem2(delta=0.5, t=100) > plan.theorem1(delta=0.5, t=100)


def test_a_promise_for_all_nodes_is_one_for_the_largest_neighbourhood() -> None:
    plan = RunPlan.of(star_and_pair(), hops=1)
    assert plan.theorem1(delta=0.5, t=10, all_nodes=True) == runs_theorem1(9, 12, delta=0.5, t=10)


def test_mostly_isolated_nodes_do_not_make_negative_promises() -> None:
    plan = RunPlan.of(Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=1_000), hops=1)
    assert plan.theorem1() > 0


def test_a_dataset_and_a_batch_are_counted_in_graphs() -> None:
    graphs = list(task("lcc", 0).graphs)
    plans = [RunPlan.of(made, hops=2) for made in (graphs, iter(graphs), task("lcc", 0).batch(), FakeDataset(3))]
    assert [plan.graphs for plan in plans] == [6, 6, 6, 3]
    assert plans[0].gamma == plans[2].gamma


def test_mean_and_max() -> None:
    assert RunPlan.of(star_and_pair(), hops=1).gamma == pytest.approx((9 + 9 * 1 + 2) / 12)
    assert RunPlan.of(star_and_pair(), hops=1, reduce="max").gamma == 9
    assert RunPlan.of(star_and_pair(), hops=2, reduce="max").gamma == 9


def test_regions_have_a_p_each() -> None:
    plan = RunPlan.of(star_and_pair(), hops=2)
    assert [(region.nodes, region.gamma, region.p) for region in plan.regions] == [(2, 1.0, 0.5), (10, 9.0, 0.1)]
    assert plan.p_by_region(star_and_pair()).tolist() == [0.1] * 10 + [0.5] * 2


def test_a_region_never_met_gets_the_p_of_its_own_size_and_never_more_than_one_half() -> None:
    plan = RunPlan.of(star_and_pair(), hops=1)
    lonely = Data(edge_index=torch.empty(2, 0, dtype=torch.long), num_nodes=1)
    assert plan.p_by_region(lonely).tolist() == [0.5]


def test_isolated_nodes_count() -> None:
    plan = RunPlan.of(Data(edge_index=torch.empty(2, 0, dtype=torch.long), num_nodes=3), hops=2)
    assert (plan.gamma, plan.p, plan.runs) == (0.0, 0.5, 3)
    assert plan.theorem1() == 1


def test_it_prints_as_one_line() -> None:
    assert str(RunPlan.of(star_and_pair(), hops=2, reduce="max")) == (
        "1 graphs, 12 nodes, 2-hop neighbourhoods: gamma = 9.00 (max), p* = 0.1000, r >= 28"
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: RunPlan.of([], hops=2), r"'graphs' must have at least one node"),
        (lambda: RunPlan.of(star_and_pair(), hops=-1), r"'hops' must be a whole number of at least 1 \(got -1\)"),
        (lambda: RunPlan.of(star_and_pair(), hops=1, reduce="median"), r"'reduce' must be one of mean, max \(got 'median'\)"),
    ],
)  # fmt: skip
def test_bad_arguments_are_named(call: object, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        call()  # type: ignore[operator]


def test_gammas_in_a_tensor() -> None:
    plan = RunPlan(hops=2, reduce="mean", gammas=torch.tensor([1, 2]), graphs=1)  # type: ignore[arg-type]
    assert (plan.gammas, plan.gamma) == ((1, 2), 1.5)
