r"""Can DropGNN tell two graphs apart, and how many nodes must drop for it? A proof instead of a training run.

A DropGNN collects for every node what it sees over all runs, and then adds up over the nodes. So two graphs are separated
by dropouts of up to k nodes if the multisets over nodes of (the multisets over dropped sets of 1-WL colours) differ. That
they differ is proved by words; that they agree, which is what makes k the *smallest*, by comparing colours themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from dropgnn.errors import DropGNNError, InvalidArgument, whole_number
from dropgnn.theory.dropouts import Dropouts, symmetry_pays
from dropgnn.theory.enumerate import BUDGET
from dropgnn.theory.telling import Telling, most_telling
from dropgnn.theory.views import Structure, check_mode, exact_labels

Progress = Callable[[str], None]

MOST_PAIRS = 50_000_000
"""The largest number of (node, copy) pairs whose colours are compared one by one: 400 MB."""


@dataclass(frozen=True)
class Verdict:
    """What can be said about a pair; ``print`` says it.

    Args:
        k: The smallest number of nodes that must drop; 0 where 1-WL separates the pair; ``None`` where no k tried does.
        tried: The largest k tried.
        subsets: How many dropped sets each graph has up to that k.
        depth: Rounds of refinement, ``None`` for as many as make a difference.
        mode: What dropping did.
        p: The dropout probability that probabilities and runs are for.
        telling: The most telling view, where the pair is separated by dropouts; ``None`` also where it was not to be looked
            for, or among too many sets.
        proved: Whether it was checked colour by colour that smaller k do not separate, not by words alone; where that
            would take too much memory it is not.
    """

    k: int | None
    tried: int
    subsets: int
    depth: int | None
    mode: str
    p: Fraction
    telling: Telling | None
    proved: bool = True

    @property
    def wl(self) -> bool:
        """Whether 1-WL separates the pair without any dropout."""
        return self.k == 0

    def __str__(self) -> str:
        depth = "any depth" if self.depth is None else f"depth {self.depth}"
        if self.wl:
            return f"1-WL separates the pair ({depth}): no dropout is needed"
        if self.k is None:
            return f"no dropout of up to {self.tried} nodes separates the pair ({depth}, {self.subsets:,} dropped sets each)"
        what = "1 node" if self.k == 1 else f"{self.k} nodes"
        proof = "and no fewer" if self.proved else "and no fewer as far as 64-bit words can tell"
        lines = [f"1-WL does not separate the pair; dropouts of {what} do ({depth}), {proof}"]
        return "\n".join(lines + self._about_the_telling_view())

    def _about_the_telling_view(self) -> list[str]:
        if self.telling is None:
            return ["its most telling view was not looked for"]
        telling, (a, b) = self.telling, self.telling.probability
        where = "" if telling.nodes is None else " as seen from one node"
        return [
            f"most telling view{where}: {telling.times[0]} dropped sets show it in A, {telling.times[1]} in B; with p = {self.p} "
            f"that is {float(a):.3g} against {float(b):.3g}",
            f"about {telling.runs:,} runs tell the pair apart with error 1 % on either side",
        ]


def distinguish(
    a: Structure,
    b: Structure,
    *,
    nodes: tuple[int, int] | None = None,
    max_k: int = 3,
    depth: int | None = None,
    mode: str = "remove",
    p: Fraction | None = None,
    budget: int = BUDGET,
    symmetric: bool | None = None,
    telling: bool = True,
    on_size: Progress | None = None,
) -> Verdict:
    """The smallest k whose k-dropouts separate two graphs, or two nodes.

    Args:
        a, b: The graphs.
        nodes: A node of each, to compare what these two see; by default whole graphs are compared. Graphs may then be of
            different size: the smaller one gets isolated nodes, or its nodes would see nothing drop less often.
        max_k: Try dropouts of up to so many nodes.
        depth: Rounds of message passing; by default as many as make a difference.
        mode: ``"remove"`` or ``"zero"``.
        p: For probabilities and runs; by default the paper's p* = 1/(1 + gamma), gamma = n - 1.
        budget: The largest number of dropped sets per graph.
        symmetric: Whether to try only one of the dropped sets that automorphisms map onto each other, which needs pynauty;
            by default where it is installed and there are many sets.
        telling: Whether to look for the most telling view.
        on_size: Told what is being done.

    >>> two_triangles = Structure.undirected([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)], 6)
    >>> hexagon = Structure.undirected([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0)], 6)
    >>> print(distinguish(two_triangles, hexagon))
    1-WL does not separate the pair; dropouts of 1 node do (any depth), and no fewer
    most telling view: 6 dropped sets show it in A, 0 in B; with p = 1/6 that is 0.402 against 0
    about 42 runs tell the pair apart with error 1 % on either side
    """
    check_mode(mode)
    max_k = whole_number("max_k", max_k, least=0)
    depth = None if depth is None else whole_number("depth", depth, least=0)
    for name, graph, node in zip("ab", (a, b), nodes or (None, None), strict=True):
        if node is not None and not 0 <= node < graph.num_nodes:
            raise InvalidArgument("nodes", f"must name one of the {graph.num_nodes} nodes of {name}", got=node)
    size = max(a.num_nodes, b.num_nodes)
    if p is not None and not 0 < p < 1:
        raise InvalidArgument("p", "must lie between 0 and 1", got=p)
    p = Fraction(1, max(size, 1)) if p is None else p
    if nodes is not None:
        a, b = a.padded(size), b.padded(size)
    asked = depth
    if depth is None and not (a.is_undirected and b.is_undirected):
        depth = a.num_nodes + b.num_nodes  # after so many rounds nothing changes any more
    profiles = [np.zeros(graph.num_nodes, np.uint64) for graph in (a, b)]
    tried: list[tuple[Dropouts, Dropouts]] = []
    subsets, proved = 0, True
    for k in range(min(max_k, size) + 1):
        if on_size is not None:
            on_size(f"dropouts of {k}")
        one_of_each_kind = symmetry_pays((a, b), k) if symmetric is None else symmetric
        first, second = (Dropouts.of(graph, k, symmetric=one_of_each_kind, budget=budget) for graph in (a, b))
        tried.append((first, second))
        subsets += max(dropouts.count for dropouts in tried[-1])
        profiles = [
            profile * np.uint64(0xD1342543DE82EF95) + dropouts.words(depth=depth, mode=mode)
            for profile, dropouts in zip(profiles, tried[-1], strict=True)
        ]
        if _differ(profiles, nodes):
            view = None
            if k and telling:
                view = most_telling(
                    (a, b), k, profiles, nodes, depth=depth, mode=mode, p=p, most_sets=budget, most_pairs=MOST_PAIRS
                )
            return Verdict(k, k, subsets, asked, mode, p, view, proved)
        if sum(dropouts.pairs for both in tried for dropouts in both) > MOST_PAIRS:
            proved = False
        elif not _agree_exactly(tried, nodes, depth, mode):
            raise DropGNNError(
                "two different views share a 64-bit word, which should never happen; please report the pair"
            )
    return Verdict(None, max_k, subsets, asked, mode, p, None, proved)


def _differ(profiles: Sequence[np.ndarray], nodes: tuple[int, int] | None) -> bool:
    if nodes is not None:
        return bool(profiles[0][nodes[0]] != profiles[1][nodes[1]])
    return not np.array_equal(np.sort(profiles[0]), np.sort(profiles[1]))


def _agree_exactly(
    tried: Sequence[tuple[Dropouts, Dropouts]], nodes: tuple[int, int] | None, depth: int | None, mode: str
) -> bool:
    """Whether the views over all dropped sets tried so far agree, colour by colour."""
    most = max(both[0].sets.shape[1] for both in tried)
    sides = [[both[side] for both in tried] for side in (0, 1)]
    padded = [
        np.concatenate([np.pad(one.sets, ((0, 0), (0, most - one.sets.shape[1])), constant_values=-1) for one in side])
        for side in sides
    ]
    labels = exact_labels([side[0].structure for side in sides], padded, depth=depth, mode=mode)
    seen = []
    for side, colours in zip(sides, labels, strict=True):
        first, views = 0, [b""] * side[0].structure.num_nodes
        for one in side:
            found = one.collect(colours[first : first + len(one.sets)])
            views = [view + more for view, more in zip(views, found, strict=True)]
            first += len(one.sets)
        seen.append(views)
    if nodes is not None:
        return seen[0][nodes[0]] == seen[1][nodes[1]]
    return sorted(seen[0]) == sorted(seen[1])
