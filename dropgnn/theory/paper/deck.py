"""The deck of the reconstruction problem beside the 1-dropout views (Appendix C).

The deck of a graph is the multiset of its subgraphs without one node, up to isomorphism. A DropGNN sees less of each card,
a tree instead of a graph, and more cards: the graph without a drop is one of them.
"""

from __future__ import annotations

import networkx as nx

from dropgnn.theory.views import Structure, dropped_sets, view_words


def same_deck(a: nx.Graph, b: nx.Graph) -> bool:
    """Whether two graphs have the same deck.

    >>> same_deck(nx.path_graph(2), nx.empty_graph(2)), same_deck(nx.path_graph(3), nx.complete_graph(3))
    (True, False)
    """
    if len(a) != len(b):
        return False
    cards, others = _cards(a), _cards(b)
    for card in cards:
        found = next((place for place, other in enumerate(others) if nx.is_isomorphic(card, other)), None)
        if found is None:
            return False
        others.pop(found)
    return True


def same_views(a: nx.Graph, b: nx.Graph) -> bool:
    """Whether all nodes of two graphs see the same over all dropouts of at most one node."""
    return _views(a) == _views(b)


def _cards(graph: nx.Graph) -> list[nx.Graph]:
    return [nx.Graph(graph.subgraph(set(graph) - {node})) for node in graph]


def _views(graph: nx.Graph) -> list[tuple[int, ...]]:
    numbers = {node: number for number, node in enumerate(graph)}
    structure = Structure.undirected([(numbers[a], numbers[b]) for a, b in graph.edges()], len(numbers))
    words = [view_words(structure, dropped_sets(structure, size)).node for size in (0, 1)]
    return sorted(zip(*(word.tolist() for word in words), strict=True))
