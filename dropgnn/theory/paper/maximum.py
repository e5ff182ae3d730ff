"""Why max aggregation does not go well with dropouts (Appendix D).

Two multisets of gamma values that differ in their smallest element only look alike to a maximum until all others are gone:
that takes a (gamma - 1)-dropout.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations


def smallest_dropout(a: Sequence[int], b: Sequence[int]) -> int | None:
    """The smallest k for which the maxima over all k-dropouts are not the same multiset; ``None`` where they always are.

    >>> smallest_dropout([0, 5, 6, 7], [1, 5, 6, 7])
    3
    """
    for k in range(max(len(a), len(b)) + 1):
        if _maxima(a, k) != _maxima(b, k):
            return k
    return None


def probability(gamma: int, p: Fraction) -> Fraction:
    r"""How likely the one telling dropout is: the smallest stays, u stays, everyone else is gone, :math:`p^{\gamma-1} (1-p)^2`.

    >>> probability(5, Fraction(1, 6))
    Fraction(25, 46656)
    """
    return p ** (gamma - 1) * (1 - p) ** 2


def _maxima(values: Sequence[int], k: int) -> Counter[int | None]:
    kept = combinations(values, len(values) - k) if k <= len(values) else iter(())
    return Counter(max(one, default=None) for one in kept)
