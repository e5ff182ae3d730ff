"""The 1-WL test, exactly: colours are nested tuples turned into numbers by a dictionary, never by a hash alone.

Two nodes get the same number if and only if d rounds of *any* message-passing GNN must give them the same embedding.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence

Signature = tuple[int, tuple[int, ...]]


class Palette:
    """Hands out one number per distinct colour, for all graphs that are to be compared with each other."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}

    def number(self, colour: Hashable) -> int:
        return self._numbers.setdefault(colour, len(self._numbers))


def refine(
    neighbors: Sequence[Sequence[int]],
    labels: Sequence[Hashable],
    rounds: int,
    palette: Palette,
    *,
    knows_itself: bool = True,
) -> list[int]:
    """Colours of all nodes after ``rounds`` rounds of colour refinement.

    Args:
        neighbors: For each node the nodes it hears, repeated as often as there are edges.
        labels: The initial colours.
        rounds: How many times each node looks at its neighbours.
        palette: Shared by all graphs to be compared.
        knows_itself: Whether a node tells its own colour from those it hears. GIN with epsilon = 0 does not: it adds its own
            row to theirs. That sees less than 1-WL.

    >>> palette = Palette()
    >>> path, triangle = [[1], [0, 2], [1]], [[1, 2], [0, 2], [0, 1]]
    >>> refine(path, "aaa", 1, palette), refine(triangle, "aaa", 1, palette)
    ([1, 2, 1], [2, 2, 2])
    """
    colours = [palette.number(("label", label)) for label in labels]
    for _ in range(rounds):
        signatures: list[Signature] = [
            (colours[node], _sorted(colours, heard)) if knows_itself else (-1, _sorted(colours, [*heard, node]))
            for node, heard in enumerate(neighbors)
        ]
        colours = [palette.number(signature) for signature in signatures]
    return colours


def _sorted(colours: Sequence[int], nodes: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(colours[node] for node in nodes))


def equivalent(
    a: tuple[Sequence[Sequence[int]], Sequence[Hashable]], b: tuple[Sequence[Sequence[int]], Sequence[Hashable]]
) -> bool:
    """Whether 1-WL fails to tell two labelled graphs apart, given as (neighbors, labels)."""
    palette = Palette()
    rounds = max(len(a[0]), len(b[0]))
    return Counter(refine(*a, rounds, palette)) == Counter(refine(*b, rounds, palette))
