"""Figure 3, the theorem on ports, the lemma on means, max, and the deck."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dropgnn.errors import InvalidArgument
from dropgnn.theory.distinguish import distinguish
from dropgnn.theory.paper import deck, figure3, maximum, mean, ports
from dropgnn.theory.paper.example3 import mean_law


def test_figure_3_smallest_k_as_seen_from_u() -> None:
    assert [figure3.seen_from_u(length).k for length in range(3, 9)] == [2, 2, 3, 3, 4, 4]


def test_figure_3_no_small_dropout_separates() -> None:
    two, one, u = figure3.pair(3)
    assert distinguish(two, one, nodes=(u, u), depth=2, max_k=1).k is None
    two, one, u = figure3.pair(5)
    assert distinguish(two, one, nodes=(u, u), depth=2, max_k=2).k is None


def test_figure_3_deeper_and_graph_level_views_separate_sooner() -> None:
    assert [figure3.seen_from_u(length, depth=3).k for length in range(3, 9)] == [1, 1, 2, 2, 2, 2]
    assert [figure3.seen_as_graphs(length).k for length in range(3, 9)] == [1] * 6
    two, one, u = figure3.pair(5)
    assert not nx.is_isomorphic(
        *(
            nx.Graph(
                [(int(v), node) for node in range(u + 1) for v in graph.neighbor[graph.ptr[node] : graph.ptr[node + 1]]]
            )
            for graph in (two, one)
        )
    )


@given(st.integers(3, 9), st.floats(0.2, 0.7), st.integers(1, 3), st.integers(0, 10_000))
@settings(max_examples=120, deadline=None)
def test_ports_rebuild_the_neighbourhood(nodes: int, density: float, depth: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = nx.gnp_random_graph(nodes, density, seed=seed)
    numbered = [rng.permutation(list(graph.neighbors(node))).tolist() for node in range(nodes)]
    rebuilt = ports.rebuild(ports.observe(numbered, 0, depth), depth)
    nx.set_node_attributes(rebuilt, {node: node[0] for node in rebuilt}, "distance")
    expected = ports.neighborhood(graph, 0, depth)
    assert nx.is_isomorphic(rebuilt, expected, node_match=lambda a, b: a["distance"] == b["distance"])


def test_without_dropouts_ports_do_not_rebuild() -> None:
    """A negative control: two triangles and a hexagon with consistent ports give one and the same view."""
    triangle, hexagon = ([[(node - 1) % size, (node + 1) % size] for node in range(size)] for size in (3, 6))
    assert ports.look(triangle, 0, 4) == ports.look(hexagon, 0, 4)
    assert ports.observe(triangle, 0, 3) != ports.observe(hexagon, 0, 3)


def chance(values: list[int], threshold: Fraction, p: Fraction) -> Fraction:
    return sum((weight for m, weight in mean_law(values, p).items() if m is not None and m >= threshold), Fraction(0))


@given(st.lists(st.integers(-4, 4), min_size=2, max_size=5), st.lists(st.integers(-4, 4), min_size=2, max_size=5))
@settings(max_examples=150, deadline=None)
def test_the_lemma_separates_what_it_promises(a: list[int], b: list[int]) -> None:
    means = Fraction(sum(a), len(a)), Fraction(sum(b), len(b))
    if sorted(a) == sorted(b) or (len(a) != len(b) and means[0] == means[1]):
        with pytest.raises(InvalidArgument):
            mean.separate(a, b)
        return
    found = mean.separate(a, b)
    assert found.probability == (chance(a, found.threshold, found.p), chance(b, found.threshold, found.p))
    gap, gamma = abs(found.probability[0] - found.probability[1]), max(len(a), len(b))
    if means[0] != means[1]:
        assert found.p == Fraction(1, 2 * gamma)
        assert gap > 0
    else:
        assert found.p == Fraction(1, 2 * gamma**2)
        assert gap >= Fraction(3, 16 * gamma**2)  # the appendix's bound
    assert found.runs >= 2 * math.log(200) / float(gap) ** 2 - 1


def test_vectors_that_agree_in_every_dimension() -> None:
    a, b = [(0, 0), (1, 1)], [(0, 1), (1, 0)]
    for dimension in range(2):
        with pytest.raises(InvalidArgument, match="must be two different multisets"):
            mean.separate([v[dimension] for v in a], [v[dimension] for v in b])
    found = mean.separate(a, b)
    assert found.probability[0] != found.probability[1]


def test_a_projection_never_merges_vectors() -> None:
    vectors = list(product(range(-2, 3), repeat=3))
    weights = mean._projection(vectors)
    assert len({mean._project(vector, weights) for vector in vectors}) == len(vectors)


@pytest.mark.parametrize("length", [2, 4, 6, 10])
def test_almost_equal_means(length: int) -> None:
    p = Fraction(1, length + 1)
    a, b = mean.almost_equal(length)
    assert not set(a) & set(b)
    gap = mean.gap_of_almost_equal(length, p)
    difference = Fraction(length, 2) * p**2 * (1 - p) ** (length - 1)
    assert gap == {Fraction(0): 0, Fraction(1): difference, Fraction(-1): difference}
    with pytest.raises(InvalidArgument, match="must have different means or the same size"):
        mean.separate(a, b)


@pytest.mark.parametrize("gamma", [2, 3, 5])
def test_max_needs_all_others_gone(gamma: int) -> None:
    others = list(range(5, 4 + gamma))
    assert maximum.smallest_dropout([0, *others], [1, *others]) == gamma - 1
    assert maximum.smallest_dropout([0, *others], [0, *others]) is None


def test_decks_and_views() -> None:
    pair, apart = nx.path_graph(2), nx.empty_graph(2)
    assert deck.same_deck(pair, apart)  # reconstruction needs three nodes; the view without a drop tells these apart
    assert not deck.same_views(pair, apart)
    two, one, _ = figure3.pair(3)
    graphs = [
        nx.Graph([(int(v), n) for n in range(7) for v in g.neighbor[g.ptr[n] : g.ptr[n + 1]]]) for g in (two, one)
    ]
    assert not deck.same_deck(*graphs)


@pytest.mark.parametrize("nodes", [3, 4, 5])
def test_the_reconstruction_conjecture_on_small_graphs_and_dropouts_beside_it(nodes: int) -> None:
    """All non-isomorphic graphs have different decks; and all have different views, too, up to five nodes."""
    atlas = [graph for graph in nx.graph_atlas_g() if len(graph) == nodes]
    for i, a in enumerate(atlas):
        for b in atlas[:i]:
            if a.number_of_edges() == b.number_of_edges():
                assert not deck.same_deck(a, b)
                assert not deck.same_views(a, b)
