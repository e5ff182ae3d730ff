"""Whether two graphs are the same graph, where that is cheap to know."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np

from dropgnn.theory.orbits import is_for_nauty, nauty_graph
from dropgnn.theory.structure import Structure

FEW = 12
"""Graphs of so many nodes are compared by search, without a package for it."""


def sameness(a: Structure, b: Structure, nodes: tuple[int, int] | None = None, *, search: bool = True) -> str | None:
    """``"equal"``, ``"isomorphic"``, or ``None`` where they are neither, or where it is not cheap to know.

    Args:
        a, b: The graphs.
        nodes: A node of each, which must then correspond.
        search: Whether to look for another numbering of the nodes.
    """
    if a.num_nodes != b.num_nodes or a.neighbor.size != b.neighbor.size:
        return None
    if nodes is not None:
        a, b = (_marked(graph, node) for graph, node in zip((a, b), nodes, strict=True))
    if all(np.array_equal(*both) for both in zip(_listed(a), _listed(b), strict=True)):
        return "equal"
    if not search or not np.array_equal(np.sort(a.colour), np.sort(b.colour)):
        return None
    if a.is_undirected != b.is_undirected or a.has_loops != b.has_loops:
        return None
    if is_for_nauty(a) and is_for_nauty(b) and find_spec("pynauty") is not None:
        return "isomorphic" if _certificate(a) == _certificate(b) else None
    return "isomorphic" if a.num_nodes <= FEW and _found(a, b) else None


def _marked(graph: Structure, node: int) -> Structure:
    colour = graph.colour + 1
    colour[node] = 0
    return Structure(graph.ptr, graph.neighbor, colour, graph.kind)


def _listed(graph: Structure) -> tuple[np.ndarray, np.ndarray]:
    """Colours, and edges in one order."""
    receiver = np.repeat(np.arange(graph.num_nodes), np.diff(graph.ptr))
    edges = np.stack([receiver, graph.neighbor, graph.kinds])
    return graph.colour, edges[:, np.lexsort(edges)]


def _certificate(graph: Structure) -> object:
    import pynauty

    return pynauty.certificate(nauty_graph(graph))


def _found(a: Structure, b: Structure) -> bool:
    import networkx as nx

    graphs = []
    for graph in (a, b):
        made = nx.MultiDiGraph()
        made.add_nodes_from((node, {"colour": colour}) for node, colour in enumerate(graph.colour.tolist()))
        _, edges = _listed(graph)
        made.add_edges_from((sender, receiver, {"kind": kind}) for receiver, sender, kind in edges.T.tolist())
        graphs.append(made)
    return bool(
        nx.is_isomorphic(
            *graphs,
            node_match=lambda one, other: one["colour"] == other["colour"],
            edge_match=lambda one, other: (
                sorted(edge["kind"] for edge in one.values()) == sorted(edge["kind"] for edge in other.values())
            ),
        )
    )
