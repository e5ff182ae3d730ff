r"""Lemma 5 and its limits (Appendix D): telling multisets apart by the mean of what stays.

For two multisets of the same size there is a threshold :math:`\tau` and a p such that the mean exceeds :math:`\tau` more
often in one of them. Vectors are projected first: treating dimensions one at a time, as the appendix does, fails for
{(0,0), (1,1)} against {(0,1), (1,0)}.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from dropgnn.errors import InvalidArgument
from dropgnn.theory.paper.example3 import mean_law

Vector = Sequence[int]


@dataclass(frozen=True)
class Separation:
    """How to tell two multisets apart.

    Args:
        weights: Vectors are projected on these.
        threshold: Count the runs whose mean is at least this; runs in which nobody stays do not count.
        p: The dropout probability.
        probability: How likely that is, in the first multiset and in the second; exact.
        runs: Enough for the counts to tell, with failure probability at most 1/t (Hoeffding).
    """

    weights: tuple[int, ...]
    threshold: Fraction
    p: Fraction
    probability: tuple[Fraction, Fraction]
    runs: int


def separate(a: Sequence[Vector | int], b: Sequence[Vector | int], *, t: float = 100.0) -> Separation:
    """The lemma's choice for two multisets of integers or integer vectors.

    >>> found = separate([(0, 0), (1, 1)], [(0, 1), (1, 0)])
    >>> found.weights, found.threshold, found.p
    ((1, 3), Fraction(7, 2), Fraction(1, 8))
    """
    first, second = ([(value,) if isinstance(value, int) else tuple(value) for value in side] for side in (a, b))
    if Counter(first) == Counter(second):
        raise InvalidArgument("a, b", "must be two different multisets", got=list(a))
    weights = _projection([*first, *second])
    one, other = (sorted(_project(value, weights) for value in side) for side in (first, second))
    means = Fraction(sum(one), len(one)), Fraction(sum(other), len(other))
    gamma = max(len(one), len(other))
    if means[0] != means[1]:
        threshold, p = (means[0] + means[1]) / 2, Fraction(1, 2 * gamma)
    elif len(one) == len(other):
        index = next(i for i, (x, y) in enumerate(zip(one, other, strict=True)) if x != y)
        without = [Fraction(sum(side) - side[index], gamma - 1) for side in (one, other)]
        threshold, p = (without[0] + without[1]) / 2, Fraction(1, 2 * gamma**2)
    else:
        raise InvalidArgument(
            "a, b", "must have different means or the same size: the lemma is about these", got=(len(one), len(other)),
            hint="enumerate_dropouts has the laws of larger dropouts",
        )  # fmt: skip
    probability = _at_least(one, threshold, p), _at_least(other, threshold, p)
    gap = abs(probability[0] - probability[1])
    return Separation(weights, threshold, p, probability, math.ceil(2 * math.log(2 * t) / gap**2))


def almost_equal(length: int) -> tuple[list[int], list[int]]:
    """The construction of Appendix D: different sizes, no common element, and almost the same means.

    >>> almost_equal(4)
    ([-3, -3, 3, 3], [-4, -4, 0, 4, 4])
    """
    if length < 2 or length % 2:
        raise InvalidArgument("length", "must be even and at least 2", got=length)
    half = length // 2
    return [1 - length] * half + [length - 1] * half, [-length] * half + [0] + [length] * half


def gap_of_almost_equal(length: int, p: Fraction) -> dict[Fraction, Fraction]:
    r"""By how much the probabilities of 0- and 1-dropouts with each mean differ in :func:`almost_equal`.

    Zero for the mean 0, and :math:`\frac{l}{2} p^2 (1 - p)^{l-1}` for 1 and -1.
    """
    masses: list[dict[Fraction, Fraction]] = []
    for side in almost_equal(length):
        mass = {Fraction(0): (1 - p) ** len(side)}
        for index in range(len(side)):
            mean = Fraction(sum(side) - side[index], len(side) - 1)
            mass[mean] = mass.get(mean, Fraction(0)) + p * (1 - p) ** (len(side) - 1)
        masses.append(mass)
    return {mean: masses[0][mean] - masses[1].get(mean, Fraction(0)) for mean in masses[0]}


def _at_least(values: Sequence[int], threshold: Fraction, p: Fraction) -> Fraction:
    law = mean_law(values, p)
    return sum((weight for mean, weight in law.items() if mean is not None and mean >= threshold), Fraction(0))


def _projection(vectors: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Weights under which different vectors have different products: digits of a number in a base large enough."""
    base = 2 * max((abs(value) for vector in vectors for value in vector), default=0) + 1
    return tuple(base**place for place in range(len(vectors[0])))


def _project(vector: tuple[int, ...], weights: tuple[int, ...]) -> int:
    return sum(value * weight for value, weight in zip(vector, weights, strict=True))
