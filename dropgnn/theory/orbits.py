"""Dropped sets that an automorphism maps onto each other look alike: one of each kind is enough.

The sets are built node by node. At each step one node of every orbit is added, under the automorphisms that keep the nodes
chosen so far; how many sets it stands for is the product of the orbits' sizes. Needs ``pynauty`` (extra ``orbits``).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from dropgnn.errors import InvalidArgument, MissingExtra, Unsupported, whole_number
from dropgnn.theory.checks import shown
from dropgnn.theory.enumerate import BUDGET
from dropgnn.theory.structure import Structure, a_structure

MOST_CHOSEN = 64
"""No graph has so many nodes left to choose among that more are of use: 64 of them have 2^64 ordered choices already."""


def representatives(structure: Structure, k: int, *, budget: int = BUDGET) -> tuple[np.ndarray, np.ndarray]:
    """Sets of exactly k nodes ``[M, k]`` and for each the number of *ordered* choices it stands for, ``[M]``.

    Divided by k! these are numbers of sets, on average over each orbit.
    """
    a_structure("structure", structure)
    k, budget = whole_number("k", k, least=0), whole_number("budget", budget, least=1)
    if math.perm(structure.num_nodes, min(k, MOST_CHOSEN)) >= 2**63:
        got = f"k={shown(k)} with {structure.num_nodes:,} nodes"
        raise InvalidArgument("k", "must keep the number of ordered choices below 2^63", got=got, hint="reduce k")
    if k > structure.num_nodes:
        return np.empty((0, structure.num_nodes + 1), np.int32), np.empty(0, np.int64)
    chosen: Counter[tuple[int, ...]] = Counter({(): 1})
    for _ in range(k):
        longer: Counter[tuple[int, ...]] = Counter()
        for kept, stands_for in chosen.items():
            for orbit in orbits(structure, kept):
                if orbit[0] not in kept:
                    longer[tuple(sorted((*kept, orbit[0])))] += stands_for * len(orbit)
            if len(longer) > budget:
                rule = f"must allow the dropped sets of {k} of {structure.num_nodes:,} nodes, one of each kind"
                raise InvalidArgument("budget", rule, got=budget, hint="raise it, or drop fewer nodes")
        chosen = longer
    sets = np.array(list(chosen), np.int32).reshape(len(chosen), k)
    times = np.array(list(chosen.values()), np.int64)
    assert int(times.sum()) == math.perm(structure.num_nodes, k)
    return sets, times


def orbits(structure: Structure, kept: Sequence[int] = ()) -> list[list[int]]:
    """The orbits of the automorphisms that keep each of these nodes, and all colours, where they are."""
    try:
        import pynauty
    except ImportError as problem:
        raise MissingExtra("pynauty", "orbits") from problem
    found: dict[int, list[int]] = {}
    for node, representative in enumerate(pynauty.autgrp(nauty_graph(structure, kept))[3]):
        found.setdefault(int(representative), []).append(node)
    return list(found.values())


def is_for_nauty(structure: Structure) -> bool:
    """Whether nauty knows such graphs: no edge is there twice, and edges look alike."""
    return structure.is_simple and not structure.has_kinds


def nauty_graph(structure: Structure, kept: Sequence[int] = ()) -> Any:
    """The graph as pynauty has it, with colours, and each of the nodes ``kept`` in a colour of its own."""
    import pynauty

    if not is_for_nauty(structure):
        raise Unsupported("orbits are those of simple graphs, and an edge is there twice or edges have colours; "
                          "use symmetric=False")  # fmt: skip
    directed = not structure.is_undirected or structure.has_loops  # nauty's word for both
    ends = zip(structure.ptr[:-1].tolist(), structure.ptr[1:].tolist(), strict=True)
    heard = {node: structure.neighbor[first:last].tolist() for node, (first, last) in enumerate(ends)}
    classes: dict[tuple[int, int], set[int]] = {}
    for node, colour in enumerate(structure.colour.tolist()):
        classes.setdefault((1, node) if node in kept else (0, colour), set()).add(node)
    colouring = [classes[key] for key in sorted(classes)]
    return pynauty.Graph(structure.num_nodes, directed=directed, adjacency_dict=heard, vertex_coloring=colouring)
