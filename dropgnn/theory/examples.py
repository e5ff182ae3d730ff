r"""The paper's first example, exactly: what a node sees when its neighbours drop out (Section 2.4, Appendix A).

The GNN is the appendix's: every node starts with 1 and adds up its neighbours' values in every layer,
:math:`x_v \leftarrow x_v + \sum_{u \in N(v)} x_u`. Dropped nodes are removed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fractions import Fraction

from dropgnn.theory.enumerate import enumerate_dropouts

TWO_FOUR_CYCLES: tuple[tuple[int, ...], ...] = ((1, 3), (0, 2), (1, 3), (0, 2), (5, 7), (4, 6), (5, 7), (4, 6))
EIGHT_CYCLE: tuple[tuple[int, ...], ...] = tuple(((node - 1) % 8, (node + 1) % 8) for node in range(8))


def view(neighbors: Sequence[Sequence[int]], u: int, dropped: Collection[int], *, layers: int = 2) -> int:
    """The value at node u after ``layers`` layers, with some nodes removed.

    >>> view(EIGHT_CYCLE, 0, ()), view(EIGHT_CYCLE, 0, {2}), view(EIGHT_CYCLE, 0, {1})
    (9, 8, 5)
    """
    values = [0 if node in dropped else 1 for node in range(len(neighbors))]
    for _ in range(layers):
        values = [
            0 if node in dropped else values[node] + sum(values[other] for other in heard)
            for node, heard in enumerate(neighbors)
        ]
    return values[u]


def view_law(neighbors: Sequence[Sequence[int]], u: int, p: Fraction, *, layers: int = 2) -> dict[int, Fraction]:
    """The distribution of what u sees over all dropouts in which u itself stays, from large values to small.

    >>> law = view_law(TWO_FOUR_CYCLES, 0, Fraction(1, 4))
    >>> sum(law.values()), law[9], 8 in law
    (Fraction(1, 1), Fraction(27, 64), False)
    """
    others = [node for node in range(len(neighbors)) if node != u]
    law: dict[int, Fraction] = {}
    for chosen, weight in enumerate_dropouts([p] * len(others), k=len(others)):
        value = view(neighbors, u, {others[index] for index in chosen}, layers=layers)
        law[value] = law.get(value, Fraction(0)) + weight
    return dict(sorted(law.items(), reverse=True))
