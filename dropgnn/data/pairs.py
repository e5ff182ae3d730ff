"""Pairs of graphs to tell apart, by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import networkx as nx
import numpy as np
from torch_geometric.data import Data

from dropgnn.data.brec import load_brec
from dropgnn.data.synthetic import task
from dropgnn.errors import DataProblem
from dropgnn.theory.paper import example1, example2, figure3
from dropgnn.theory.paper.dropping import Neighbors
from dropgnn.theory.views import Structure

Pair = tuple[Structure, Structure]

COLLECTIONS: dict[str, str] = {
    "brec:N": "pair N of BREC, 0 to 399",
    "figure3:L": "Figure 3 with cycles of length L",
    "example1": "two 4-cycles and an 8-cycle",
    "example2": "two triangles and a ladder",
    "limits1": "the two structures of Limits 1, with their colours",
    "limits2": "the two structures of Limits 2, with their colours",
}


def named_pair(name: str, data: Path | None = None) -> Pair:
    """A pair out of a collection.

    >>> [graph.num_nodes for graph in named_pair("figure3:5")]
    [11, 11]
    """
    kind, _, number = name.partition(":")
    makers: dict[str, Callable[[], Pair]] = {
        "brec": lambda: _brec(_whole(number, 400, name), data),
        "figure3": lambda: figure3.pair(_whole(number, 50, name))[:2],
        "example1": lambda: (_of(example1.TWO_FOUR_CYCLES), _of(example1.EIGHT_CYCLE)),
        "example2": lambda: (_of(example2.TRIANGLES), _of(example2.LADDER)),
        "limits1": lambda: _limits("limits1"),
        "limits2": lambda: _limits("limits2"),
    }
    if kind not in makers or bool(number) != (kind in ("brec", "figure3")):
        known = "\n  ".join(f"{key:<10} {what}" for key, what in COLLECTIONS.items())
        raise DataProblem(f"'{name}' is neither a file nor a pair; pairs are\n  {known}")
    return makers[kind]()


def structure_of(graph: nx.Graph) -> Structure:
    """A networkx graph, its nodes numbered in its own order, all alike."""
    numbers = {node: number for number, node in enumerate(graph)}
    return Structure.undirected([(numbers[a], numbers[b]) for a, b in graph.edges()], len(numbers))


def as_structures(a: Data, b: Data) -> Pair:
    """Two graphs with their nodes coloured by ``tag`` or else by ``x``, where both have it."""
    colours: list[np.ndarray | None] = [None, None]
    for name in ("tag", "x"):
        if getattr(a, name, None) is not None and getattr(b, name, None) is not None:
            rows = [getattr(graph, name).reshape(graph.num_nodes, -1).numpy() for graph in (a, b)]
            _, colour = np.unique(np.concatenate(rows), axis=0, return_inverse=True)
            colours = [colour[: a.num_nodes].ravel(), colour[a.num_nodes :].ravel()]
            break
    first, second = (
        Structure.of(graph.edge_index.numpy(), graph.num_nodes, colour)
        for graph, colour in zip((a, b), colours, strict=True)
    )
    return first, second


def _brec(number: int, data: Path | None) -> Pair:
    pair = load_brec(data)[number]
    return structure_of(pair.a), structure_of(pair.b)


def _limits(name: str) -> Pair:
    """The graph of the task has both structures as components, with label 0 and label 1."""
    graphs = task(name, seed=0).graphs
    if len(graphs) == 2:
        return as_structures(graphs[0], graphs[1])
    (whole,) = graphs
    parts = [whole.subgraph(whole.y == label) for label in (0, 1)]
    return as_structures(*parts)


def _of(neighbors: Neighbors) -> Structure:
    return Structure.undirected([(a, b) for a, heard in enumerate(neighbors) for b in heard if a < b], len(neighbors))


def _whole(text: str, below: int, name: str) -> int:
    if not text.isdigit() or not int(text) < below:
        raise DataProblem(f"'{name}' must end in a number below {below}")
    return int(text)
