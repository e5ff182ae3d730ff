r"""Can DropGNN tell two graphs apart, and how many nodes must drop for it? A proof instead of a training run.

A DropGNN collects for every node what it sees over all runs, and then adds up over the nodes. So two graphs are separated
by dropouts of up to k nodes if the multisets over nodes of (the multisets over dropped sets of 1-WL colours) differ. That
they differ is proved by words; that they agree, which is what makes k the *smallest*, by comparing colours themselves.

That is what a DropGNN can see whose GNN is as strong as 1-WL. With ``eps`` the colours are those of GIN with that epsilon
(:mod:`dropgnn.theory.gin`), always compared themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dropgnn.errors import DropGNNError, InvalidArgument, whole_number
from dropgnn.theory.checks import flag, real, shown
from dropgnn.theory.dropouts import Dropouts, all_sets, symmetry_pays, views_over
from dropgnn.theory.enumerate import BUDGET, count_dropouts
from dropgnn.theory.gin import checked_eps, gin_look, gin_profiles
from dropgnn.theory.same import sameness
from dropgnn.theory.structure import a_structure
from dropgnn.theory.telling import Look, Telling, most_telling
from dropgnn.theory.verdict import Verdict as Verdict
from dropgnn.theory.views import Structure, Words, check_mode, exact_labels, view_words

Progress = Callable[[str], None]
Nodes = tuple[int, int] | None

MOST_PAIRS = 50_000_000
"""The largest number of (node, copy) pairs whose colours are compared one by one: 400 MB."""

MOST_GIN_PAIRS = 12_500_000
"""The same for GIN, where a pair takes four times the memory."""

DEEPEST = 10**9

LONGEST_P = 100_000
"""The largest number of digits, in base 2, of a probability to the power of the number of nodes."""


def distinguish(
    a: Structure,
    b: Structure,
    *,
    nodes: tuple[int, int] | None = None,
    max_k: int = 3,
    depth: int | None = None,
    mode: str = "remove",
    p: Fraction | None = None,
    eps: Fraction | float | None = None,
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
        eps: Decide it for GIN with this epsilon (0 in the paper) that reads the nodes' colours one-hot, see
            :mod:`dropgnn.theory.gin`; by default for a GNN as strong as 1-WL.
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
    true of GNNs as strong as 1-WL, such as GIN
    """
    check_mode(mode)
    symmetric = None if symmetric is None else flag("symmetric", symmetric)
    telling = flag("telling", telling)
    max_k = whole_number("max_k", max_k, least=0)
    depth = None if depth is None else whole_number("depth", depth, least=0)
    if depth is not None and depth > DEEPEST:
        raise InvalidArgument("depth", f"must be at most {DEEPEST:,}", got=shown(depth))
    budget = whole_number("budget", budget, least=1)
    size = max(a_structure("a", a).num_nodes, a_structure("b", b).num_nodes)
    nodes = None if nodes is None else _checked_nodes(nodes, a, b)
    p = _checked_probability(p, size)
    itself = None if eps is None else checked_eps(eps)
    coloured = any(graph.has_colours or graph.has_kinds for graph in (a, b))

    def verdict(k: int | None, *, telling: Telling | None = None, same: str | None = None) -> Verdict:
        last = min(max_k, size) if k is None else k
        return Verdict(k, last, subsets, depth, mode, p, telling, proved, itself, same, coloured)

    subsets, proved = 0, True
    if sameness(a, b, nodes, search=False) is not None:
        return verdict(None, same="equal")
    originals = a, b
    if nodes is not None:
        a, b = a.padded(size), b.padded(size)
    profiles = [np.zeros(graph.num_nodes, np.uint64) for graph in (a, b)]
    rounds = depth
    if depth is None and not (a.is_undirected and b.is_undirected):
        rounds = a.num_nodes + b.num_nodes
    if rounds is not None:
        rounds = min(rounds, a.num_nodes + b.num_nodes)  # after so many nothing changes any more
    look: Look | None = _wl_look(rounds, mode)
    tried: list[tuple[Dropouts, Dropouts]] = []
    for k in range(min(max_k, size) + 1):
        if on_size is not None:
            on_size(f"dropouts of {k}")
        one_of_each_kind = symmetry_pays((a, b), k) if symmetric is None else symmetric
        if not one_of_each_kind:
            _check_budget(k, size, budget)
        first, second = (Dropouts.of(graph, k, symmetric=one_of_each_kind, budget=budget) for graph in (a, b))
        tried.append((first, second))
        subsets += max(dropouts.count for dropouts in tried[-1])
        if itself is not None:
            _check_pairs(tried, MOST_GIN_PAIRS)
            profiles, look = _as_gin(tried, nodes, itself, depth, mode)
        else:
            profiles = [
                profile * np.uint64(0xD1342543DE82EF95) + dropouts.words(depth=rounds, mode=mode)
                for profile, dropouts in zip(profiles, tried[-1], strict=True)
            ]
        if _differ(profiles, nodes):
            view = None
            if k and telling and look is not None:
                most = MOST_PAIRS if itself is None else MOST_GIN_PAIRS
                view = most_telling((a, b), k, profiles, nodes, look=look, p=p, most_sets=budget, most_pairs=most)
            return verdict(k, telling=view)
        if itself is not None:
            continue
        if _pairs(tried) > MOST_PAIRS:
            proved = False
        elif not _agree_exactly(tried, nodes, rounds, mode):
            raise DropGNNError(
                "two different views share a 64-bit word, which should never happen; please report the pair"
            )
    return verdict(None, same=sameness(*originals, nodes))


