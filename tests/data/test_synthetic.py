"""The six tasks are what the paper's table says, pure functions of a seed, and beyond 1-WL."""

from __future__ import annotations

import networkx as nx
import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.utils import to_networkx

from dropgnn import InvalidArgument
from dropgnn.data.synthetic import SKIPS, SYNTHETIC, task
from dropgnn.theory.wl import Palette, equivalent, refine

# name: (graphs, nodes per graph, degree, classes, level); the paper counts both Limits structures together, as 16 nodes
STATISTICS = {
    "limits1": (2, 8, 2, 2, "node"),
    "limits2": (2, 8, 3, 2, "node"),
    "four_cycles": (50, 16, 2, 2, "graph"),
    "lcc": (6, 10, 3, 3, "node"),
    "triangles": (1, 60, 3, 2, "node"),
    "skip_circles": (10, 41, 4, 10, "graph"),
}
FIXED = ("limits1", "limits2", "skip_circles")


def undirected(data: Data) -> nx.Graph:
    return to_networkx(data, to_undirected=True)


def neighbors(data: Data) -> list[list[int]]:
    return [list(undirected(data)[node]) for node in range(data.num_nodes)]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", SYNTHETIC)
def test_statistics_of_the_papers_table(name: str, seed: int) -> None:
    made = task(name, seed)
    graphs, nodes, degree, classes, level = STATISTICS[name]
    assert (len(made.graphs), made.num_classes, made.level) == (graphs, classes, level)
    assert made.m == {"limits1": 16, "limits2": 16}.get(name, nodes)
    for data in made.graphs:
        degrees = dict(undirected(data).degree).values()
        assert data.num_nodes == nodes
        assert data.edge_index.size(1) == sum(degrees)
        assert max(degrees) == degree
        assert name == "limits2" or min(degrees) == degree
    labels = torch.cat([data.y for data in made.graphs])
    assert sorted(set(labels.tolist())) == list(range(classes))


@pytest.mark.parametrize("name", SYNTHETIC)
def test_same_seed_same_task(name: str) -> None:
    first, again, other, test = task(name, 3), task(name, 3), task(name, 4), task(name, 3, split="test")
    for a, b in zip(first.graphs, again.graphs, strict=True):
        assert all(torch.equal(a[key], b[key]) for key in ("x", "edge_index", "edge_attr", "y"))
    for another in (other, test):
        assert not all(
            torch.equal(a.edge_index, b.edge_index) for a, b in zip(first.graphs, another.graphs, strict=True)
        )


@pytest.mark.parametrize("name", FIXED)
def test_fixed_structures_only_permute_their_nodes(name: str) -> None:
    for a, b in zip(task(name, 0).graphs, task(name, 1).graphs, strict=True):
        assert nx.is_isomorphic(undirected(a), undirected(b))


def test_limits_pairs_are_different_and_1_wl_does_not_see_it() -> None:
    for name in ("limits1", "limits2"):
        a, b = task(name, 0).graphs
        assert not nx.is_isomorphic(undirected(a), undirected(b))
        colours = [data.x.argmax(dim=1).tolist() for data in (a, b)]
        assert equivalent((neighbors(a), colours[0]), (neighbors(b), colours[1]))


def test_limits_ports_do_not_break_the_tie() -> None:
    """Colour refinement that also hears by which port a neighbour sends finds nothing either."""
    for name in ("limits1", "limits2"):
        seen = []
        palette = Palette()
        for data in task(name, 0).graphs:
            # an edge becomes a node labelled by its port, which 1-WL then hears through
            number, edges = data.num_nodes, data.edge_index.t().tolist()
            heard: list[list[int]] = [[] for _ in range(number + len(edges))]
            for index, (sender, receiver) in enumerate(edges):
                heard[number + index].append(sender)
                heard[receiver].append(number + index)
            ports = data.edge_attr.flatten().int().tolist()
            labels = [("node", colour) for colour in data.x.argmax(dim=1).tolist()] + [("port", p) for p in ports]
            seen.append(sorted(refine(heard, labels, 40, palette)))
        assert seen[0] == seen[1]


def test_four_cycles_are_where_the_label_says() -> None:
    made = task("four_cycles", 0)
    found = [int(4 in map(len, nx.connected_components(undirected(data)))) for data in made.graphs]
    assert found == [int(data.y) for data in made.graphs]
    assert sum(found) == 25


@pytest.mark.parametrize("seed", range(5))
def test_lcc_and_triangles_labels(seed: int) -> None:
    lcc, (triangle_graph,) = task("lcc", seed), task("triangles", seed).graphs
    for data in lcc.graphs:
        graph = undirected(data)
        assert nx.is_connected(graph)
        assert [graph.subgraph(graph[node]).number_of_edges() for node in graph] == data.y.tolist()
    counts = torch.bincount(torch.cat([data.y for data in lcc.graphs]))
    assert int(counts.min()) >= 10
    inside = [int(number > 0) for number in nx.triangles(undirected(triangle_graph)).values()]
    assert inside == triangle_graph.y.tolist()
    assert 20 <= sum(inside) <= 40


def test_skip_circles() -> None:
    for data, skip in zip(task("skip_circles", 0).graphs, SKIPS, strict=True):
        assert nx.is_isomorphic(undirected(data), nx.circulant_graph(41, [1, skip]))


@pytest.mark.parametrize("name", SYNTHETIC)
def test_every_node_numbers_its_edges(name: str) -> None:
    for data in task(name, 0).graphs:
        for node in range(data.num_nodes):
            ports = data.edge_attr[data.edge_index[0] == node].flatten().tolist()
            assert sorted(ports) == list(range(1, len(ports) + 1))


def test_unknown_names_list_the_known_ones() -> None:
    with pytest.raises(InvalidArgument, match=r"'task' must be one of limits1, limits2, .* \(got 'limits3'\)"):
        task("limits3", 0)
    with pytest.raises(InvalidArgument, match=r"'split' must be one of train, test \(got 'validation'\)"):
        task("limits1", 0, split="validation")
