"""Samplers have the law they claim, and take their randomness from the generator alone."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, cast

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dropgnn import Bernoulli, Exhaustive, Graph, InvalidArgument, RunPlan, Stratified
from dropgnn.runs.runs import Runs
from dropgnn.runs.samplers import Sampler
from dropgnn.theory.enumerate import enumerate_dropouts
from tests.conftest import awkward_batch, generator


def path(nodes: int) -> Graph:
    low = torch.arange(nodes - 1)
    edges = torch.stack([torch.cat([low, low + 1]), torch.cat([low + 1, low])])
    return Graph.of(torch.ones(nodes, 1), edges)


def frequencies(runs: Runs) -> np.ndarray:
    """How often each item is dropped, over all copies."""
    sizes = runs.items_per_graph
    start = (sizes.cumsum(0) - sizes)[runs.graph[runs.dropped[0]]]
    return torch.bincount(runs.dropped[1] + start, minlength=int(sizes.sum())).numpy()


def assert_drops_with(sampler: Sampler, p: float, r: int, nodes: int = 40) -> None:
    """Every node's frequency lies within six standard deviations (a false alarm in 10^7 samples)."""
    counts = frequencies(sampler(path(nodes), generator=generator(3)))
    bound = 6 * math.sqrt(r * p * (1 - p)) + 1e-9
    assert np.abs(counts - r * p).max() <= bound


@pytest.mark.parametrize("p", [0.0, 0.05, 0.3, 0.95, 1.0])
def test_bernoulli_frequencies(p: float) -> None:
    assert_drops_with(Bernoulli(p, r=4_000), p, r=4_000)


def test_a_sampler_with_the_wrong_p_is_caught() -> None:
    with pytest.raises(AssertionError):
        assert_drops_with(Bernoulli(0.35, r=4_000), p=0.3, r=4_000)


def test_bernoulli_drops_independently() -> None:
    """Across nodes and runs the number of drops per run is binomial: mean np, variance np(1 - p)."""
    runs = Bernoulli(0.2, r=20_000)(path(10), generator=generator(5))
    drops = torch.bincount(runs.dropped[0], minlength=runs.num_copies).double()
    assert abs(float(drops.mean()) - 2.0) < 6 * math.sqrt(1.6 / 20_000)
    assert abs(float(drops.var()) - 1.6) < 0.12


@given(p=st.floats(0, 1), r=st.integers(1, 30), seed=st.integers(0, 1_000))
@settings(max_examples=60, deadline=None)
def test_stratified_counts_are_floor_or_ceiling(p: float, r: int, seed: int) -> None:
    counts = frequencies(Stratified(p, r)(path(7), generator=generator(seed)))
    assert set(counts) <= {math.floor(p * r), math.ceil(p * r)}


def test_stratified_has_the_right_mean_in_every_run() -> None:
    draws = [Stratified(0.3, r=4)(path(50), generator=generator(seed)) for seed in range(200)]
    total = np.mean([frequencies(runs).mean() for runs in draws])
    assert abs(total - 1.2) < 6 * math.sqrt(0.2 * 0.8 / (200 * 50))
    per_run = np.zeros(4)
    for runs in draws:
        per_run += torch.bincount(runs.dropped[0], minlength=4).numpy() / (200 * 50)
    assert np.abs(per_run - 0.3).max() < 6 * math.sqrt(0.21 / (200 * 50))


@given(st.lists(st.integers(0, 6), min_size=1, max_size=5), st.integers(0, 7))
@settings(max_examples=60, deadline=None)
def test_exhaustive_law_is_the_exact_one(numerators: list[int], k: int) -> None:
    p = [Fraction(numerator, 7) for numerator in numerators]
    exact = dict(enumerate_dropouts(p, k))
    assert sum(exact.values()) == 1
    runs = Exhaustive(torch.tensor([float(value) for value in p], dtype=torch.float64), k)(path(len(p)))
    drawn = {
        tuple(sorted(items)): weight for items, weight in zip(runs.as_sets()[0], runs.weight.tolist(), strict=True)
    }
    assert set(drawn) == {items for items, weight in exact.items() if weight > 0}
    assert all(abs(drawn[items] - float(exact[items])) < 1e-12 for items in drawn)


