"""The paper's numbers, and Theorems 1 and 2 held to their promise by simulation."""

from __future__ import annotations

import math
import time
from fractions import Fraction
from unittest.mock import patch

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dropgnn import InvalidArgument
from dropgnn.theory import numbers
from dropgnn.theory.numbers import (
    best_probability,
    dropout_probability,
    neighborhood_sizes,
    neighborhoods,
    runs_for_one_dropouts,
    runs_theorem1,
    runs_theorem2,
    runs_to_see,
)


@given(st.integers(0, 100), st.integers(0, 6), st.booleans())
@settings(max_examples=80, deadline=None)
def test_neighborhood_sizes_against_networkx(seed: int, hops: int, directed: bool) -> None:
    graph = nx.gnp_random_graph(12, 0.15, seed=seed, directed=directed).to_directed()
    edges = np.array(list(graph.edges), dtype=np.int64).reshape(-1, 2).T
    reversed_ = graph.reverse()
    expected = [len(nx.single_source_shortest_path_length(reversed_, node, cutoff=hops)) - 1 for node in range(12)]
    assert neighborhood_sizes(edges, 12, hops).tolist() == expected
    with patch.object(numbers, "MANY_HOPS", 0):
        assert (neighborhoods(edges, 12, hops).sum(axis=1) - 1).tolist() == expected


def test_neighborhoods_of_a_large_hub_are_not_listed() -> None:
    """They have 10^10 nodes in all: all leaves hear each other by way of the hub."""
    leaves, hub = np.arange(1, 100_000), np.zeros(99_999, dtype=np.int64)
    edges = np.stack([np.concatenate([leaves, hub]), np.concatenate([hub, leaves])])
    start = time.process_time()
    assert set(neighborhood_sizes(edges, 100_001, hops=2).tolist()) == {99_999, 0}  # and one isolated node
    assert time.process_time() - start < 5


def test_any_number_of_hops_is_no_more_work() -> None:
    ring = np.stack([np.arange(2_000), np.roll(np.arange(2_000), 1)])
    start = time.process_time()
    found = neighborhoods(np.concatenate([ring, ring[::-1]], axis=1), 2_000, hops=10**9)
    assert (found.nnz, found.dtype, found.has_sorted_indices) == (4_000_000, bool, True)
    path = np.stack([np.arange(9_999), np.arange(1, 10_000)])
    both = np.concatenate([path, path[::-1]], axis=1)
    assert set(neighborhood_sizes(both, 10_000, hops=10**9).tolist()) == {9_999}
    with pytest.raises(InvalidArgument, match="'hops' must keep the neighbourhoods within 50,000,000 nodes"):
        neighborhoods(both, 10_000, hops=10**9)
    assert time.process_time() - start < 5


@pytest.mark.parametrize("gamma", [1, 2, 5, 30])
def test_p_star_maximises_one_dropouts(gamma: int) -> None:
    best = float(dropout_probability(gamma, 1, best_probability(gamma)))
    for p in np.linspace(0.001, 0.999, 500):
        assert dropout_probability(gamma, 1, float(p)) <= best + 1e-12


@pytest.mark.parametrize("gamma", [1, 3, 10, 100])
def test_one_dropouts_are_expected_once_after_e_gamma_plus_one_runs(gamma: int) -> None:
    r, p = runs_for_one_dropouts(gamma), Fraction(1, 1 + gamma)
    assert r == math.ceil(math.e * (gamma + 1))
    assert r * dropout_probability(gamma, 1, p) >= 1


def test_runs_to_see_a_k_dropout() -> None:
    gamma = 20
    for k in range(4):
        exact = 1 / dropout_probability(gamma, k, Fraction(1, 1 + gamma))
        assert runs_to_see(gamma, k) == math.ceil(exact)
        assert math.e * gamma**k <= exact <= math.e * gamma**k * (1 + 1 / gamma)


