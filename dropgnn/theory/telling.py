"""The view that tells two graphs apart with the fewest runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dropgnn.theory.enumerate import count_dropouts
from dropgnn.theory.proportions import runs_to_tell
from dropgnn.theory.views import Structure, Words, dropped_sets, joined

Set = tuple[int, ...]


@dataclass(frozen=True)
class Telling:
    """A view, and how often it is seen in A and in B.

    Args:
        nodes: The nodes whose views are compared; ``None`` where it is a view of whole copies.
        times: In how many of the dropped sets it occurs.
        example: A dropped set that shows it; ``None`` where there is none.
        probability: How likely it is in a run, through dropouts of as many nodes as were tried.
        runs: How many runs of each make a two-sided test of two proportions tell them apart, error 1 % on either side.
    """

    nodes: tuple[int, int] | None
    times: tuple[int, int]
    example: tuple[Set | None, Set | None]
    probability: tuple[Fraction, Fraction]
    runs: int


SMALLEST_DIFFERENCE = 1e-150
"""Probabilities that are closer take more runs than can be written down."""

Look = Callable[[Sequence[Structure], Sequence[np.ndarray], bool], Sequence[Words]]
"""Words for what is seen of graphs when these sets drop; what each node sees in each copy is wanted where the last is true."""


def most_telling(
    graphs: tuple[Structure, Structure],
    k: int,
    profiles: Sequence[np.ndarray],
    nodes: tuple[int, int] | None,
    *,
    look: Look,
    p: Fraction,
    most_sets: int,
    most_pairs: int,
) -> Telling | None:
    """The best view of a copy, or where copies look alike as a whole, of a node; ``None`` where there are too many to look at.

    Args:
        profiles: For each graph a word for what each node sees over all dropouts.
        nodes: The nodes to compare; by default whole graphs.
        look: What is seen.
        most_sets, most_pairs: The largest numbers of dropped sets, and of (node, copy) pairs, of a graph to look at.
    """
    many = [count_dropouts(graph.num_nodes, k) for graph in graphs]
    if max(many) > most_sets:
        return None
    sizes = [graph.num_nodes for graph in graphs]
    if nodes is None:
        sets = [dropped_sets(graph, k, budget=most_sets) for graph in graphs]
        words = [found.copy for found in look(graphs, sets, False)]
        telling = _best(list(zip(map(_listed, sets), words, strict=True)), sizes, p, None)
        if telling is not None:
            return telling
    if max(copies * size for copies, size in zip(many, sizes, strict=True)) > most_pairs:
        return None
    sets = [joined([dropped_sets(graph, size, budget=most_sets) for size in range(k + 1)]) for graph in graphs]
    seen = list(zip(map(_listed, sets), [found.pair for found in look(graphs, sets, True)], strict=True))
    rivals = [nodes] if nodes is not None else _rivals(profiles)
    candidates = [
        _best([(listed, words[:, node]) for (listed, words), node in zip(seen, pair, strict=True)], sizes, p, pair)
        for pair in rivals
    ]
    found = (telling for telling in candidates if telling is not None)
    return max(found, key=lambda telling: telling.runs, default=None)


def _listed(sets: np.ndarray) -> list[Set]:
    return [tuple(node for node in one if node >= 0) for one in sets.tolist()]


def _rivals(profiles: Sequence[np.ndarray]) -> list[tuple[int, int]]:
    """A node whose profile is more frequent in one graph, against a node of each other profile in the other graph."""
    known = [dict(zip(*np.unique(profile, return_counts=True), strict=True)) for profile in profiles]
    differing = {word: known[0].get(word, 0) - known[1].get(word, 0) for word in {*known[0], *known[1]}}
    word = max(differing, key=lambda one: abs(differing[one]))
    home = 0 if differing[word] > 0 else 1
    here = int(np.flatnonzero(profiles[home] == word)[0])
    others = [int(np.flatnonzero(profiles[1 - home] == other)[0]) for other in known[1 - home] if other != word]
    return [(here, other) if home == 0 else (other, here) for other in others]


def _best(
    views: Sequence[tuple[list[Set], np.ndarray]], sizes: Sequence[int], p: Fraction, nodes: tuple[int, int] | None
) -> Telling | None:
    """The view with the fewest runs, or ``None`` where all are equally likely."""
    laws = [_law(*view, size, p) for view, size in zip(views, sizes, strict=True)]
    best: Telling | None = None
    for word in {*laws[0], *laws[1]}:
        (a, times_a, set_a), (b, times_b, set_b) = (law.get(word, (Fraction(0), 0, None)) for law in laws)
        if abs(float(a) - float(b)) > SMALLEST_DIFFERENCE:
            runs = runs_to_tell(a, b)
            if best is None or (runs, -times_a) < (best.runs, -best.times[0]):
                best = Telling(nodes, (times_a, times_b), (set_a, set_b), (a, b), runs)
    return best


def _law(sets: list[Set], words: np.ndarray, nodes: int, p: Fraction) -> dict[int, tuple[Fraction, int, Set]]:
    """For each view its probability, how many dropped sets show it, and the first of them."""
    chance = {size: p**size * (1 - p) ** (nodes - size) for size in {len(one) for one in sets}}
    found: dict[int, tuple[Fraction, int, Set]] = {}
    for one, word in zip(sets, words.tolist(), strict=True):
        likely, times, first = found.get(word, (Fraction(0), 0, one))
        found[word] = likely + chance[len(one)], times + 1, first
    return found