def _differ(profiles: Sequence[np.ndarray], nodes: Nodes) -> bool:
    if nodes is not None:
        return bool(profiles[0][nodes[0]] != profiles[1][nodes[1]])
    return not np.array_equal(np.sort(profiles[0]), np.sort(profiles[1]))


def _agree_exactly(tried: Sequence[tuple[Dropouts, Dropouts]], nodes: Nodes, depth: int | None, mode: str) -> bool:
    """Whether the views over all dropped sets tried so far agree, colour by colour."""
    labels = exact_labels([one.structure for one in tried[0]], all_sets(tried), depth=depth, mode=mode)
    seen = views_over(tried, labels)
    if nodes is not None:
        return seen[0][nodes[0]] == seen[1][nodes[1]]
    return sorted(seen[0]) == sorted(seen[1])


def _wl_look(depth: int | None, mode: str) -> Look:
    def look(graphs: Sequence[Structure], sets: Sequence[np.ndarray], keep: bool) -> list[Words]:
        return [view_words(*both, depth=depth, mode=mode, keep=keep) for both in zip(graphs, sets, strict=True)]

    return look


def _as_gin(
    tried: Sequence[tuple[Dropouts, Dropouts]], nodes: Nodes, eps: Fraction, depth: int | None, mode: str
) -> tuple[list[np.ndarray], Look | None]:
    """Numbers for what nodes see at the first layer where they differ, and how to look at that; else at all layers."""
    layers, together = gin_profiles(tried, eps=eps, depth=depth, mode=mode)
    for layer, profiles in enumerate(layers):
        if _differ(profiles, nodes):
            return profiles, gin_look(layer, eps=eps, mode=mode)
    return together, None


def _pairs(tried: Sequence[tuple[Dropouts, Dropouts]]) -> int:
    return sum(dropouts.pairs for both in tried for dropouts in both)


def _check_pairs(tried: Sequence[tuple[Dropouts, Dropouts]], most: int) -> None:
    if _pairs(tried) > most:
        rule = f"must go with at most {most:,} (node, copy) pairs, which are compared one by one"
        raise InvalidArgument("eps", rule, got=f"{_pairs(tried):,}", hint=f"take max_k = {len(tried) - 2}")


def _check_budget(k: int, nodes: int, budget: int) -> None:
    count = count_dropouts(nodes, k)
    if count > budget:
        rule = f"must allow the {count:,} dropped sets of up to {k} of {nodes:,} nodes"
        hint = f"raise budget, or take max_k = {k - 1}" if k else "raise budget"
        raise InvalidArgument("budget", rule, got=budget, hint=hint)


def _checked_nodes(nodes: Any, a: Structure, b: Structure) -> tuple[int, int]:
    if not isinstance(nodes, tuple | list) or len(nodes) != 2:
        raise InvalidArgument("nodes", "must be a node of a and a node of b", got=shown(nodes))
    for name, graph, node in zip("ab", (a, b), nodes, strict=True):
        rule = f"must name one of the {graph.num_nodes} nodes of {name}"
        if not (isinstance(node, int) and not isinstance(node, bool) and 0 <= node < graph.num_nodes):
            raise InvalidArgument("nodes", rule, got=shown(node))
    return int(nodes[0]), int(nodes[1])


def _checked_probability(p: Any, size: int) -> Fraction:
    if p is None:
        return Fraction(1, max(size, 1))
    real("p", p, "must lie between 0 and 1", lambda value: 0 < value < 1)
    if size * Fraction(p).denominator.bit_length() > LONGEST_P:
        hint = "round it, e.g. with Fraction.limit_denominator"
        raise InvalidArgument("p", f"must be a shorter fraction for {size:,} nodes", got=shown(p), hint=hint)
    return p
