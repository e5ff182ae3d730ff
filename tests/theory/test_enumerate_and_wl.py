"""Enumeration is exact; colour refinement sees what 1-WL sees and no more."""

from __future__ import annotations

from fractions import Fraction

import networkx as nx
import pytest

from dropgnn import InvalidArgument
from dropgnn.theory.enumerate import count_dropouts, enumerate_dropouts
from dropgnn.theory.wl import equivalent


def neighbors(graph: nx.Graph) -> list[list[int]]:
    return [list(graph[node]) for node in range(len(graph))]


def test_weights_are_fractions_that_sum_to_one() -> None:
    law = enumerate_dropouts([Fraction(1, 3), Fraction(1, 5), Fraction(0), Fraction(1, 2)], k=2)
    assert len(law) == count_dropouts(4, 2) == 11
    assert sum(weight for _, weight in law) == 1
    assert all(isinstance(weight, Fraction) for _, weight in law)


def test_without_a_limit_it_is_the_whole_law() -> None:
    law = dict(enumerate_dropouts([Fraction(1, 4)] * 3, k=3))
    assert law[(0, 2)] == Fraction(1, 4) ** 2 * Fraction(3, 4)


@pytest.mark.parametrize(
    ("p", "k", "message"),
    [
        (
            [Fraction(1, 2)] * 60,
            8,
            r"'k' must keep the number of dropped sets within the budget .* 60 items: \d.*reduce k",
        ),
        ([Fraction(1), Fraction(1)], 1, r"'p' must allow at most k = 1 drops"),
        ([Fraction(3, 2)], 1, r"'p' must lie in \[0, 1\] \(got 3/2\)"),
        ([Fraction(1, 2)], -1, r"'k' must be a whole number of at least 0 \(got -1\)"),
    ],
)
def test_impossible_requests_are_refused(p: list[Fraction], k: int, message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        enumerate_dropouts(p, k)


def test_1_wl_does_not_tell_two_triangles_from_a_hexagon() -> None:
    two = nx.disjoint_union(nx.cycle_graph(3), nx.cycle_graph(3))
    assert equivalent((neighbors(two), "aaaaaa"), (neighbors(nx.cycle_graph(6)), "aaaaaa"))


def test_1_wl_tells_a_path_from_a_star_and_sees_labels() -> None:
    path, star = neighbors(nx.path_graph(4)), neighbors(nx.star_graph(3))
    assert not equivalent((path, "aaaa"), (star, "aaaa"))
    assert not equivalent((path, "aaab"), (path, "aaba"))
    assert equivalent((path, "aaab"), (path, "baaa"))