def test_exhaustive_is_the_limit_of_many_random_runs() -> None:
    """Among random runs with at most 2 drops, each dropped set is as frequent as exhaustive runs say."""
    graph = path(4)
    random = Bernoulli(0.3, r=60_000)(graph, generator=generator(0)).as_sets()[0]
    kept = [items for items in random if len(items) <= 2]
    exact = Exhaustive(0.3, k=2)(graph)
    for items, weight in zip(exact.as_sets()[0], exact.weight.tolist(), strict=True):
        assert abs(kept.count(items) / len(kept) - weight) < 6 * math.sqrt(weight * (1 - weight) / len(kept))


def test_neighborhood_scope_equals_graph_scope_where_the_neighborhood_is_the_graph() -> None:
    graph = path(4)
    whole, local = Exhaustive(0.2, k=2)(graph), Exhaustive(0.2, k=2, scope="neighborhood", hops=3)(graph)
    assert {frozenset(s): w for s, w in zip(whole.as_sets()[0], whole.weight.tolist(), strict=True)} == pytest.approx(
        {frozenset(s): w for s, w in zip(local.as_sets()[0], local.weight.tolist(), strict=True)}
    )
    node, copy = torch.arange(4).repeat_interleave(local.num_copies), torch.arange(local.num_copies).repeat(4)
    torch.testing.assert_close(local.row_weights(node, copy), local.weight[copy])


@pytest.mark.parametrize("items", ["nodes", "links"])
def test_neighborhood_scope_restricts_the_law_to_each_node(items: str) -> None:
    """Against the definition: for each node, enumerate its neighbourhood by hand."""
    graph = path(5)
    local = Exhaustive(0.25, k=2, scope="neighborhood", hops=1)(graph, items=items)
    sets = local.as_sets()[0]
    inside = {"nodes": [{0, 1}, {0, 1, 2}, {1, 2, 3}, {2, 3, 4}, {3, 4}], "links": [{0}, {0, 1}, {1, 2}, {2, 3}, {3}]}
    for node, around in enumerate(inside[items]):
        exact = enumerate_dropouts([Fraction(1, 4)] * len(around), k=2)
        expected = {frozenset(sorted(around)[i] for i in chosen): float(weight) for chosen, weight in exact}
        weights = local.row_weights(torch.full((len(sets),), node), torch.arange(len(sets))).tolist()
        assert {items: weight for items, weight in zip(sets, weights, strict=True) if weight} == pytest.approx(expected)


@pytest.mark.parametrize("items", ["nodes", "links"])
@pytest.mark.parametrize("sampler", [Exhaustive(0.3, k=2), Exhaustive(0.3, k=2, scope="neighborhood", hops=2)])
def test_exhaustive_weights_sum_to_one_in_every_graph(sampler: Exhaustive, items: str) -> None:
    graph = awkward_batch()
    runs = sampler(graph, items=items)
    runs.check()
    if runs.shares is not None:
        totals = torch.zeros(graph.num_nodes, dtype=torch.float64).index_add_(0, runs.shares.node, runs.shares.weight)
        torch.testing.assert_close(totals, torch.ones_like(totals))


@pytest.mark.parametrize("sampler", [Bernoulli(0.3, 5), Stratified(0.3, 5)])
def test_same_seed_same_runs_and_the_global_state_is_left_alone(sampler: Sampler) -> None:
    graph, state = path(20), torch.random.get_rng_state()
    first, again, other = (sampler(graph, generator=generator(seed)) for seed in (0, 0, 1))
    assert torch.equal(first.dropped, again.dropped)
    assert not torch.equal(first.dropped, other.dropped)
    assert torch.equal(torch.random.get_rng_state(), state)


