"""The six synthetic tasks beyond 1-WL (Section 4.1), as pure functions of a seed.

``task(name, seed)`` is the training set and ``task(name, seed, split="test")`` another copy, as the paper has it.
Limits 1, Limits 2 and Skip-circles have a fixed structure and only their nodes are permuted; the others are random.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch_geometric.data import Data

from dropgnn.data.ports import random_ports
from dropgnn.data.regular import are_connected, draw_until, edges_among_neighbors
from dropgnn.data.task import Task
from dropgnn.errors import one_of, whole_number
from dropgnn.registry import Registry

SKIPS = (2, 3, 4, 5, 6, 9, 11, 12, 13, 16)
SPLITS = ("train", "test")


def limits1(rng: np.random.Generator) -> Task:
    """Two 4-cycles against one 8-cycle (Garg et al., 2020): which of the two is a node in?

    Colours 0, 1, 2, 3 repeat around every cycle and ports alternate, so neither breaks the tie.
    """
    rings = [_ring(range(4)) + _ring(range(4, 8)), _ring(range(8))]
    return _limits("limits1", rings, [[], []], rng)


def limits2(rng: np.random.Generator) -> Task:
    """Two 4-cycles, each with a chord, against two 4-cycles joined by two cross edges (Garg et al., 2020)."""
    rings = [_ring(range(4)) + _ring(range(4, 8))] * 2
    return _limits("limits2", rings, [[(1, 3), (5, 7)], [(1, 7), (3, 5)]], rng)


def four_cycles(rng: np.random.Generator) -> Task:
    """Does a graph of 16 nodes, all of degree 2, contain a 4-cycle (after Loukas, 2020)?

    Four groups of four nodes: 1-3 and 2-4 are joined by the identity, 1-2 and 3-4 by random permutations; there is a
    4-cycle exactly where the permutations agree. 25 graphs with one and 25 without.
    """
    wanted = [1] * 25 + [0] * 25
    graphs = []
    for label in wanted:
        left, right = rng.permutation(4), rng.permutation(4)
        while (left == right).any() != bool(label):
            left, right = rng.permutation(4), rng.permutation(4)
        edges = [pair for i in range(4) for pair in _square(i, int(left[i]), int(right[i]))]
        graphs.append(_data(16, edges, None, torch.tensor([label]), rng))
    return Task("four_cycles", "graph", 2, tuple(graphs), m=16)


def lcc(rng: np.random.Generator) -> Task:
    """How many edges are there among a node's neighbours (Sato et al., 2021)? Six connected 3-regular graphs.

    Each of the classes 0, 1 and 2 has at least 10 of the 60 nodes.
    """

    def balanced(candidates: np.ndarray) -> np.ndarray:
        stack = candidates.reshape(-1, 10, 3)
        counts = edges_among_neighbors(stack).reshape(len(candidates), -1)
        enough = np.all([(counts == label).sum(axis=1) >= 10 for label in (0, 1, 2)], axis=0)
        return enough & are_connected(stack).reshape(len(candidates), -1).all(axis=1)

    chosen = draw_until(balanced, num_nodes=10, attempts=8_192, rng=rng, together=6)
    counts = edges_among_neighbors(chosen)
    graphs = [_cubic(graph, torch.from_numpy(count), rng) for graph, count in zip(chosen, counts, strict=True)]
    return Task("lcc", "node", 3, tuple(graphs), m=10)


def triangles(rng: np.random.Generator) -> Task:
    """Is a node part of a triangle (Sato et al., 2021)? One 3-regular graph with at least 20 nodes in and 20 out."""

    def balanced(candidates: np.ndarray) -> np.ndarray:
        inside = (edges_among_neighbors(candidates[:, 0]) > 0).sum(axis=1)
        return (inside >= 20) & (inside <= 40)

    graph = draw_until(balanced, num_nodes=60, attempts=8_192, rng=rng)[0]
    label = torch.from_numpy((edges_among_neighbors(graph[None])[0] > 0).astype(np.int64))
    return Task("triangles", "node", 2, (_cubic(graph, label, rng),), m=60)


def skip_circles(rng: np.random.Generator) -> Task:
    """How long are the skip links of a circle of 41 nodes (Chen et al., 2019)? Ten lengths, ten classes."""
    graphs = []
    for label, skip in enumerate(SKIPS):
        edges = [(i, (i + step) % 41) for i in range(41) for step in (1, skip)]
        graphs.append(_data(41, edges, None, torch.tensor([label]), rng))
    return Task("skip_circles", "graph", len(SKIPS), tuple(graphs), m=41, layers=9, hidden=32)


SYNTHETIC = Registry[Callable[[np.random.Generator], Task]](
    "task",
    {
        "limits1": limits1,
        "limits2": limits2,
        "four_cycles": four_cycles,
        "lcc": lcc,
        "triangles": triangles,
        "skip_circles": skip_circles,
    },
)


def task(name: str, seed: int, *, split: str = "train") -> Task:
    """One of the six tasks, the same for the same seed.

    >>> limits = task("limits1", seed=0)
    >>> limits, [graph.num_nodes for graph in limits.graphs]
    (Task('limits1', 2 graphs), [8, 8])
    """
    one_of("split", split, SPLITS)
    seed = whole_number("seed", seed, least=0)
    make = SYNTHETIC[name]
    return make(np.random.default_rng([seed, SPLITS.index(split), list(SYNTHETIC).index(name)]))


def _limits(
    name: str,
    rings: list[list[tuple[int, int]]],
    chords: list[list[tuple[int, int]]],
    rng: np.random.Generator,
) -> Task:
    """Two structures of eight nodes with consistent ports: 1 and 2 alternate along the rings, chords have 3."""
    graphs = []
    for label, (ring, chord) in enumerate(zip(rings, chords, strict=True)):
        colours = torch.eye(4)[torch.arange(8) % 4]
        ports = [1 + start % 2 for start, _ in ring] + [3] * len(chord)
        graphs.append(_data(8, ring + chord, colours, torch.full((8,), label), rng, ports))
    # m as the paper's table counts: the two structures together have 16 nodes.
    return Task(name, "node", 2, tuple(graphs), m=16)


def _ring(nodes: range) -> list[tuple[int, int]]:
    """The edges of a cycle, each named by the node it starts at, so that ports can alternate."""
    return [(node, nodes[(index + 1) % len(nodes)]) for index, node in enumerate(nodes)]


def _square(i: int, left: int, right: int) -> list[tuple[int, int]]:
    """Edges at node i of each group, where group 2 is entered at ``left`` and group 4 at ``right``."""
    first, second, third, fourth = range(0, 16, 4)
    return [(first + i, third + i), (second + i, fourth + i), (first + i, second + left), (third + i, fourth + right)]


def _cubic(neighbors: np.ndarray, y: torch.Tensor, rng: np.random.Generator) -> Data:
    edges = [(node, int(other)) for node, heard in enumerate(neighbors) for other in heard if node < other]
    return _data(len(neighbors), edges, None, y, rng)


def _data(
    num_nodes: int,
    edges: list[tuple[int, int]],
    x: torch.Tensor | None,
    y: torch.Tensor,
    rng: np.random.Generator,
    ports: list[int] | None = None,
) -> Data:
    """A graph with its nodes permuted; without ``x`` all nodes look alike, without ``ports`` they are random."""
    one_way = np.array(edges, dtype=np.int64).T
    place = rng.permutation(num_nodes)
    edge_index = place[np.concatenate([one_way, one_way[::-1]], axis=1)]
    both_ways = random_ports(edge_index, num_nodes, rng) if ports is None else np.array(ports * 2)
    origin = torch.from_numpy(np.argsort(place))
    return Data(
        x=(torch.ones(num_nodes, 1) if x is None else x)[origin],
        edge_index=torch.from_numpy(edge_index),
        edge_attr=torch.from_numpy(both_ways).float().unsqueeze(1),
        y=y[origin] if y.numel() == num_nodes else y,
        num_nodes=num_nodes,
    )
