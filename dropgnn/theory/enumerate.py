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

from dropgnn.errors import InvalidArgument, whole_number
from dropgnn.theory.checks import MOST_DIGITS, real, shown

BUDGET = 5_000_000
"""The largest number of subsets anyone may ask for without raising the budget by name."""


MOST_COUNTED = 10**8
"""The largest n times k for which sets are counted; more takes seconds."""


def count_dropouts(n: int, k: int) -> int:
    """How many sets of at most k out of n items there are.

    >>> count_dropouts(10, 2)
    56
    """
    n, k = whole_number("n", n, least=0), min(whole_number("k", k, least=0), n)
    if n * k > MOST_COUNTED:
        rule = f"must keep n times k within {MOST_COUNTED:,}"
        raise InvalidArgument("k", rule, got=f"k={shown(k)} with {shown(n)} items")
    total = several = 1
    for size in range(1, k + 1):
        several = several * (n - size + 1) // size
        total += several
    return total


def check_budget(n: int, k: int, budget: int = BUDGET, *, hint: str = "reduce k, or raise budget=") -> None:
    """Refuse an enumeration larger than ``budget``, with its size and what to reduce."""
    n, k, budget = whole_number("n", n, least=0), whole_number("k", k, least=0), whole_number("budget", budget, least=1)
    if n * min(k, n) <= MOST_COUNTED:
        count = count_dropouts(n, k)
        within, number = count <= budget, f"{shown(f'{count:,}')} sets" if count < 10**MOST_DIGITS else "far more sets"
    else:
        within, number = False, "far more sets"
    if not within:
        raise InvalidArgument(
            "k",
            f"must keep the number of dropped sets within the budget of {_grouped(budget)}",
            got=f"k={shown(k)} with {shown(n)} items: {number}",
            hint=hint,
        )


def _grouped(number: int) -> str:
    return f"{number:,}" if number < 10**MOST_DIGITS else shown(number)


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
    if not isinstance(p, Sequence):
        raise InvalidArgument("p", "must be a list of probabilities", got=shown(p))
    check_budget(len(p), k, budget)
    for value in p:
        real("p", value, "must lie in [0, 1]", lambda value: 0 <= value <= 1)
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
