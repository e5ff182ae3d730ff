r"""Example 2 (Section 2.4, Appendix A): two triangles joined by an edge against a ladder with three rungs.

The GNN is the appendix's: every node starts with 1; it stays 1 as long as it is 1 and hears exactly two 1s,
:math:`x_v \leftarrow \sigma(\hat\sigma(\sum_{u} x_u) + x_v - 2)` with :math:`\hat\sigma(2) = 1` and 0 elsewhere. After
d = 3 layers u is 1 exactly where its component is a cycle.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fractions import Fraction

from dropgnn.theory.paper.dropping import Item, Neighbors, law, neighbors_of, perturb

TRIANGLES: Neighbors = neighbors_of([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3)], 6)
LADDER: Neighbors = neighbors_of([(0, 1), (2, 3), (4, 5), (0, 2), (2, 4), (1, 3), (3, 5)], 6)
U, V = 2, 3
"""The two gray nodes, of degree 3, in both graphs."""


def view(neighbors: Neighbors, u: int, dropped: Collection[Item], *, layers: int = 3, method: str = "remove") -> int:
    """Whether u is still 1 after ``layers`` layers.

    >>> view(TRIANGLES, U, {V}), view(LADDER, U, {V}), view(LADDER, U, {0, 1})
    (1, 0, 1)
    """
    return _stay(perturb(neighbors, dropped, method), u, layers)


def probability_of_a_cycle(neighbors: Neighbors, p: Fraction, *, layers: int = 3, method: str = "remove") -> Fraction:
    """How likely u is to see a 1.

    >>> p = Fraction(1, 6)
    >>> probability_of_a_cycle(TRIANGLES, p) == p * (1 - p) ** 2
    True
    >>> probability_of_a_cycle(LADDER, p) == 2 * p**2 * (1 - p) ** 3
    True
    """
    found = law(neighbors, U, p, lambda heard, node: _stay(heard, node, layers), method=method)
    return found.get(1, Fraction(0))


def _stay(heard: Sequence[tuple[int, ...] | None], u: int, layers: int) -> int:
    values = [0 if one is None else 1 for one in heard]
    for _ in range(layers):
        values = [
            int(one is not None and values[node] == 1 and sum(values[other] for other in one) == 2)
            for node, one in enumerate(heard)
        ]
    return values[u]
