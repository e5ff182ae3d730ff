"""Why a trained model misses a pair of BREC, and whether it separates one that it cannot see.

The models mark dropped nodes (mode ``zero``), are GINs with epsilon = 0 and weigh all dropped sets alike, so that is what is
looked at here; the certificate removes dropped nodes and knows no layers.
"""

from __future__ import annotations

from collections import Counter
from itertools import combinations
from typing import Any

import networkx as nx
import numpy as np

from dropgnn.data.brec import BrecPair
from dropgnn.data.pairs import structure_of
from dropgnn.errors import Unsupported
from dropgnn.theory.distinguish import distinguish
from dropgnn.theory.views import Structure, dropped_sets, view_words
from dropgnn.theory.wl import Palette, refine


def dropped_by(method: str, row: dict[str, Any]) -> int:
    """How many nodes a method drops at most."""
    known = {"gin": 0, "exhaustive-1": 1, "exhaustive-2": row.get("k")}
    if method not in known:
        raise Unsupported(f"random runs drop any number of nodes; what {method} misses is a matter of chance")
    return int(known[method])  # type: ignore[arg-type]


def reason(pair: BrecPair, row: dict[str, Any], *, k: int, layers: int) -> str | None:
    """Why the pair is missed, in words; ``None`` where it is separated, as it should be.

    Args:
        pair: The two graphs.
        row: What training found.
        k: How many nodes the model drops at most.
        layers: Of the model.
    """
    separated = row["separated"] and row["reliable"]
    a, b = structure_of(pair.a), structure_of(pair.b)
    if distinguish(a, b, max_k=k, mode="zero", telling=False).k is None:
        return "separated, but no GNN can: rounding" if separated else f"takes more than {k} dropped nodes"
    layer = first_layer(pair, k, layers)
    if layer is None:
        return (
            "separated, but no GIN can: rounding"
            if separated
            else f"not seen by {layers} layers of GIN with epsilon = 0"
        )
    return None if separated else f"seen from layer {layer} on, but the numbers are too close: T² = {row['t2']:.1e}"


def first_layer(pair: BrecPair, k: int, layers: int) -> int | None:
    """After which layer of a GIN with epsilon = 0 the views of nodes over all dropouts of up to k nodes differ, if ever.

    Different words are a proof. Where they agree after all layers, the colours themselves are compared.
    """
    words = [_words(structure_of(graph), k, layers) for graph in (pair.a, pair.b)]
    for layer in range(1, layers + 1):
        a, b = (word[:layer][:, np.lexsort(word[:layer])] for word in words)
        if not np.array_equal(a, b):
            return layer
    palette = Palette()
    same = _profiles(pair.a, k, layers, palette) == _profiles(pair.b, k, layers, palette)
    return None if same else layers


def _words(graph: Structure, k: int, layers: int) -> np.ndarray:
    """What every node sees after each layer over all dropped sets together, as words, ``[layers, n]``."""
    words = np.zeros((layers, graph.num_nodes), np.uint64)
    for size in range(k + 1):
        sets = dropped_sets(graph, size)
        for layer in range(layers):
            words[layer] += view_words(graph, sets, depth=layer + 1, mode="zero", knows_itself=False).node
    return words


def _profiles(graph: nx.Graph, k: int, layers: int, palette: Palette) -> Counter[tuple[tuple[int, ...], ...]]:
    """The same as colours."""
    nodes = sorted(graph)
    number = {node: index for index, node in enumerate(nodes)}
    heard = [[number[other] for other in graph[node]] for node in nodes]
    seen: list[list[list[int]]] = [[[] for _ in range(layers)] for _ in nodes]
    for size in range(k + 1):
        for dropped in combinations(range(len(nodes)), size):
            labels = [node in dropped for node in range(len(nodes))]
            for layer in range(layers):
                for node, colour in enumerate(refine(heard, labels, layer + 1, palette, knows_itself=False)):
                    seen[node][layer].append(colour)
    return Counter(tuple(tuple(sorted(colours)) for colours in views) for views in seen)
