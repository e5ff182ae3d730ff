"""Symmetry taken into account changes nothing but the number of sets tried."""

from __future__ import annotations

import math

import networkx as nx
import numpy as np
import pytest

from dropgnn.data.pairs import structure_of
from dropgnn.errors import InvalidArgument, Unsupported
from dropgnn.theory.distinguish import distinguish
from dropgnn.theory.dropouts import Dropouts, symmetry_pays
from dropgnn.theory.orbits import orbits, representatives
from dropgnn.theory.views import Structure, exact_labels

pytest.importorskip("pynauty", reason="needs the extra 'orbits'")

GRAPHS = {
    "cycle": nx.cycle_graph(7),
    "petersen": nx.petersen_graph(),
    "grid": nx.grid_2d_graph(3, 3),
    "path and star": nx.disjoint_union(nx.path_graph(4), nx.star_graph(3)),
    "random": nx.gnp_random_graph(9, 0.4, seed=3),
}


def test_orbits_of_small_graphs() -> None:
    assert sorted(map(len, orbits(structure_of(nx.petersen_graph())))) == [10]
    assert sorted(map(len, orbits(structure_of(nx.petersen_graph()), [0]))) == [1, 3, 6]
    assert sorted(map(len, orbits(structure_of(nx.star_graph(4))))) == [1, 4]
    coloured = Structure.undirected([(0, 1), (1, 2)], 3, [0, 1, 1])
    assert len(orbits(coloured)) == 3


@pytest.mark.parametrize("k", [0, 1, 2, 3])
@pytest.mark.parametrize("name", GRAPHS)
def test_every_node_sees_as_much_of_everything(name: str, k: int) -> None:
    """What each node sees over the representatives, as often as they count, is what it sees over all sets, k! times."""
    graph = structure_of(GRAPHS[name])
    few, all_of_them = (Dropouts.of(graph, k, symmetric=symmetric) for symmetric in (True, False))
    assert few.times.sum() == math.factorial(k) * len(all_of_them.sets)
    labels = exact_labels([graph, graph], [few.sets, all_of_them.sets])
    scaled = Dropouts(graph, all_of_them.sets, all_of_them.times * math.factorial(k), all_of_them.alike, 0, False)
    assert few.collect(labels[0]) == scaled.collect(labels[1])


@pytest.mark.parametrize("seed", range(12))
def test_verdicts_are_the_same(seed: int) -> None:
    a, b = (structure_of(nx.random_regular_graph(3, 10, seed=2 * seed + side)) for side in (0, 1))
    verdicts = [distinguish(a, b, max_k=2, symmetric=symmetric, telling=False) for symmetric in (True, False)]
    assert verdicts[0].k == verdicts[1].k
    assert verdicts[0].subsets == verdicts[1].subsets


def test_a_budget_for_representatives() -> None:
    rigid = structure_of(nx.gnp_random_graph(20, 0.5, seed=1))
    with pytest.raises(InvalidArgument, match=r"'budget' must allow the dropped sets of 2 of 20 nodes.*got 100"):
        representatives(rigid, 2, budget=100)


def test_nothing_is_dropped() -> None:
    sets, times = representatives(structure_of(nx.cycle_graph(5)), 0)
    assert sets.shape == (1, 0)
    assert np.array_equal(times, [1])


def test_a_budget_that_symmetry_keeps() -> None:
    """Then there are too many sets to look for the most telling view one by one."""
    two, one = structure_of(nx.disjoint_union(nx.cycle_graph(4), nx.cycle_graph(4))), structure_of(nx.cycle_graph(8))
    verdict = distinguish(two, one, symmetric=True, budget=5)
    assert (verdict.k, verdict.telling) == (1, None)


def test_directions_count() -> None:
    """A directed path has no symmetry, and a cycle turns in its direction only."""
    path = Structure.of(np.array([[0, 1], [1, 2]]), 3)
    assert len(orbits(path)) == 3
    cycle = Structure.of(np.array([[0, 1, 2], [1, 2, 0]]), 3)
    assert len(orbits(cycle)) == 1
    assert len(orbits(cycle, [0])) == 3


def test_repeated_edges_have_no_orbits() -> None:
    twice = Structure.undirected([(0, 1), (0, 1), (1, 2)], 3)
    assert not twice.is_simple
    with pytest.raises(Unsupported, match="an edge is there twice or edges have colours; use symmetric=False"):
        orbits(twice)
    assert not symmetry_pays([twice.padded(300)], 3)
    assert symmetry_pays([structure_of(nx.cycle_graph(300))], 3)


def test_loops_are_kept_where_they_are() -> None:
    loops = Structure.undirected([(0, 0), (1, 1), (2, 2), (3, 4)], 5)
    assert sorted(orbits(loops)) == [[0, 1, 2], [3, 4]]
    assert sorted(orbits(Structure.undirected([(0, 0)], 3))) == [[0], [1, 2]]
