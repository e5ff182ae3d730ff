r"""Example 1 (Section 2.4, Appendix A): two 4-cycles against one 8-cycle.

The GNN is the appendix's: every node starts with 1 and adds up its neighbours' values in every layer,
:math:`x_v \leftarrow x_v + \sum_{u \in N(v)} x_u`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fractions import Fraction

from dropgnn.theory.paper.dropping import Item, Neighbors, law, neighbors_of, perturb

TWO_FOUR_CYCLES: Neighbors = neighbors_of([(0, 1), (1, 2), (2, 3), (3, 0), (4, 5), (5, 6), (6, 7), (7, 4)], 8)
EIGHT_CYCLE: Neighbors = neighbors_of([(node, (node + 1) % 8) for node in range(8)], 8)


def view(neighbors: Neighbors, u: int, dropped: Collection[Item], *, layers: int = 2, method: str = "remove") -> int:
    """The value at node u after ``layers`` layers.

    >>> view(EIGHT_CYCLE, 0, ()), view(EIGHT_CYCLE, 0, {2}), view(EIGHT_CYCLE, 0, {1})
    (9, 8, 5)
    """
    return _add_up(perturb(neighbors, dropped, method), u, layers)


def view_law(
    neighbors: Neighbors, u: int, p: Fraction, *, layers: int = 2, method: str = "remove"
) -> dict[int, Fraction]:
    """The distribution of what u sees over all dropouts in which u itself stays, from large values to small.

    >>> found = view_law(TWO_FOUR_CYCLES, 0, Fraction(1, 4))
    >>> sum(found.values()), found[9], 8 in found
    (Fraction(1, 1), Fraction(27, 64), False)
    """
    found = law(neighbors, u, p, lambda heard, node: _add_up(heard, node, layers), method=method)
    return dict(sorted(found.items(), reverse=True))


def _add_up(heard: Sequence[tuple[int, ...] | None], u: int, layers: int) -> int:
    values = [0 if one is None else 1 for one in heard]
    for _ in range(layers):
        values = [
            0 if one is None else values[node] + sum(values[other] for other in one) for node, one in enumerate(heard)
        ]
    return values[u]
