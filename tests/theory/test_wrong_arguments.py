"""Calls with wrong arguments: refused with an error of ours that names the argument, at once and without much memory."""

from __future__ import annotations

import inspect
import random
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch

from dropgnn import InvalidArgument, RunPlan
from dropgnn.errors import DropGNNError
from dropgnn.graph import Graph
from dropgnn.theory import enumerate as enumeration
from dropgnn.theory import numbers, proportions
from dropgnn.theory.distinguish import distinguish
from dropgnn.theory.dropouts import Dropouts
from dropgnn.theory.orbits import representatives
from dropgnn.theory.plan import Region, sizes_of
from dropgnn.theory.views import Structure, dropped_sets, exact_labels, view_words

EDGES = np.array([[0, 1, 2, 3, 1, 2, 3, 4], [1, 2, 3, 4, 0, 1, 2, 3]])
PATH = Structure.of(EDGES, 5)
STAR = Structure.undirected([(0, 1), (0, 2), (0, 3), (0, 4)], 5)
GRAPH = Graph.of(torch.ones(5, 1), torch.tensor(EDGES))
SETS = dropped_sets(PATH, 1)
PLAN = RunPlan.of([GRAPH], hops=2)

CALLS: list[tuple[Callable[..., Any], dict[str, Any]]] = [
    (Structure.of, {"edge_index": EDGES, "num_nodes": 5, "colour": [0] * 5, "kind": [0] * 8}),
    (Structure.undirected, {"edges": [(0, 1)], "num_nodes": 2, "colour": [0, 1], "kind": [1]}),
    (Structure, {"ptr": PATH.ptr, "neighbor": PATH.neighbor, "colour": PATH.colour, "kind": PATH.kind}),
    (dropped_sets, {"structure": PATH, "k": 2, "budget": 100}),
    (view_words, {"structure": PATH, "sets": SETS, "depth": 3, "mode": "zero", "knows_itself": True, "keep": True}),
    (exact_labels, {"structures": [PATH], "sets": [SETS], "depth": 3, "mode": "zero"}),
    (Dropouts.of, {"structure": PATH, "k": 2, "symmetric": False, "budget": 100}),
    (representatives, {"structure": PATH, "k": 2, "budget": 100}),
    (
        distinguish,
        {"a": PATH, "b": STAR, "nodes": (0, 1), "max_k": 2, "depth": 2, "mode": "zero", "p": Fraction(1, 5), "eps": 0,
         "budget": 100},
    ),
    (enumeration.count_dropouts, {"n": 5, "k": 2}),
    (enumeration.check_budget, {"n": 5, "k": 2, "budget": 100}),
    (enumeration.enumerate_dropouts, {"p": [Fraction(1, 4)] * 3, "k": 2, "budget": 100}),
    (numbers.neighborhoods, {"edge_index": EDGES, "num_nodes": 5, "hops": 2}),
    (numbers.neighborhood_sizes, {"edge_index": EDGES, "num_nodes": 5, "hops": 2}),
    (numbers.best_probability, {"gamma": 4}),
    (numbers.dropout_probability, {"gamma": 4, "k": 2, "p": Fraction(1, 4)}),
    (numbers.runs_for_one_dropouts, {"gamma": 4}),
    (numbers.runs_to_see, {"gamma": 4, "k": 2}),
    (numbers.runs_theorem1, {"gamma": 4, "nodes": 2, "delta": 0.5, "t": 10}),
    (numbers.runs_theorem2, {"gamma": 4, "nodes": 2, "delta": 0.5, "t": 10}),
    (proportions.runs_to_tell, {"a": 0.5, "b": 0.25, "error": 0.01}),
    (RunPlan, {"hops": 2, "reduce": "mean", "gammas": (3, 4), "graphs": 1}),
    (RunPlan.of, {"graphs": [GRAPH], "hops": 2, "reduce": "max"}),
    (PLAN.runs_to_see, {"k": 2}),
    (PLAN.theorem1, {"delta": 0.5, "t": 10.0}),
    (PLAN.theorem2, {"delta": 0.5, "t": 10.0}),
    (PLAN.p_by_region, {"graph": GRAPH, "items": "nodes"}),
    (Region, {"smallest": 1, "largest": 2, "nodes": 3, "gamma": 1.5}),
    (sizes_of, {"graph": GRAPH, "hops": 2}),
]  # fmt: skip

