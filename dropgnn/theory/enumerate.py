r"""Every dropout and its exact probability.

Dropping each of n items with probability :math:`p_v` and conditioning on at most k drops gives the law

.. math:: P(S) = \frac{\prod_{v \in S} p_v \prod_{v \notin S} (1 - p_v)}{P(\text{at most } k \text{ dropped})}

Probabilities are :class:`~fractions.Fraction` here: an enumeration that claims to be exact is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

from dropgnn.errors import InvalidArgument

BUDGET = 5_000_000
"""The largest number of subsets anyone may ask for without raising the budget by name."""


def count_dropouts(n: int, k: int) -> int:
    """How many sets of at most k out of n items there are.

    >>> count_dropouts(10, 2)
    56
    """
    return sum(math.comb(n, size) for size in range(min(k, n) + 1))


def check_budget(n: int, k: int, budget: int = BUDGET, *, hint: str = "reduce k, or raise budget=") -> None:
    """Refuse an enumeration larger than ``budget``, with its size and what to reduce."""
    if k < 0:
        raise InvalidArgument("k", "must be at least 0", got=k)
    count = count_dropouts(n, k)
    if count > budget:
        raise InvalidArgument(
            "k",
            f"must keep the number of dropped sets within the budget of {budget:,}",
            got=f"k={k} with {n:,} items: {count:,} sets",
            hint=hint,
        )


def enumerate_dropouts(
    p: Sequence[Fraction], k: int, *, budget: int = BUDGET
) -> list[tuple[tuple[int, ...], Fraction]]:
    """All dropped sets of at most k items with their exact probability given at most k drops, small sets first.

    >>> for dropped, weight in enumerate_dropouts([Fraction(1, 4)] * 2, k=1):
    ...     print(dropped, weight)
    () 3/5
    (0,) 1/5
    (1,) 1/5
    """
    check_budget(len(p), k, budget)
    for value in p:
        if not 0 <= value <= 1:
            raise InvalidArgument("p", "must lie in [0, 1]", got=value)
    sets = [dropped for size in range(min(k, len(p)) + 1) for dropped in combinations(range(len(p)), size)]
    masses = [_mass(p, dropped) for dropped in sets]
    total = sum(masses, Fraction(0))
    if total == 0:
        raise InvalidArgument(
            "p", f"must allow at most k = {k} drops", got="p = 1 for more than k items", hint="take p below 1"
        )
    return [(dropped, mass / total) for dropped, mass in zip(sets, masses, strict=True)]


def _mass(p: Sequence[Fraction], dropped: tuple[int, ...]) -> Fraction:
    inside = set(dropped)
    return math.prod((q if item in inside else 1 - q for item, q in enumerate(p)), start=Fraction(1))
