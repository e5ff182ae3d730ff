"""Random 3-regular graphs, many at once.

The tasks need rare ones (about one in 2,000 for Triangles), so graphs are drawn and judged by the thousand: a uniform
matching of the three half-edges of every node, kept where it has neither loops nor repeated edges. Given that it is
kept, the graph is uniform among all 3-regular graphs with labelled nodes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dropgnn.errors import InvalidArgument

DEGREE = 3


def draw_cubic(num_nodes: int, attempts: int, rng: np.random.Generator) -> np.ndarray:
    """Neighbour lists of the simple graphs among ``attempts`` random matchings, shape ``[kept, num_nodes, 3]``."""
    if num_nodes < 4 or num_nodes % 2:
        raise InvalidArgument("num_nodes", "must be even and at least 4 for a 3-regular graph", got=num_nodes)
    half_edges = np.tile(np.repeat(np.arange(num_nodes), DEGREE), (attempts, 1))
    ends = rng.permuted(half_edges, axis=1).reshape(attempts, -1, 2)  # consecutive half-edges are matched
    ends = ends[(ends[:, :, 0] != ends[:, :, 1]).all(axis=1)]
    keys = np.sort(ends.min(axis=2) * num_nodes + ends.max(axis=2), axis=1)
    ends = ends[(keys[:, 1:] != keys[:, :-1]).all(axis=1)]
    sender = np.concatenate([ends[:, :, 0], ends[:, :, 1]], axis=1)
    receiver = np.concatenate([ends[:, :, 1], ends[:, :, 0]], axis=1)
    by_sender = sender.argsort(axis=1, kind="stable")
    return np.take_along_axis(receiver, by_sender, axis=1).reshape(-1, num_nodes, DEGREE)


def edges_among_neighbors(neighbors: np.ndarray) -> np.ndarray:
    """For every node the number of edges between its neighbours, shape ``[graphs, num_nodes]``."""
    graph = np.arange(len(neighbors))[:, None]
    count = np.zeros(neighbors.shape[:2], dtype=np.int64)
    for a, b in ((0, 1), (0, 2), (1, 2)):
        of_a = neighbors[graph, neighbors[:, :, a]]  # the neighbours of each node's a-th neighbour
        count += (of_a == neighbors[:, :, b, None]).any(axis=2)
    return count


def are_connected(neighbors: np.ndarray) -> np.ndarray:
    """Which graphs of a stack ``[graphs, num_nodes, 3]`` are connected, shape ``[graphs]``."""
    graph = np.arange(len(neighbors))[:, None]
    reached = np.zeros(neighbors.shape[:2], dtype=bool)
    reached[:, 0] = True
    for _ in range(neighbors.shape[1] - 1):
        reached = reached | np.stack([reached[graph, neighbors[:, :, i]] for i in range(DEGREE)]).any(axis=0)
    return np.asarray(reached.all(axis=1))


def draw_until(
    wanted: Callable[[np.ndarray], np.ndarray],
    num_nodes: int,
    attempts: int,
    rng: np.random.Generator,
    *,
    together: int = 1,
) -> np.ndarray:
    """The first ``together`` graphs in a row that ``wanted`` accepts, shape ``[together, num_nodes, 3]``.

    Args:
        wanted: From stacks of candidates ``[candidates, together, num_nodes, 3]`` to a mask ``[candidates]``.
        num_nodes: Nodes of each graph.
        attempts: How many matchings to draw at a time.
        rng: The source of randomness.
        together: How many graphs make one candidate.
    """
    while True:
        graphs = draw_cubic(num_nodes, attempts, rng)
        usable = len(graphs) // together * together
        candidates = graphs[:usable].reshape(-1, together, num_nodes, DEGREE)
        accepted = wanted(candidates)
        if accepted.any():
            return candidates[accepted.argmax()]
