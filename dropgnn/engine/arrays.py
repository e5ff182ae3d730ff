"""A batch and its runs as the arrays that planning works on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from dropgnn.engine import compiled
from dropgnn.graph import Graph, offsets
from dropgnn.runs.modes import Mode, ZeroInputs, ZeroLayers
from dropgnn.runs.runs import Runs


@dataclass(frozen=True, eq=False)
class Edges:
    """The edges of the batch by receiver and by sender."""

    in_ptr: np.ndarray
    in_node: np.ndarray
    in_colour: np.ndarray
    in_item: np.ndarray
    in_edge: np.ndarray
    out_ptr: np.ndarray
    out_node: np.ndarray
    num_items: int


@dataclass(frozen=True, eq=False)
class Copies:
    """What the copies weigh and how many there are."""

    weight: np.ndarray
    weight_of_graph: np.ndarray
    copies_of_graph: np.ndarray
    graph_of_node: np.ndarray
    rows: int

    @classmethod
    def of(cls, graph: Graph, runs: Runs) -> Copies:
        weight, owner = as_numpy(runs.weight), as_numpy(runs.graph)
        number = np.bincount(owner, minlength=graph.num_graphs)
        return cls(
            weight,
            np.bincount(owner, weights=weight, minlength=graph.num_graphs),
            number,
            as_numpy(graph.batch),
            int(number @ as_numpy(graph.nodes_per_graph)),
        )


def heard_edges(graph: Graph, runs: Runs, mode: Mode) -> Edges:
    """The edges of a batch, coloured by their features, or each by itself where gradients of those are wanted."""
    sender, receiver = (as_numpy(end).astype(np.int32) for end in graph.edge_index)
    in_ptr, by_receiver = compiled.group(receiver, graph.num_nodes)
    out_ptr, by_sender = compiled.group(sender, graph.num_nodes)
    if graph.edge_attr is None:
        colour = np.zeros(sender.size, np.int32)
    elif graph.edge_attr.requires_grad:
        colour = np.arange(sender.size, dtype=np.int32)
    else:
        colour = compiled.colour_rows(words(graph.edge_attr))[0]
    item = as_numpy(graph.links.of_edge).astype(np.int32) if mode.items == "links" else sender
    number = int(runs.items_per_graph.sum())
    return Edges(
        in_ptr,
        sender[by_receiver],
        colour[by_receiver],
        item[by_receiver],
        by_receiver,
        out_ptr,
        receiver[by_sender],
        number,
    )


def dropped_items(graph: Graph, runs: Runs) -> tuple[np.ndarray, np.ndarray]:
    """The dropped items of every copy, counted over the batch: ptr ``[C + 1]``, item ``[D]``."""
    copy, item = runs.dropped
    item = item + offsets(runs.items_per_graph)[runs.graph[copy]]
    ptr = np.zeros(runs.num_copies + 1, np.int32)
    np.cumsum(np.bincount(as_numpy(copy), minlength=runs.num_copies), out=ptr[1:])
    return ptr, as_numpy(item).astype(np.int32)


def hearing_less(graph: Graph, mode: Mode, ptr: np.ndarray, dropped: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nodes that lose an edge in each copy, where dropping cuts edges: ptr ``[C + 1]``, node ``[K]``."""
    if isinstance(mode, (ZeroInputs, ZeroLayers)):
        return np.zeros_like(ptr), np.empty(0, np.int32)
    receiver = as_numpy(graph.edge_index[1]).astype(np.int32)
    item = as_numpy(graph.links.of_edge if mode.items == "links" else graph.edge_index[0]).astype(np.int32)
    number = int(graph.items_per_graph(mode.items).sum())
    first, by_item = compiled.group(item, number)
    many = first[dropped + 1] - first[dropped]
    ends = np.concatenate([[0], np.cumsum(many)]).astype(np.int32)
    position = np.repeat(first[dropped], many) + np.arange(ends[-1]) - np.repeat(ends[:-1], many)
    return ends[ptr], receiver[by_item[position]]


def shares_of(graph: Graph, runs: Runs) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights per node and copy, where runs have them: ptr ``[N + 1]``, copy and weight; else empty."""
    if runs.shares is None:
        return np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0)
    ptr = np.zeros(graph.num_nodes + 1, np.int32)
    np.cumsum(np.bincount(as_numpy(runs.shares.node), minlength=graph.num_nodes), out=ptr[1:])
    return ptr, as_numpy(runs.shares.copy), as_numpy(runs.shares.weight)


def words(rows: Tensor) -> np.ndarray:
    """Rows as 64-bit integers, equal exactly where the rows are equal bit by bit."""
    values = rows.detach().cpu()
    values = values.double() if values.is_floating_point() else values.long()
    return values.contiguous().numpy().view(np.int64)


def as_numpy(tensor: Tensor) -> np.ndarray:
    return tensor.detach().cpu().numpy()
