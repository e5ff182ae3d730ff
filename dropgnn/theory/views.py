"""What is seen of a graph when nodes drop out: the multiset of 1-WL colours, or the colour of one node.

A view is known by a 64-bit word first. Words that differ prove that views differ. Words that agree prove nothing, so
where equality is claimed the colours themselves are compared (:func:`exact_labels`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations
from typing import NamedTuple

import numpy as np

from dropgnn.errors import InvalidArgument, one_of
from dropgnn.theory.enumerate import BUDGET, check_budget
from dropgnn.theory.loops import exact_round, hash_views

MODES = ("remove", "zero")
"""Dropped nodes vanish (the paper's definition), or are marked (its experiments: their features become zero)."""


@dataclass(frozen=True, eq=False)
class Structure:
    """A graph with coloured nodes, as theory sees it.

    Shapes:
        ptr ``[n + 1]``, neighbor ``[E]``: whom each node hears; colour ``[n]``.
    """

    ptr: np.ndarray
    neighbor: np.ndarray
    colour: np.ndarray

    @classmethod
    def of(cls, edge_index: np.ndarray, num_nodes: int, colour: Sequence[int] | np.ndarray | None = None) -> Structure:
        """From edges, sender to receiver, and colours, numbers from 0; without, all nodes look alike."""
        sender, receiver = np.asarray(edge_index, np.int64).reshape(2, -1)
        for end in (sender, receiver):
            wrong = (end < 0) | (end >= num_nodes)
            if wrong.any():
                raise InvalidArgument(
                    "edge_index",
                    f"must name nodes from 0 to {num_nodes - 1}",
                    got=int(end[wrong][0]),
                    hint="count from 0",
                )
        order = np.argsort(receiver, kind="stable")
        ptr = np.concatenate([[0], np.cumsum(np.bincount(receiver, minlength=num_nodes))])
        colours = np.asarray(np.zeros(num_nodes) if colour is None else colour, np.int64)
        if colours.shape != (num_nodes,) or (colours < 0).any():
            raise InvalidArgument(
                "colour", f"must be a number from 0 for each of {num_nodes} nodes", got=colours.tolist()[:10]
            )
        return cls(ptr.astype(np.int32), sender[order].astype(np.int32), colours)

    @classmethod
    def undirected(
        cls, edges: Sequence[tuple[int, int]], num_nodes: int, colour: Sequence[int] | None = None
    ) -> Structure:
        """From edges that are heard in both directions."""
        one = np.array(edges, np.int64).reshape(-1, 2).T
        return cls.of(np.concatenate([one, one[::-1][:, one[0] != one[1]]], axis=1), num_nodes, colour)

    @property
    def num_nodes(self) -> int:
        return self.colour.size

    @cached_property
    def is_undirected(self) -> bool:
        """Whether every edge is heard in both directions, as often."""
        there, back = (first * self.num_nodes + second for first, second in (self._ends, self._ends[::-1]))
        return np.array_equal(np.sort(there), np.sort(back))

    @cached_property
    def is_simple(self) -> bool:
        """Whether no edge is there twice."""
        receiver, sender = self._ends
        return np.unique(receiver * self.num_nodes + sender).size == sender.size

    @cached_property
    def has_loops(self) -> bool:
        receiver, sender = self._ends
        return bool((receiver == sender).any())

    @property
    def _ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Receivers and senders of all edges."""
        receiver = np.repeat(np.arange(self.num_nodes, dtype=np.int64), np.diff(self.ptr))
        return receiver, self.neighbor.astype(np.int64)

    def padded(self, num_nodes: int) -> Structure:
        """The same graph with isolated nodes behind its own, so many in all; nobody hears them."""
        more = num_nodes - self.num_nodes
        return Structure(np.pad(self.ptr, (0, more), mode="edge"), self.neighbor, np.pad(self.colour, (0, more)))


def dropped_sets(structure: Structure, k: int, *, budget: int | None = BUDGET) -> np.ndarray:
    """All sets of exactly k nodes, ``[M, k]``; without a budget, however many they are."""
    if budget is not None:
        check_budget(structure.num_nodes, k, budget)
    flat = np.fromiter(chain.from_iterable(combinations(range(structure.num_nodes), k)), np.int32)
    return flat.reshape(-1, k) if k else np.empty((1, 0), np.int32)


class Words(NamedTuple):
    """Words for views: copy ``[M]``, the colours in each copy; node ``[n]``, what each node sees over all copies; pair
    ``[M, n]``, what each node sees in each copy, where asked for."""

    copy: np.ndarray
    node: np.ndarray
    pair: np.ndarray


def view_words(
    structure: Structure,
    sets: np.ndarray,
    *,
    depth: int | None = None,
    mode: str = "remove",
    knows_itself: bool = True,
    keep: bool = False,
) -> Words:
    """Words for what is seen, equal where the views are equal.

    Args:
        structure: The graph.
        sets: What is dropped in each copy, ``[M, k]``.
        depth: Rounds of refinement, the layers of a GNN; by default until nothing changes any more.
        mode: ``"remove"`` or ``"zero"``.
        knows_itself: As for :func:`~dropgnn.theory.wl.refine`; without, a depth must be given.
        keep: Whether what each node sees in each copy is wanted, too.
    """
    check_mode(mode)
    if depth is None and not (knows_itself and structure.is_undirected):
        raise InvalidArgument(
            "depth", "must be given where edges have a direction, or where nodes do not know themselves", got=None
        )
    rounds = -1 if depth is None else depth
    graph = (structure.ptr, structure.neighbor, structure.colour)
    return Words(*hash_views(*graph, sets, rounds, mode == "remove", knows_itself, keep))


def exact_labels(
    structures: Sequence[Structure], sets: Sequence[np.ndarray], *, depth: int | None = None, mode: str = "remove"
) -> list[np.ndarray]:
    """The colour of every node in every copy of every graph, ``[M, n]`` for each, equal if and only if 1-WL cannot tell
    the nodes apart; -1 where a node is absent."""
    check_mode(mode)
    width = max(structure.num_nodes for structure in structures)
    ptr, neighbor = _join(structures, width)
    graph = np.repeat(np.arange(len(sets)), [len(chosen) for chosen in sets])
    labels = np.concatenate([_initial(*pair, width, mode) for pair in zip(structures, sets, strict=True)])
    classes, rounds = 0, 0
    while depth is None or rounds < depth:
        labels, count = exact_round(ptr, neighbor, graph, labels)
        rounds += 1
        if depth is None and count == classes:
            break
        classes = count
    return [labels[graph == number, : structure.num_nodes] for number, structure in enumerate(structures)]


def check_mode(mode: str) -> None:
    one_of("mode", mode, MODES)


def _initial(structure: Structure, sets: np.ndarray, width: int, mode: str) -> np.ndarray:
    """The colours of all copies, ``[M, width]``: -1 where a node is absent, 0 where it is marked."""
    labels = np.full((len(sets), width), -1, np.int32)
    labels[:, : structure.num_nodes] = structure.colour + 1
    copy, position = np.nonzero(sets >= 0)
    labels[copy, sets[copy, position]] = -1 if mode == "remove" else 0
    return labels


def _join(structures: Sequence[Structure], width: int) -> tuple[np.ndarray, np.ndarray]:
    """Whom the nodes of all graphs hear: ptr ``[G, width + 1]`` into one list of neighbours."""
    starts = np.cumsum([0] + [structure.neighbor.size for structure in structures[:-1]])
    ptr = [np.pad(graph.ptr, (0, width - graph.num_nodes), mode="edge") for graph in structures]
    return np.stack(ptr) + starts[:, None], np.concatenate([structure.neighbor for structure in structures])