@pytest.mark.parametrize("sampler", [Bernoulli(0.3, 5), Stratified(0.3, 5)])
def test_randomness_must_be_given(sampler: Sampler) -> None:
    with pytest.raises(InvalidArgument, match=r"'generator' is needed: .* draws at random .*manual_seed"):
        sampler(path(3))


def test_graphs_may_have_different_numbers_of_runs_and_regions_different_p() -> None:
    graph = awkward_batch()
    plan = RunPlan.of(graph, hops=1)
    runs = Bernoulli(plan.p_by_region, r=lambda graph: graph.nodes_per_graph)(graph, generator=generator())
    assert runs.copies_per_graph.tolist() == [5, 1, 3, 1]
    runs.check()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Bernoulli(1.2, 5), r"'p' must lie in \[0, 1\] \(got 1.2\); RunPlan"),
        (lambda: Bernoulli(float("nan"), 5), r"'p' must lie in \[0, 1\] \(got nan\)"),
        (lambda: Bernoulli(torch.tensor([0.1, -0.5]), 5), r"'p' must lie in \[0, 1\] \(got -0.5\)"),
        (lambda: Bernoulli(cast(Any, "0.1"), 5), r"'p' must be a number, a tensor or a rule \(got str\)"),
        (lambda: Bernoulli(0.1, 0), r"'r' must be a whole number of at least 1 \(got 0\); RunPlan"),
        (lambda: Stratified(0.1, cast(Any, 2.5)), r"'r' must be a whole number of at least 1 \(got 2.5\)"),
        (lambda: Exhaustive(0.1, k=-1), r"'k' must be a whole number of at least 0 \(got -1\)"),
        (lambda: Exhaustive(0.1, scope="region"), r"'scope' must be one of graph, neighborhood \(got 'region'\)"),
        (lambda: Exhaustive(0.1, hops=2), r"'hops' must be given with scope='neighborhood' and only then \(got 2\)"),
        (lambda: Exhaustive(0.1, scope="neighborhood"), r"'hops' must be given .* \(got None\); use the number"),
        (lambda: Exhaustive(1.0)(path(3)), r"'p' must be below 1 for exhaustive runs \(got 1.0\)"),
        (lambda: Exhaustive(0.1, k=3)(path(400)), r"'k' must keep .* budget of 5,000,000 \(got k=3 with 400 items: 10,\d+,\d+"),
        (lambda: Bernoulli(torch.tensor([0.1, 0.2]), 5)(path(3), generator=generator()), r"'p' must be one number or one per"),
        (lambda: Bernoulli(0.1, lambda g: torch.zeros(1))(path(3), generator=generator()), r"'r' must give a whole number"),
        (lambda: Bernoulli(0.1, lambda g: cast(Any, 20))(path(3), generator=generator()), r"'r' must give .*\(got shape \(\)"),
        (lambda: Exhaustive(0.1, scope="neighborhood", hops=cast(Any, 2.0)), r"'hops' must be a whole number of at least 1"),
        (lambda: Exhaustive(0.1, budget=0), r"'budget' must be a whole number of at least 1"),
    ],
)  # fmt: skip
def test_bad_arguments_are_named(make: Any, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        make()


def test_a_budget_is_for_one_graph() -> None:
    """However many graphs there are: each of four paths has 3 nodes, and 3 + 2 + 3 + 2 pairs with at most one dropped node."""
    paths = Graph.of(
        torch.ones(12, 1),
        torch.cat([path(3).edge_index + 3 * number for number in range(4)], dim=1),
        batch=torch.arange(4).repeat_interleave(3),
    )
    assert Exhaustive(0.1, scope="neighborhood", hops=1, budget=10)(paths).num_graphs == 4
    with pytest.raises(InvalidArgument, match="pairs of a graph within the budget of 9"):
        Exhaustive(0.1, scope="neighborhood", hops=1, budget=9)(paths)
