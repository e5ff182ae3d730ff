"""Pairs of graphs to tell apart, by name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dropgnn.errors import DataProblem, of_kind
from dropgnn.theory.paper.dropping import Neighbors
from dropgnn.theory.structure import Structure

if TYPE_CHECKING:  # these take seconds to import, and a wrong name is to be answered at once
    import networkx as nx
    from torch_geometric.data import Data

Pair = tuple[Structure, Structure]

COLLECTIONS: dict[str, str] = {
    "brec:N": "pair N of BREC, 0 to 399",
    "figure3:L": "Figure 3 with cycles of length L, 3 to 49",
    "example1": "two 4-cycles and an 8-cycle",
    "example2": "two triangles and a ladder",
    "limits1": "the two structures of Limits 1, with their colours",
    "limits2": "the two structures of Limits 2, with their colours",
}


NUMBERED = {"brec": (0, 399), "figure3": (3, 49)}
"""Collections, and the numbers that they go from and to."""


def check_name(name: str) -> None:
    """Whether there is such a pair."""
    of_kind("name", name, str)
    kind, _, number = name.partition(":")
    known = [key.partition(":")[0] for key in COLLECTIONS]
    if kind not in known or bool(number) != (kind in NUMBERED):
        listed = "\n  ".join(f"{key:<10} {what}" for key, what in COLLECTIONS.items())
        raise DataProblem(f"'{name}' is neither a file nor a pair; pairs are\n  {listed}")
    if kind in NUMBERED:
        first, last = NUMBERED[kind]
        if not (number.isascii() and number.isdigit() and len(number) < 10 and first <= int(number) <= last):
            raise DataProblem(f"there is no pair '{name}': {kind}: must be followed by a number from {first} to {last}")


def named_pair(name: str, data: Path | None = None) -> Pair:
    """A pair out of a collection.

    >>> [graph.num_nodes for graph in named_pair("figure3:5")]
    [11, 11]
    """
    check_name(name)
    kind, _, number = name.partition(":")
    makers: dict[str, Callable[[], Pair]] = {
        "brec": lambda: _brec(int(number), data),
        "figure3": lambda: _figure3(int(number)),
        "example1": _example1,
        "example2": _example2,
        "limits1": lambda: _limits("limits1"),
        "limits2": lambda: _limits("limits2"),
    }
    return makers[kind]()


def structure_of(graph: nx.Graph) -> Structure:
    """A networkx graph, its nodes numbered in its own order, all alike."""
    numbers = {node: number for number, node in enumerate(graph)}
    return Structure.undirected([(numbers[a], numbers[b]) for a, b in graph.edges()], len(numbers))


class Attributes(NamedTuple):
    """The names of what a graph says about its nodes and its edges."""

    nodes: tuple[str, ...]
    edges: tuple[str, ...]

    def __str__(self) -> str:
        named = [f"{what}: {', '.join(names)}" for what, names in zip(("nodes", "edges"), self, strict=True) if names]
        return "; ".join(named) or "none"


def attributes_of(graph: Data) -> Attributes:
    """``tag`` or ``x`` of a dataset, or the attributes of a file."""
    for name in ("tag", "x"):
        if getattr(graph, name, None) is not None:
            return Attributes((name,), ())
    found = [{name for one in getattr(graph, "node_attributes", None) or () for name in one}]
    found += [{name for ones in getattr(graph, "edge_attributes", None) or () for one in ones for name in one}]
    return Attributes(*(tuple(sorted(names)) for names in found))


def as_structures(a: Data, b: Data, *, attributes: bool = True) -> Pair:
    """Two graphs, nodes and edges coloured by their attributes, which both must have; or without attributes."""
    names = attributes_of(a), attributes_of(b)
    if not attributes:
        names = (Attributes((), ()), Attributes((), ()))
    if names[0] != names[1]:
        raise DataProblem(
            f"the graphs have different attributes (A: {names[0]}; B: {names[1]}), which makes their nodes differ by "
            "themselves; --ignore-attributes compares the graphs alone"
        )
    numbers: list[dict[Any, int]] = [{}, {}]
    first, second = (
        Structure.of(
            graph.edge_index.numpy(),
            graph.num_nodes,
            _numbered(_node_values(graph, names[0].nodes), numbers[0], graph.num_nodes),
            _numbered(_edge_values(graph, names[0].edges), numbers[1], graph.edge_index.size(1)),
        )
        for graph in (a, b)
    )
    return first, second


def _node_values(graph: Data, names: tuple[str, ...]) -> list[Any] | None:
    if not names:
        return None
    if names[0] in ("tag", "x") and getattr(graph, names[0], None) is not None:
        return [tuple(row) for row in getattr(graph, names[0]).reshape(graph.num_nodes, -1).tolist()]
    return [_looks(one) for one in graph.node_attributes]


def _edge_values(graph: Data, names: tuple[str, ...]) -> list[Any] | None:
    """What the edges between two nodes look like together."""
    return [tuple(sorted(map(_looks, ones))) for ones in graph.edge_attributes] if names else None


def _looks(attributes: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """Attributes as something to compare: 1 and 1.0 are the same number, and different from the text '1'."""
    return tuple(
        (name, repr(int(value) if isinstance(value, float) and value.is_integer() else value))
        for name, value in sorted(attributes.items())
    )


def _numbered(values: list[Any] | None, numbers: dict[Any, int], count: int) -> np.ndarray:
    if values is None:
        return np.zeros(count, np.int64)
    return np.array([numbers.setdefault(value, len(numbers)) for value in values], np.int64)


def _figure3(length: int) -> Pair:
    from dropgnn.theory.paper import figure3

    return figure3.pair(length)[:2]


def _example1() -> Pair:
    from dropgnn.theory.paper import example1

    return _of(example1.TWO_FOUR_CYCLES), _of(example1.EIGHT_CYCLE)


def _example2() -> Pair:
    from dropgnn.theory.paper import example2

    return _of(example2.TRIANGLES), _of(example2.LADDER)


def _brec(number: int, data: Path | None) -> Pair:
    from dropgnn.data.brec import load_brec

    pair = load_brec(data)[number]
    return structure_of(pair.a), structure_of(pair.b)


def _limits(name: str) -> Pair:
    """The graph of the task has both structures as components, with label 0 and label 1."""
    from dropgnn.data.synthetic import task

    graphs = task(name, seed=0).graphs
    if len(graphs) == 2:
        return as_structures(graphs[0], graphs[1])
    (whole,) = graphs
    parts = [whole.subgraph(whole.y == label) for label in (0, 1)]
    return as_structures(*parts)


def _of(neighbors: Neighbors) -> Structure:
    return Structure.undirected([(a, b) for a, heard in enumerate(neighbors) for b in heard if a < b], len(neighbors))
