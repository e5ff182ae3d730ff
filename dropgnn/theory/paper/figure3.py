"""Figure 3 and Theorem 3: pairs that few dropouts cannot separate, as seen from u.

Two cycles of length l, or one of length 2l, and a node u joined to all of them. With d = 2 layers u sees no more than the
degrees of its neighbours.
"""

from __future__ import annotations

from dropgnn.errors import whole_number
from dropgnn.theory.distinguish import Verdict, distinguish
from dropgnn.theory.views import Structure


def pair(length: int) -> tuple[Structure, Structure, int]:
    """Two cycles and one cycle, each with the node u, and u itself."""
    whole_number("length", length, least=3)
    u = 2 * length
    spokes = [(u, node) for node in range(u)]
    twice = [(start + i, start + (i + 1) % length) for start in (0, length) for i in range(length)]
    once = [(i, (i + 1) % u) for i in range(u)]
    return Structure.undirected(twice + spokes, u + 1), Structure.undirected(once + spokes, u + 1), u


def seen_from_u(length: int, *, depth: int = 2, max_k: int = 5) -> Verdict:
    """The smallest dropout that separates the pair as seen from u.

    >>> [seen_from_u(length).k for length in (3, 4, 5)]
    [2, 2, 3]
    """
    two, one, u = pair(length)
    return distinguish(two, one, nodes=(u, u), depth=depth, max_k=max_k, telling=False)


def seen_as_graphs(length: int, *, depth: int | None = None) -> Verdict:
    """The same for the whole graph, all nodes looking, at any depth: one dropped node is enough.

    >>> seen_as_graphs(5).k
    1
    """
    two, one, _ = pair(length)
    return distinguish(two, one, depth=depth, telling=False)
