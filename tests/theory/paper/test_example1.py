"""Example 1 of the paper, number by number (Appendix A)."""

from __future__ import annotations

from fractions import Fraction

import pytest

from dropgnn.theory.paper.example1 import EIGHT_CYCLE, TWO_FOUR_CYCLES, view, view_law


def test_nothing_dropped_gives_9_in_both_graphs() -> None:
    assert view(TWO_FOUR_CYCLES, 0, (), layers=1) == view(EIGHT_CYCLE, 0, (), layers=1) == 3
    assert view(TWO_FOUR_CYCLES, 0, ()) == view(EIGHT_CYCLE, 0, ()) == 9


def test_one_dropouts_give_5_5_7_against_5_5_8_8() -> None:
    assert sorted(view(TWO_FOUR_CYCLES, 0, {node}) for node in (1, 2, 3)) == [5, 5, 7]
    assert sorted(view(EIGHT_CYCLE, 0, {node}) for node in (1, 2, 6, 7)) == [5, 5, 8, 8]


def test_more_dropouts_give_at_most_7_and_the_laws_differ() -> None:
    p = Fraction(1, 8)
    square, octagon = view_law(TWO_FOUR_CYCLES, 0, p), view_law(EIGHT_CYCLE, 0, p)
    assert sum(square.values()) == sum(octagon.values()) == 1
    assert square[9] == (1 - p) ** 3
    assert octagon[9] == (1 - p) ** 4
    assert octagon[8] == 2 * p * (1 - p) ** 3
    assert 8 not in square
    assert square[7] == p * (1 - p) ** 2  # only the opposite node is missing
    assert octagon[7] == p**2 * (1 - p) ** 2
    assert max(value for value in (*square, *octagon) if value not in (8, 9)) == 7


@pytest.mark.parametrize(("method", "layers"), [("remove", 2), ("receive-only", 2), ("edges", 3)])
def test_every_way_to_drop_tells_them_apart(method: str, layers: int) -> None:
    square, octagon = (
        view_law(graph, 0, Fraction(1, 8), method=method, layers=layers) for graph in (TWO_FOUR_CYCLES, EIGHT_CYCLE)
    )
    assert sum(square.values()) == sum(octagon.values()) == 1
    assert square != octagon


def test_edges_need_a_third_layer() -> None:
    """Two layers hear four edges in either graph, and each of them once: dropping edges shows the same in both."""
    assert view_law(TWO_FOUR_CYCLES, 0, Fraction(1, 8), method="edges") == view_law(
        EIGHT_CYCLE, 0, Fraction(1, 8), method="edges"
    )


def test_counting_the_nines_is_enough() -> None:
    """sigma(x - 8) counts the runs without a drop around u, whose number differs by p (1 - p)^3 in expectation."""
    p = Fraction(1, 8)
    nines = [view_law(graph, 0, p)[9] for graph in (TWO_FOUR_CYCLES, EIGHT_CYCLE)]
    assert nines[0] - nines[1] == p * (1 - p) ** 3
