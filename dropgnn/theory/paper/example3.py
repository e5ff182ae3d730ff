"""Example 3 (Section 2.4, Appendix A): neighbours {1, -1} against {1, 1, -1, -1} under mean aggregation.

Without dropouts both means are 0. With p = 1/4 the mean 1 has probability 3/16 on the left and 15/256 on the right.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from dropgnn.theory.enumerate import enumerate_dropouts

LEFT, RIGHT = (1, -1), (1, 1, -1, -1)


def mean_law(features: Sequence[int], p: Fraction, k: int | None = None) -> dict[Fraction | None, Fraction]:
    """The distribution of the mean over the neighbours that stay; ``None`` where all are gone.

    Dropping an edge to u, or silencing a neighbour, takes away the same summand: the law is the same for all three methods.

    >>> left, right = (mean_law(side, Fraction(1, 4)) for side in (LEFT, RIGHT))
    >>> left[Fraction(1)], right[Fraction(1)], right[Fraction(1, 3)]
    (Fraction(3, 16), Fraction(15, 256), Fraction(27, 128))

    Args:
        features: The neighbours' values.
        p: The dropout probability.
        k: Only dropouts of up to k neighbours, given at most k; by default all.
    """
    found: dict[Fraction | None, Fraction] = {}
    for dropped, weight in enumerate_dropouts([p] * len(features), k=len(features) if k is None else k):
        left = [value for index, value in enumerate(features) if index not in dropped]
        mean = Fraction(sum(left), len(left)) if left else None
        found[mean] = found.get(mean, Fraction(0)) + weight
    return found