WRONG: list[Any] = [
    float("nan"), float("inf"), -float("inf"), -1, 0, 1, True, "2", "nan", "", b"x", None, [], [1.5], (), {}, object(), 0.5, -0.5,
    1e-320, 1e308, 10**9, 10**18, 10**400, 2**31, 2**63, -(2**63), 10**5000, Fraction(1, 10**500), Fraction(10**500), 1j,
    np.nan, np.float32(2), np.int8(-3), np.zeros((2, 0)), np.zeros((0, 2)), np.zeros((3, 3)), np.array([[0.5, 1], [1, 2]]),
    np.array([[0, 9], [1, 2]]), np.array([[0, -7], [1, 2]]), np.array([[2**40, 1], [0, 1]]), np.array([[True], [False]]),
    np.array([-5, 7, 10**12, 2, 1]), np.array(["a"]), EDGES.T, EDGES.astype(float), EDGES.astype(np.uint64) + 2**63,
    [[0], [1, 2]],
    torch.tensor([[0, 1], [1, 0]]), torch.ones(3, requires_grad=True), PATH, GRAPH, [PATH, PATH], range(3), lambda: 1,
]  # fmt: skip


def attempts(count: int, seed: int) -> list[tuple[Callable[..., Any], dict[str, Any]]]:
    """Calls with one or two arguments replaced."""
    chance, found = random.Random(seed), []
    for _ in range(count):
        call, right = chance.choice(CALLS)
        given = dict(right)
        for name in chance.sample(sorted(given), min(len(given), chance.choice((1, 1, 2)))):
            given[name] = chance.choice(WRONG)
        found.append((call, given))
    return found


def try_out(count: int, seed: int) -> int:
    refused = 0
    for call, given in attempts(count, seed):
        began = time.process_time()
        try:
            call(**given)
        except DropGNNError:
            refused += 1
        except Exception as problem:
            raise AssertionError(f"{call} with {given}: {problem!r}") from problem
        assert time.process_time() - began < 5, f"{call} with {given}"
    return refused


@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_random_calls() -> None:
    for call, given in CALLS:
        assert set(given) <= set(inspect.signature(call).parameters)
        call(**given)
    assert try_out(1_500, seed=0) > 750


@pytest.mark.heavy
def test_many_random_calls() -> None:
    try_out(100_000, seed=1)


def test_an_edge_list_of_the_wrong_shape_proves_nothing() -> None:
    """A star of two leaves, once with its edges as rows: reshaped, that is another graph."""
    edges = np.array([[0, 0, 1, 2], [1, 2, 0, 0]])
    with pytest.raises(
        InvalidArgument, match=r"'edge_index' must be whole .* \[2, E\].*\(got shape \[4, 2\]\); transpose it"
    ):
        Structure.of(edges.T, 3)
    for wrong in (edges + 0.25, edges.astype(float), edges > 0):
        with pytest.raises(InvalidArgument, match=r"'edge_index' must be whole numbers .* and type (float64|bool)"):
            Structure.of(wrong, 3)
    with pytest.raises(InvalidArgument, match=r"'edges' must be a list of pairs of whole numbers, shape \[E, 2\]"):
        Structure.undirected(np.array([[0, 0, 0], [1, 2, 3]]), 4)  # type: ignore[arg-type]


def test_arrays_are_checked_before_each_compiled_loop() -> None:
    for name in ("neighbor", "ptr"):
        structure = Structure.of(EDGES, 5)
        getattr(structure, name)[1] = 50_000_000
        for look in (lambda one: view_words(one, SETS), lambda one: exact_labels([one], [SETS])):
            with pytest.raises(InvalidArgument, match=f"'{name}' must"):
                look(structure)
    for sets in ([[50_000_000]], [[-2]], [0], [[0.5]]):
        with pytest.raises(InvalidArgument, match="'sets' must be whole numbers"):
            view_words(PATH, np.array(sets))


def test_many_rounds_are_no_more_work() -> None:
    other = Structure.undirected([(3, 1), (1, 0), (0, 4), (4, 2)], 5)
    assert distinguish(PATH, STAR, depth=10**9).k == 0
    assert distinguish(PATH, other, depth=10**9, max_k=1, eps=0, mode="zero").same == "isomorphic"
    assert exact_labels([PATH], [SETS], depth=10**9)[0].shape == (5, 5)
    assert RunPlan.of([GRAPH], hops=10**9).gamma == 4
