r"""What GIN can see, for a given epsilon: the strongest GIN, with MLPs that may be any function.

A layer is :math:`x_v^{(l+1)} = f_l\big((1 + \varepsilon) x_v^{(l)} + \sum_{u \in N(v)} x_u^{(l)}\big)`. The rows of the first
layer are those of the input, one-hot in the colours of nodes, and 0 where a node is zeroed: what is zeroed adds nothing. The
strongest :math:`f_l` gives different sums different values that are linearly independent over the rational numbers. So two
nodes look alike after a layer if and only if their sums agree as *formal* sums of what nodes looked like before. Those are
what is compared here, exactly.

As in :class:`~dropgnn.GIN`, a node's embedding is its input row and the rows of all layers, side by side, and the mean over
runs is taken of each: from it follows, for each layer, the multiset over runs of what the node looks like, and no more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from dropgnn.errors import Unsupported
from dropgnn.theory.checks import real
from dropgnn.theory.dropouts import Dropouts, all_sets, views_over, word
from dropgnn.theory.telling import Look
from dropgnn.theory.views import Copies, Structure, Words


def checked_eps(eps: Any) -> Fraction:
    """An epsilon as a fraction. At -1 a node does not hear itself; below, sums of multisets could cancel."""
    real("eps", eps, "must be a number of at least -1", lambda value: value >= -1)
    return Fraction(eps if isinstance(eps, int | float | Fraction) else float(eps))


def gin_layers(
    structures: Sequence[Structure], sets: Sequence[np.ndarray], *, eps: Fraction, depth: int | None, mode: str
) -> Iterator[list[np.ndarray]]:
    """What every node of every copy looks like before the first layer and after each: numbers ``[M, n]`` for each graph, equal
    where nodes look alike, -1 where a node is absent. Ends after ``depth`` layers, or where layers begin to repeat."""
    if any(structure.has_kinds for structure in structures):
        raise Unsupported("GIN does not read the colours of edges: leave them out, or do not give an eps")
    copies = Copies.of(structures, sets, mode)
    absent = copies.labels < 0
    yield copies.split(copies.labels)
    itself = 1 + eps
    degree = max(int(np.diff(copies.ptr).max(initial=0)), 0)
    knows_itself = itself.denominator != 1 or itself > degree  # the part of a sum that cannot come from neighbours
    wide = _listening(copies, 0 if knows_itself else int(itself))
    labels = copies.labels
    speaking = np.where(labels > 0, labels, -1)  # nobody hears a row that is 0
    earlier, layer = None, 0
    while depth is None or layer < depth:
        listening = np.where(absent, -1, labels if knows_itself else 0).astype(np.int32)
        heard = wide.hear(np.concatenate([speaking, listening], axis=1).astype(np.int32))[:, labels.shape[1] :]
        labels = speaking = _numbered(heard)
        layer += 1
        yield copies.split(labels)
        if earlier is not None and np.array_equal(labels, earlier):
            return
        if layer & (layer - 1) == 0:
            earlier = labels


def gin_profiles(
    tried: Sequence[tuple[Dropouts, Dropouts]], *, eps: Fraction, depth: int | None, mode: str
) -> tuple[list[list[np.ndarray]], list[np.ndarray]]:
    """Numbers for what the nodes of two graphs see over all dropped sets: at each layer, and at all layers together."""
    graphs = [one.structure for one in tried[0]]
    numbers: dict[tuple[int, int | bytes], int] = {}
    layers: list[list[np.ndarray]] = []
    together = [np.zeros(graph.num_nodes, np.int64) for graph in graphs]
    for layer, labels in enumerate(gin_layers(graphs, all_sets(tried), eps=eps, depth=depth, mode=mode)):
        seen = [
            [numbers.setdefault((-layer, view), len(numbers)) for view in side] for side in views_over(tried, labels)
        ]
        layers.append([np.array(side, np.int64) for side in seen])
        together = [
            np.array(
                [numbers.setdefault((1 + int(before), view), len(numbers)) for before, view in zip(*both, strict=True)],
                np.int64,
            )
            for both in zip(together, seen, strict=True)
        ]
    return layers, together


def gin_look(layer: int, *, eps: Fraction, mode: str) -> Look:
    """What is seen at one layer."""

    def look(graphs: Sequence[Structure], sets: Sequence[np.ndarray], keep: bool) -> list[Words]:
        *_, labels = gin_layers(graphs, sets, eps=eps, depth=layer, mode=mode)
        nothing = np.empty(0, np.uint64)
        return [Words(np.array([word(np.sort(row).tobytes()) for row in one]), nothing, one) for one in labels]

    return look


def _listening(copies: Copies, times: int) -> Copies:
    """Every node twice: one that is heard, and one that hears what the node hears, and the node itself so many times."""
    graphs, width = copies.ptr.shape[0], copies.ptr.shape[1] - 1
    ptr, neighbor = np.zeros((graphs, 2 * width + 1), np.int64), [np.empty(0, np.int64)]
    start = 0
    for graph in range(graphs):
        ptr[graph, : width + 1] = start
        for node in range(width):
            heard = copies.neighbor[copies.ptr[graph, node] : copies.ptr[graph, node + 1]]
            neighbor += [heard, np.full(times, node, np.int64)]
            start += heard.size + times
            ptr[graph, width + 1 + node] = start
    every = np.concatenate(neighbor)
    return copies._replace(ptr=ptr, neighbor=every, kind=np.zeros(every.size, np.int64))


def _numbered(labels: np.ndarray) -> np.ndarray:
    """Labels numbered from 1 in the order they come, -1 where they are negative."""
    _, first, which = np.unique(labels.ravel(), return_index=True, return_inverse=True)
    place = np.empty(first.size, np.int32)
    place[np.argsort(first)] = np.arange(1, first.size + 1)
    return np.where(labels < 0, -1, place[which].reshape(labels.shape)).astype(np.int32)
