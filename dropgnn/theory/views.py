"""What is seen of a graph when nodes drop out: the multiset of 1-WL colours, or the colour of one node.

A view is known by a 64-bit word first. Words that differ prove that views differ. Words that agree prove nothing, so
where equality is claimed the colours themselves are compared (:func:`exact_labels`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain, combinations
from typing import NamedTuple

import numpy as np

from dropgnn.errors import InvalidArgument, one_of, whole_number
from dropgnn.theory.checks import flag, shown, whole_numbers
from dropgnn.theory.enumerate import BUDGET, check_budget
from dropgnn.theory.loops import exact_round, hash_views
from dropgnn.theory.structure import Structure as Structure
from dropgnn.theory.structure import a_structure

MODES = ("remove", "zero")
"""Dropped nodes vanish (the paper's definition), or are marked (its experiments: their features become zero)."""

MOST_ROUNDS = 100_000
"""The largest number of rounds that may be asked for by number."""


def dropped_sets(structure: Structure, k: int, *, budget: int = BUDGET) -> np.ndarray:
    """All sets of exactly k nodes, ``[M, k]``."""
    a_structure("structure", structure)
    check_budget(structure.num_nodes, k, budget)
    if k > structure.num_nodes:
        return np.empty((0, structure.num_nodes + 1), np.int32)
    flat = np.fromiter(chain.from_iterable(combinations(range(structure.num_nodes), k)), np.int32)
    return flat.reshape(-1, k) if k else np.empty((1, 0), np.int32)


def joined(sets: Sequence[np.ndarray]) -> np.ndarray:
    """Dropped sets of several sizes, ``[M, largest]``, padded with -1."""
    most = max(one.shape[1] for one in sets)
    return np.concatenate([np.pad(one, ((0, 0), (0, most - one.shape[1])), constant_values=-1) for one in sets])


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
    a_structure("structure", structure)
    sets = _checked_sets(structure, sets)
    knows_itself, keep = flag("knows_itself", knows_itself), flag("keep", keep)
    if depth is None and not (knows_itself and structure.is_undirected):
        raise InvalidArgument(
            "depth", "must be given where edges have a direction, or where nodes do not know themselves", got=None
        )
    rounds = -1 if depth is None else whole_number("depth", depth, least=0)
    if rounds > MOST_ROUNDS:
        hint = "after as many rounds as there are nodes nothing changes any more"
        raise InvalidArgument("depth", f"must be at most {MOST_ROUNDS:,}", got=shown(depth), hint=hint)
    graph = (structure.ptr, structure.neighbor, structure.kinds, structure.colour)
    return Words(*hash_views(*graph, sets, rounds, mode == "remove", knows_itself, keep))


def exact_labels(
    structures: Sequence[Structure], sets: Sequence[np.ndarray], *, depth: int | None = None, mode: str = "remove"
) -> list[np.ndarray]:
    """The colour of every node in every copy of every graph, ``[M, n]`` for each, equal if and only if 1-WL cannot tell
    the nodes apart; -1 where a node is absent."""
    check_mode(mode)
    rounds = math.inf if depth is None else whole_number("depth", depth, least=0)
    copies = Copies.of(structures, sets, mode)
    labels, changing = copies.labels, True
    while changing and rounds > 0:
        refined = copies.hear(labels)
        changing = not np.array_equal(
            refined, labels
        )  # numbered in the order they come, equal classes have equal numbers
        labels, rounds = refined, rounds - 1
    return copies.split(labels)


class Copies(NamedTuple):
    """All copies of several graphs, side by side in graphs of the same width.

    Shapes:
        ptr ``[G, width + 1]``, neighbor and kind ``[E]`` of all graphs, graph ``[M]``, and labels ``[M, width]``: what nodes
        look like before the first round, from 1; 0 where they are marked, -1 where they are absent.
    """

    structures: Sequence[Structure]
    ptr: np.ndarray
    neighbor: np.ndarray
    kind: np.ndarray
    graph: np.ndarray
    labels: np.ndarray

    @classmethod
    def of(cls, structures: Sequence[Structure], sets: Sequence[np.ndarray], mode: str) -> Copies:
        if not isinstance(structures, Sequence) or not isinstance(sets, Sequence) or not structures:
            raise InvalidArgument("structures", "must be a list, and sets another", got=shown(structures))
        if len(structures) != len(sets):
            got = f"{len(sets)} lists for {len(structures)} graphs"
            raise InvalidArgument("sets", "must be a list of dropped sets for each graph", got=got)
        for structure in structures:
            a_structure("structures", structure)
        sets = [_checked_sets(*pair) for pair in zip(structures, sets, strict=True)]
        width = max(structure.num_nodes for structure in structures)
        starts = np.cumsum([0] + [structure.neighbor.size for structure in structures[:-1]])
        ptr = [np.pad(graph.ptr, (0, width - graph.num_nodes), mode="edge") for graph in structures]
        neighbor, kind = (
            np.concatenate([getattr(structure, name) for structure in structures]) for name in ("neighbor", "kinds")
        )
        shades, colour = np.unique(np.concatenate([one.colour for one in structures]), return_inverse=True)
        kinds, kind = np.unique(kind, return_inverse=True)
        graph = np.repeat(np.arange(len(sets)), [len(chosen) for chosen in sets])
        if (graph.size * width + shades.size + 1) * kinds.size >= 2**31:
            got = f"{graph.size * width:,} times {kinds.size:,}"
            raise InvalidArgument("sets", "must have fewer than 2^31 (node, copy) pairs times kinds of edges", got=got)
        colours = np.split(colour.astype(np.int32).ravel() + 1, np.cumsum([one.num_nodes for one in structures])[:-1])
        labels = [_initial(*both, width, mode) for both in zip(colours, sets, strict=True)]
        return cls(structures, np.stack(ptr) + starts[:, None], neighbor, kind, graph, np.concatenate(labels))

    @property
    def kinds(self) -> int:
        return int(self.kind.max(initial=0)) + 1

    def hear(self, labels: np.ndarray) -> np.ndarray:
        """One round of refinement."""
        return exact_round(self.ptr, self.neighbor, self.kind, self.kinds, self.graph, labels)[0]

    def split(self, labels: np.ndarray) -> list[np.ndarray]:
        """The labels ``[M, n]`` of each graph."""
        return [labels[self.graph == number, : one.num_nodes] for number, one in enumerate(self.structures)]


def check_mode(mode: str) -> None:
    one_of("mode", mode if isinstance(mode, str) else shown(mode), MODES)


def _initial(colour: np.ndarray, sets: np.ndarray, width: int, mode: str) -> np.ndarray:
    """The colours of all copies, ``[M, width]``: -1 where a node is absent, 0 where it is marked."""
    labels = np.full((len(sets), width), -1, np.int32)
    labels[:, : colour.size] = colour
    copy, position = np.nonzero(sets >= 0)
    labels[copy, sets[copy, position]] = -1 if mode == "remove" else 0
    return labels


def _checked_sets(structure: Structure, sets: np.ndarray) -> np.ndarray:
    rule = f"must be whole numbers of shape [M, k], nodes from 0 to {structure.num_nodes - 1}, or -1"
    chosen = whole_numbers("sets", sets, rule, ndim=2)
    wrong = (chosen < -1) | (chosen >= structure.num_nodes)
    if wrong.any():
        raise InvalidArgument("sets", rule, got=int(chosen[wrong][0]))
    return np.ascontiguousarray(chosen, np.int32)
