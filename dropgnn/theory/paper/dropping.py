"""Three ways to drop, for the small exact GNNs of the examples (Section 2.2 and the end of Appendix A)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from fractions import Fraction
from typing import TypeVar

from dropgnn.errors import one_of
from dropgnn.theory.enumerate import enumerate_dropouts

Neighbors = tuple[tuple[int, ...], ...]
Item = int | tuple[int, int]
V = TypeVar("V")

METHODS = ("remove", "edges", "receive-only")
"""Nodes vanish with their edges (the paper's definition); edges vanish; nodes hear but do not speak."""


def neighbors_of(edges: Iterable[tuple[int, int]], num_nodes: int) -> Neighbors:
    """Whom each node hears, for undirected edges.

    >>> neighbors_of([(0, 1), (1, 2)], 3)
    ((1,), (0, 2), (1,))
    """
    heard: list[list[int]] = [[] for _ in range(num_nodes)]
    for a, b in edges:
        heard[a].append(b)
        heard[b].append(a)
    return tuple(tuple(sorted(one)) for one in heard)


def items_of(neighbors: Neighbors, u: int, method: str) -> list[Item]:
    """What can be dropped as seen from u, which itself stays: the other nodes, or the edges."""
    one_of("method", method, METHODS)
    if method == "edges":
        return [(a, b) for a, heard in enumerate(neighbors) for b in heard if a < b]
    return [node for node in range(len(neighbors)) if node != u]


def perturb(neighbors: Neighbors, dropped: Collection[Item], method: str = "remove") -> list[tuple[int, ...] | None]:
    """Whom each node hears after dropping; ``None`` for nodes that are gone.

    >>> path = neighbors_of([(0, 1), (1, 2)], 3)
    >>> perturb(path, {1}), perturb(path, {1}, "receive-only"), perturb(path, {(0, 1)}, "edges")
    ([(), None, ()], [(), (0, 2), ()], [(), (2,), (1,)])
    """
    if method == "edges":
        return [
            tuple(other for other in heard if (min(node, other), max(node, other)) not in dropped)
            for node, heard in enumerate(neighbors)
        ]
    spoken = [tuple(other for other in heard if other not in dropped) for heard in neighbors]
    if method == "receive-only":
        return list(spoken)
    return [None if node in dropped else heard for node, heard in enumerate(spoken)]


def law(
    neighbors: Neighbors,
    u: int,
    p: Fraction,
    view: Callable[[Sequence[tuple[int, ...] | None], int], V],
    *,
    method: str = "remove",
) -> dict[V, Fraction]:
    """The distribution of what u sees, ``view(heard, u)``, over all dropouts in which u itself stays."""
    items = items_of(neighbors, u, method)
    found: dict[V, Fraction] = {}
    for chosen, weight in enumerate_dropouts([p] * len(items), k=len(items)):
        value = view(perturb(neighbors, {items[index] for index in chosen}, method), u)
        found[value] = found.get(value, Fraction(0)) + weight
    return found