def occurrences(gamma: int, r: int, trials: int, seed: int) -> np.ndarray:
    """How often each dropped set occurs in r runs while u stays: ``[trials, 2^gamma]``, sets as binary numbers."""
    p = [float(dropout_probability(gamma, bin(s).count("1"), Fraction(1, 1 + gamma))) for s in range(2**gamma)]
    p.append(1 - sum(p))  # u itself is dropped
    return np.random.default_rng(seed).multinomial(r, p, size=trials)[:, :-1]


@pytest.mark.parametrize(("gamma", "delta", "t"), [(4, 0.5, 10), (6, 0.3, 4), (3, 0.9, 20)])
def test_theorem_1_keeps_its_promise(gamma: int, delta: float, t: float) -> None:
    r = runs_theorem1(gamma, delta=delta, t=t)
    singles = occurrences(gamma, r, trials=4_000, seed=0)[:, [1 << v for v in range(gamma)]]
    expected = r * float(dropout_probability(gamma, 1, Fraction(1, 1 + gamma)))
    failed = ((singles < (1 - delta) * expected) | (singles > (1 + delta) * expected)).any(axis=1)
    assert failed.mean() <= 1 / t


@pytest.mark.parametrize(("gamma", "delta", "t"), [(4, 0.5, 10), (6, 0.3, 4), (5, 0.6, 20)])
def test_theorem_2_keeps_its_promise(gamma: int, delta: float, t: float) -> None:
    r = runs_theorem2(gamma, delta=delta, t=t)
    counts = occurrences(gamma, r, trials=4_000, seed=1)
    size = np.array([bin(s).count("1") for s in range(2**gamma)])
    expected = r * float(dropout_probability(gamma, 1, Fraction(1, 1 + gamma)))
    singles, more = counts[:, size == 1], counts[:, size >= 2]
    failed = ((singles < (1 - delta) * expected) | (singles > (1 + delta) * expected)).any(axis=1)
    failed |= (more >= (1 - delta) * expected).any(axis=1)
    assert failed.mean() <= 1 / t


def test_the_simulation_can_fail() -> None:
    """With a tenth of the runs the promise of Theorem 1 is broken, so the tests above can tell."""
    gamma, delta, t = 4, 0.5, 10
    r = runs_theorem1(gamma, delta=delta, t=t) // 10
    singles = occurrences(gamma, r, trials=2_000, seed=0)[:, [1 << v for v in range(gamma)]]
    expected = r * float(dropout_probability(gamma, 1, Fraction(1, 1 + gamma)))
    failed = ((singles < (1 - delta) * expected) | (singles > (1 + delta) * expected)).any(axis=1)
    assert failed.mean() > 1 / t


def test_theorems_against_their_formulas() -> None:
    assert runs_theorem1(10, delta=0.5, t=100) == math.ceil(3 * math.e / 0.25 * 11 * math.log(2 * 10 * 100))
    assert runs_theorem1(10, 7, delta=0.5, t=100) == math.ceil(12 * math.e * 11 * math.log(2 * 10 * 100 * 7))
    epsilon = 0.5 * 10 - 1
    pairs = 10 * (2 + epsilon) / epsilon**2 * (10 * math.log(2) + math.log(200))
    assert runs_theorem2(10, delta=0.5, t=100) == math.ceil(math.e * 11 * max(12 * math.log(4 * 10 * 100), pairs))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: best_probability(-1), r"'gamma' must be a finite number of at least 0 \(got -1\)"),
        (lambda: best_probability(float("nan")), r"'gamma' must be a finite number"),
        (lambda: runs_theorem1(4, delta=0, t=10), r"'delta' must lie in \(0, 1\] \(got 0\)"),
        (lambda: runs_theorem1(4, delta=0.5, t=1), r"'t' must exceed 1"),
        (lambda: runs_theorem1(4, 0, delta=0.5, t=10), r"'nodes' must be at least 1"),
        (lambda: runs_theorem2(2, delta=0.6, t=10), r"'delta' must leave \(1 - delta\) \* gamma > 1 .*smaller delta"),
        (lambda: runs_to_see(3, 4), r"'k' must lie between 0 and gamma = 3 \(got 4\)"),
    ],
)
def test_bad_arguments_are_named(call: object, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        call()  # type: ignore[operator]
