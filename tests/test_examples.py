"""The examples say what is so."""

from __future__ import annotations

import numpy as np

from examples.molecules_that_look_alike import alike, graph_of, seen, seen_with_dropouts

RING = [(i, (i + 1) % 6) for i in range(6)]
DECALIN = [*RING, (0, 6), (6, 7), (7, 8), (8, 9), (9, 1)]
BICYCLOPENTYL = [*[(i, (i + 1) % 5) for i in range(5)], *[(5 + i, 5 + (i + 1) % 5) for i in range(5)], (0, 5)]


def test_two_rings_of_carbon_look_alike_until_an_atom_drops_out() -> None:
    shuffled = np.random.default_rng(0).permutation(10)[np.array(DECALIN)]
    graphs = [
        graph_of(np.zeros(10, np.int64), np.array(bonds), np.zeros(len(bonds), np.int64))
        for bonds in (DECALIN, BICYCLOPENTYL, shuffled)
    ]
    assert alike((number, seen(graph)) for number, graph in enumerate(graphs)) == [0, 1, 2]
    assert alike((number, seen_with_dropouts(graph, 10)) for number, graph in enumerate(graphs)) == [0, 2]


def test_the_kind_of_a_bond_is_seen() -> None:
    bonds = np.array(RING)
    one_double = np.array([1, 0, 0, 0, 0, 0])
    graphs = [graph_of(np.zeros(6, np.int64), bonds, kinds) for kinds in (0 * one_double, one_double)]
    assert alike((number, seen(graph, layers=1)) for number, graph in enumerate(graphs)) == []
