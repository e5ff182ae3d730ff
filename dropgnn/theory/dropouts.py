"""All dropouts of k nodes of a graph, or one of each kind, and what nodes see over them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from math import comb

import numpy as np

from dropgnn.theory.checks import flag
from dropgnn.theory.enumerate import BUDGET
from dropgnn.theory.orbits import is_for_nauty, orbits, representatives
from dropgnn.theory.views import Structure, dropped_sets, joined, view_words

MANY = 20_000
"""From so many sets on, symmetry is worth looking for."""


def _choices(structure: Structure, k: int) -> int:
    """How many sets of k nodes there are."""
    return comb(structure.num_nodes, k) if k <= structure.num_nodes else 0


@dataclass(frozen=True, eq=False)
class Dropouts:
    """Dropped sets and how often each counts.

    Args:
        structure: The graph.
        sets: What is dropped in each copy, ``[M, k]``.
        times: How many ordered choices each set stands for, ``[M]``.
        alike: Nodes that automorphisms map onto each other; over all dropouts they see the same.
        count: How many sets there are, those included that are not listed.
        symmetric: Whether one of each kind is listed instead of all.
    """

    structure: Structure
    sets: np.ndarray
    times: np.ndarray
    alike: list[list[int]]
    count: int
    symmetric: bool

    @classmethod
    def of(cls, structure: Structure, k: int, *, symmetric: bool, budget: int = BUDGET) -> Dropouts:
        """All sets of exactly k nodes; with ``symmetric`` one of each kind."""
        if flag("symmetric", symmetric):
            sets, times = representatives(structure, k, budget=budget)
            return cls(structure, sets, times, orbits(structure), _choices(structure, k), True)
        sets, nodes = dropped_sets(structure, k, budget=budget), [[node] for node in range(structure.num_nodes)]
        return cls(structure, sets, np.ones(len(sets), np.int64), nodes, len(sets), False)

    @property
    def pairs(self) -> int:
        """How many (node, copy) pairs are listed."""
        return len(self.sets) * self.structure.num_nodes

    def words(self, *, depth: int | None, mode: str) -> np.ndarray:
        """For each node a word for the multiset of what it sees, ``[n]``."""
        found = view_words(self.structure, self.sets, depth=depth, mode=mode, keep=self.symmetric)
        if not self.symmetric:
            return found.node
        return np.array([word(view) for view in self.collect(found.pair)], np.uint64)

    def collect(self, seen: np.ndarray) -> list[bytes]:
        """For each node the multiset of what it sees, given what each node sees in each copy, ``[M, n]``."""
        views = [b""] * self.structure.num_nodes
        for nodes in self.alike:
            values, which = np.unique(seen[:, nodes].ravel(), return_inverse=True)
            total = np.zeros(values.size, np.int64)
            np.add.at(total, which, np.repeat(self.times, len(nodes)))
            view = values.tobytes() + (total // len(nodes)).tobytes()
            for node in nodes:
                views[node] = view
        return views


def all_sets(tried: Sequence[tuple[Dropouts, Dropouts]]) -> list[np.ndarray]:
    """The listed sets of all sizes of both graphs, padded."""
    return [joined([both[side].sets for both in tried]) for side in (0, 1)]


def views_over(tried: Sequence[tuple[Dropouts, Dropouts]], labels: Sequence[np.ndarray]) -> list[list[bytes]]:
    """For each node of both graphs what it sees over the sets of each size, given its labels in :func:`all_sets`."""
    seen = []
    for side, colours in enumerate(labels):
        first, views = 0, [b""] * colours.shape[1]
        for one in (both[side] for both in tried):
            found = one.collect(colours[first : first + len(one.sets)])
            views = [view + more for view, more in zip(views, found, strict=True)]
            first += len(one.sets)
        seen.append(views)
    return seen


def symmetry_pays(structures: Sequence[Structure], k: int) -> bool:
    """Whether symmetry is worth looking for, and can be: it is for all of them or for none, or words could not be compared."""
    many = any(comb(structure.num_nodes, k) > MANY for structure in structures)
    return many and all(is_for_nauty(structure) for structure in structures) and find_spec("pynauty") is not None


def word(view: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(view, digest_size=8).digest(), "little")
