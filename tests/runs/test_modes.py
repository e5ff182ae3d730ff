"""What each mode does to a small graph, written out by hand."""

from __future__ import annotations

import pytest
import torch

from dropgnn import Graph, InvalidArgument
from dropgnn.runs.modes import MODES
from tests.conftest import awkward_batch

# 0 - 1 - 2 with a self-loop at 1, and an isolated node 3
GRAPH = Graph.of(
    torch.arange(1.0, 5.0).unsqueeze(1),
    torch.tensor([[0, 1, 1, 2, 1], [1, 0, 2, 1, 1]]),
    torch.arange(5.0).unsqueeze(1),
)
DROP_1 = torch.tensor([False, True, False, False])


@pytest.mark.parametrize("mode", ["zero", "zero-layers"])
def test_zeroing_keeps_edges_and_rows(mode: str) -> None:
    graph, rows, silenced = MODES[mode]()(GRAPH, DROP_1)
    assert graph.x.flatten().tolist() == [1, 0, 3, 4]
    assert graph.edge_index is GRAPH.edge_index
    assert rows.tolist() == [0, 1, 2, 3]
    assert (silenced is not None) == (mode == "zero-layers")


def test_removing_takes_nodes_edges_and_edge_features() -> None:
    graph, rows, _ = MODES["remove"]()(GRAPH, DROP_1)
    assert graph.x.flatten().tolist() == [1, 3, 4]
    assert graph.edge_index.tolist() == [[], []]
    assert graph.edge_attr is not None
    assert graph.edge_attr.numel() == 0
    assert rows.tolist() == [0, 2, 3]

    graph, rows, _ = MODES["remove"]()(GRAPH, torch.tensor([True, False, False, False]))
    assert graph.edge_index.tolist() == [[0, 1, 0], [1, 0, 0]]
    assert graph.edge_attr is not None
    assert graph.edge_attr.flatten().tolist() == [2, 3, 4]


def test_edges_go_in_both_directions_together() -> None:
    # links in order: 0-1, 1-1, 1-2
    graph, rows, _ = MODES["edges"]()(GRAPH, torch.tensor([True, False, False]))
    assert graph.edge_index.tolist() == [[1, 2, 1], [2, 1, 1]]
    assert graph.edge_attr is not None
    assert graph.edge_attr.flatten().tolist() == [2, 3, 4]
    assert rows.tolist() == [0, 1, 2, 3]


def test_receive_only_nodes_hear_but_do_not_speak() -> None:
    graph, _, _ = MODES["receive-only"]()(GRAPH, DROP_1)
    assert graph.edge_index.tolist() == [[0, 2], [1, 1]]
    assert graph.x is GRAPH.x


def test_repeated_edges_are_one_link() -> None:
    assert awkward_batch().links.per_graph.tolist() == [4, 1, 3, 0]


def test_categories_cannot_be_zeroed() -> None:
    categories = Graph.of(torch.tensor([[1], [2]]), torch.empty(2, 0, dtype=torch.long))
    with pytest.raises(
        InvalidArgument, match=r"'x' must be floating point where dropping means zeroing.*mode='remove'"
    ):
        MODES["zero"]()(categories, torch.tensor([True, False]))
    assert MODES["remove"]()(categories, torch.tensor([True, False])).graph.x.tolist() == [[2]]


def test_unknown_modes_list_the_known_ones() -> None:
    with pytest.raises(
        InvalidArgument, match=r"'mode' must be one of zero, zero-layers, remove, edges, receive-only \(got"
    ):
        MODES["delete"]
