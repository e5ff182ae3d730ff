"""Why a trained model misses a pair of BREC that dropouts separate."""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np

from dropgnn.data.brec import BrecPair
from dropgnn.data.pairs import structure_of
from dropgnn.theory.distinguish import distinguish
from dropgnn.theory.views import Structure, dropped_sets, view_words
from dropgnn.theory.wl import Palette, refine


def reason(pair: BrecPair, row: dict[str, Any], smallest_k: int, *, k: int, layers: int) -> str:
    """In words: too few dropped nodes, too few layers, a GIN that does not know itself, or numbers too close.

    Args:
        pair: The two graphs.
        row: What training found.
        smallest_k: How many dropped nodes it takes, by the certificate.
        k: How many the model drops at most.
        layers: Of the model.
    """
    if smallest_k > k:
        return f"takes {smallest_k} dropped nodes, the model drops {k}"
    depth = _depth(pair, smallest_k, layers)
    if depth is None:
        return f"not seen within {layers} layers"
    if not _gin_sees(pair, smallest_k, layers) and not (k > smallest_k and _gin_sees(pair, k, layers)):
        return "not seen by a GIN with epsilon = 0, for which a node is one of its neighbours"
    return f"seen from layer {depth} on, but the numbers are too close: T² = {row['t2']:.1e}"


def dropped_by(method: str, row: dict[str, Any]) -> int:
    """How many nodes a method drops at most; random runs any number."""
    return {"gin": 0, "exhaustive-1": 1, "exhaustive-2": row["k"]}.get(method, row["nodes"])


def _depth(pair: BrecPair, k: int, layers: int) -> int | None:
    a, b = structure_of(pair.a), structure_of(pair.b)
    for depth in range(1, layers + 1):
        if distinguish(a, b, max_k=k, depth=depth, mode="zero", telling=False).k is not None:
            return depth
    return None


def _gin_sees(pair: BrecPair, k: int, layers: int) -> bool:
    """Whether the views of nodes over all dropouts of up to k nodes differ for a GIN with epsilon = 0.

    Different words are a proof; where they agree, the colours themselves are compared.
    """
    a, b = (_words(structure_of(graph), k, layers) for graph in (pair.a, pair.b))
    if not np.array_equal(a, b):
        return True
    palette = Palette()
    return _profiles(pair.a, k, layers, palette) != _profiles(pair.b, k, layers, palette)


def _words(graph: Structure, k: int, layers: int) -> np.ndarray:
    """What every node sees over the dropouts of each size, as words, in an order that does not depend on the nodes'."""
    sizes = (dropped_sets(graph, size) for size in range(k + 1))
    words = np.stack([view_words(graph, sets, depth=layers, mode="zero", knows_itself=False).node for sets in sizes])
    return words[:, np.lexsort(words)]


def _profiles(graph: nx.Graph, k: int, layers: int, palette: Palette) -> Counter[tuple[int, ...]]:
    nodes = sorted(graph)
    number = {node: index for index, node in enumerate(nodes)}
    heard = [[number[other] for other in graph[node]] for node in nodes]
    seen: list[list[int]] = [[] for _ in nodes]
    for size in range(k + 1):
        for dropped in combinations(range(len(nodes)), size):
            labels = [node in dropped for node in range(len(nodes))]
            for node, colour in enumerate(refine(heard, labels, layers, palette, knows_itself=False)):
                seen[node].append(colour)
    return Counter(tuple(sorted(colours)) for colours in seen)
