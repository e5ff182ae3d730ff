"""Copies of graphs laid end to end: one graph with a component per copy."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from dropgnn.graph import Graph, enumerate_blocks, offsets
from dropgnn.runs.modes import Mode, Perturbed
from dropgnn.runs.runs import Runs


def expand(graph: Graph, runs: Runs) -> tuple[Graph, Tensor]:
    """Block-diagonal copies of a batch, one block per copy; nothing is dropped yet.

    Returns:
        The graph of all copies, whose ``batch`` is the copy of each node, and for each of its nodes the node it copies.
    """
    node, copy = enumerate_blocks(offsets(graph.nodes_per_graph)[runs.graph], graph.nodes_per_graph[runs.graph])
    shift = offsets(graph.nodes_per_graph[runs.graph]) - offsets(graph.nodes_per_graph)[runs.graph]

    graph_of_edge = graph.batch[graph.edge_index[0]]
    by_graph = graph_of_edge.argsort(stable=True)
    edges_per_graph = torch.bincount(graph_of_edge, minlength=graph.num_graphs)
    position, copy_of_edge = enumerate_blocks(offsets(edges_per_graph)[runs.graph], edges_per_graph[runs.graph])
    edge = by_graph[position]

    copies = Graph(
        x=graph.x[node],
        edge_index=graph.edge_index[:, edge] + shift[copy_of_edge],
        edge_attr=None if graph.edge_attr is None else graph.edge_attr[edge],
        batch=copy,
        num_graphs=runs.num_copies,
        extra=graph.take_extra(node, edge),
    )
    return copies, node


def perturb(graph: Graph, mode: Mode, dropped: Tensor) -> Perturbed:
    """``mode`` on a graph; modes know nothing of what is extra, which goes with its nodes and edges."""
    if not graph.extra:
        return mode(graph, dropped)
    numbers = torch.arange(graph.edge_index.size(1), device=graph.edge_index.device).unsqueeze(1)
    left, rows, silenced = mode(replace(graph, edge_attr=numbers, extra=()), dropped)
    assert left.edge_attr is not None
    edge = left.edge_attr.squeeze(1)
    attr = None if graph.edge_attr is None else graph.edge_attr[edge]
    return Perturbed(replace(left, edge_attr=attr, extra=graph.take_extra(rows, edge)), rows, silenced)
