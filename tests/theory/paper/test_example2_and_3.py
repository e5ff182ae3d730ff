"""Examples 2 and 3 of the paper, number by number (Appendix A)."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import pytest

from dropgnn.theory.paper.dropping import METHODS, law
from dropgnn.theory.paper.example2 import LADDER, TRIANGLES, U, V, probability_of_a_cycle, view
from dropgnn.theory.paper.example3 import LEFT, RIGHT, mean_law
from dropgnn.theory.wl import equivalent

P = Fraction(1, 4)


def dropouts_that_show_a_cycle(neighbors: tuple[tuple[int, ...], ...]) -> list[set[int]]:
    others = [node for node in range(6) if node != U]
    sets = [set(chosen) for size in range(6) for chosen in combinations(others, size)]
    return [chosen for chosen in sets if view(neighbors, U, chosen) == 1]


def test_example_2_beats_1_wl_with_degrees_as_features() -> None:
    degrees = [[len(heard) for heard in graph] for graph in (TRIANGLES, LADDER)]
    assert equivalent((TRIANGLES, degrees[0]), (LADDER, degrees[1]))


def test_example_2_the_dropouts_that_leave_a_cycle() -> None:
    assert dropouts_that_show_a_cycle(TRIANGLES) == [{V}, {V, 4}, {V, 5}, {V, 4, 5}]
    assert dropouts_that_show_a_cycle(LADDER) == [{0, 1}, {4, 5}]


def test_example_2_the_probabilities() -> None:
    left, right = probability_of_a_cycle(TRIANGLES, P), probability_of_a_cycle(LADDER, P)
    assert (left, right) == (P * (1 - P) ** 2, 2 * P**2 * (1 - P) ** 3)
    assert left > 2 * right


@pytest.mark.parametrize("method", METHODS)
def test_example_2_under_every_way_to_drop(method: str) -> None:
    assert probability_of_a_cycle(TRIANGLES, P, method=method) != probability_of_a_cycle(LADDER, P, method=method)


def test_example_3_the_laws_of_the_means() -> None:
    left, right = mean_law(LEFT, P), mean_law(RIGHT, P)
    stay = 1 - P
    assert left == {Fraction(0): stay**2, Fraction(1): P * stay, Fraction(-1): P * stay, None: P**2}
    assert right[Fraction(0)] == stay**4 + 4 * P**2 * stay**2
    assert right[Fraction(1, 3)] == right[Fraction(-1, 3)] == 2 * P * stay**3
    assert right[Fraction(1)] == right[Fraction(-1)] == P**2 * stay**2 + 2 * P**3 * stay
    assert sum(right.values()) == 1
    assert (left[Fraction(1)], right[Fraction(1)]) == (Fraction(3, 16), Fraction(15, 256))
    assert (round(float(left[Fraction(1)]), 2), round(float(right[Fraction(1)]), 2)) == (0.19, 0.06)
    assert Fraction(1, 3) not in left


@pytest.mark.parametrize("method", METHODS)
def test_example_3_is_the_same_for_every_way_to_drop(method: str) -> None:
    star = ((1, 2, 3, 4), (0,), (0,), (0,), (0,))
    values = (0, *RIGHT)

    def mean(heard: object, u: int) -> Fraction | None:
        left = [values[node] for node in heard[u]]  # type: ignore[index]
        return Fraction(sum(left), len(left)) if left else None

    assert law(star, 0, P, mean, method=method) == mean_law(RIGHT, P)
