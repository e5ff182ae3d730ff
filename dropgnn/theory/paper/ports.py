"""Theorem 4: with port numbers, the 1-dropouts alone determine the d-hop neighbourhood of u.

Every node numbers its neighbours; numbers stay when neighbours vanish. What u sees is a tree: at each node, for each port,
what is seen through it. The proof is an algorithm, and this is it: two walks from u lead to the same node exactly if their
ends are always missing at the same time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import networkx as nx

from dropgnn.errors import InvalidArgument

Tree = tuple[tuple[int, "Tree"], ...]
"""What is seen through each port that leads somewhere: (port, tree), by port."""

Walk = tuple[int, ...]
"""Ports, one after the other, from u."""


def look(neighbors: Sequence[Sequence[int | None]], u: int, depth: int, dropped: Collection[int] = ()) -> Tree:
    """What u sees, where ``neighbors[v][b]`` is the node behind port b of v.

    >>> look([[1], [0, 2], [1]], 0, 2), look([[1], [0, 2], [1]], 0, 2, {2})
    (((0, ((0, ()), (1, ()))),), ((0, ((0, ()),)),))
    """
    if depth == 0:
        return ()
    return tuple(
        (port, look(neighbors, node, depth - 1, dropped))
        for port, node in enumerate(neighbors[u])
        if node is not None and node not in dropped
    )


def observe(neighbors: Sequence[Sequence[int]], u: int, depth: int) -> set[Tree]:
    """The set of all views with at most one node dropped; which view belongs to which drop is not told."""
    return {look(neighbors, u, depth, drop) for drop in [(), *((node,) for node in range(len(neighbors)) if node != u)]}


def rebuild(views: Iterable[Tree], depth: int) -> nx.Graph:
    """The d-hop neighbourhood of u from the views: nodes are their distances and a number, u is ``(0, 0)``.

    Edges between two nodes at distance d are not part of a d-hop neighbourhood: nobody who could tell u sees them.
    """
    seen = [_walks(view) for view in views]
    if not seen:
        raise InvalidArgument("views", "must hold at least the view without a drop", got="none")
    everything = max(seen, key=len)  # a dropped node takes at least the shortest walk to it out of the view
    found: dict[tuple[int, int], Walk] = {(0, 0): ()}
    graph = nx.Graph()
    graph.add_node((0, 0))
    for distance in range(1, depth + 1):
        for node in [node for node in found if node[0] == distance - 1]:
            here = found[node]
            for walk in sorted(walk for walk in everything if len(walk) == distance and walk[:-1] == here):
                if _never_missing(walk, seen):
                    continue  # it leads back along the way it came
                end = next((known for known in found if _same(walk, found[known], here, seen)), None)
                if end is None:
                    end = (distance, sum(known[0] == distance for known in found))
                    found[end] = walk
                graph.add_edge(node, end)
    return graph


def neighborhood(graph: nx.Graph, u: object, depth: int) -> nx.Graph:
    """The d-hop neighbourhood itself, to compare with: distances as attributes, no edges between nodes at distance d."""
    distance = nx.single_source_shortest_path_length(graph, u, cutoff=depth)
    around = nx.Graph(graph.subgraph(distance))
    around.remove_edges_from([(a, b) for a, b in around.edges if distance[a] == distance[b] == depth])
    nx.set_node_attributes(around, distance, "distance")
    return around


def _walks(tree: Tree, so_far: Walk = ()) -> set[Walk]:
    """All walks that a view has."""
    return {so_far}.union(*(_walks(below, (*so_far, port)) for port, below in tree))


def _never_missing(walk: Walk, seen: Sequence[set[Walk]]) -> bool:
    return all(walk in view for view in seen if walk[:-1] in view)


def _same(walk: Walk, known: Walk, here: Walk, seen: Sequence[set[Walk]]) -> bool:
    """Whether two walks end in the same node: their ends are missing together wherever both can be looked for."""
    if known == here[: len(known)]:
        return False  # a node on the way here; walks that end there are never missing
    return all((walk in view) == (known in view) for view in seen if walk[:-1] in view and known[:-1] in view)
