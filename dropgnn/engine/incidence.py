"""A batch and its runs as planning needs them: who hears whom, what each copy drops."""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

import torch
from torch import Tensor

from dropgnn.graph import Graph, enumerate_blocks, offsets
from dropgnn.runs.modes import Mode, ZeroInputs, ZeroLayers
from dropgnn.runs.runs import Runs


@dataclass(frozen=True, eq=False)
class Edges:
    """The edges of the batch by receiver and by sender.

    Shapes:
        in_ptr, out_ptr ``[N + 1]``; in_node, in_item, in_edge, out_node ``[E]``: senders, the items whose loss cuts the
        edges, the edges themselves, receivers; in_colour ``[E]``: colours, odd for loops, or ``[0]`` where all are 0;
        alike ``[E]``: a number for each distinct feature, edge by edge, or ``None`` without features.
    """

    in_ptr: Tensor
    in_node: Tensor
    in_colour: Tensor
    in_item: Tensor
    in_edge: Tensor
    out_ptr: Tensor
    out_node: Tensor
    num_items: int
    alike: Tensor | None


def heard_edges(graph: Graph, runs: Runs, mode: Mode, loops: ModuleType) -> Edges:
    """The edges of a batch, coloured by their features, or each by itself where gradients of those are wanted."""
    sender, receiver = graph.edge_index.int()
    in_ptr, by_receiver = loops.group(receiver, graph.num_nodes)
    out_ptr, by_sender = loops.group(sender, graph.num_nodes)
    colour = (sender == receiver).int()
    alike = None
    if graph.edge_attr is None:
        colour = colour[by_receiver] if bool(colour.any()) else colour[:0]
    else:
        alike = torch.arange(sender.numel(), device=sender.device, dtype=torch.int32)
        if not graph.edge_attr.requires_grad:
            alike = loops.colour_rows(words(graph.edge_attr))[0]
        colour = (colour + 2 * alike)[by_receiver]
    item = graph.links.of_edge.int() if mode.items == "links" else sender
    return Edges(
        in_ptr,
        sender[by_receiver],
        colour,
        item[by_receiver],
        by_receiver,
        out_ptr,
        receiver[by_sender],
        int(runs.items_per_graph.sum()),
        alike,
    )


def dropped_items(runs: Runs) -> tuple[Tensor, Tensor]:
    """The dropped items of every copy, counted over the batch: ptr ``[C + 1]``, item ``[D]``."""
    copy, item = runs.dropped
    item = item + offsets(runs.items_per_graph)[runs.graph[copy]]
    return pointers(copy, runs.num_copies), item.int()


def hearing_less(graph: Graph, mode: Mode, ptr: Tensor, dropped: Tensor, loops: ModuleType) -> tuple[Tensor, Tensor]:
    """Nodes that lose an edge in each copy, where dropping cuts edges: ptr ``[C + 1]``, node ``[K]``."""
    if isinstance(mode, (ZeroInputs, ZeroLayers)):
        return torch.zeros_like(ptr), dropped[:0]
    item = graph.links.of_edge if mode.items == "links" else graph.edge_index[0]
    first, by_item = loops.group(item.int(), int(graph.items_per_graph(mode.items).sum()))
    many = first.diff()[dropped]
    position, _ = enumerate_blocks(first[dropped], many)
    ends = torch.nn.functional.pad(many.cumsum(0), (1, 0))
    return ends[ptr].int(), graph.edge_index[1][by_item[position]].int()


def shares_of(graph: Graph, runs: Runs) -> tuple[Tensor, Tensor, Tensor]:
    """Weights per node and copy, where runs have them: ptr ``[N + 1]``, copy and weight; else empty."""
    if runs.shares is None:
        return runs.graph.new_empty(0, dtype=torch.int32), runs.graph[:0], runs.weight[:0]
    return pointers(runs.shares.node, graph.num_nodes), runs.shares.copy, runs.shares.weight


def words(rows: Tensor) -> Tensor:
    """Rows as 64-bit integers, equal exactly where the rows are equal bit by bit."""
    values = rows.detach()
    values = values.double() if values.is_floating_point() else values.long()
    return values.contiguous().view(torch.int64)


def pointers(block: Tensor, number: int) -> Tensor:
    """Where each of ``number`` consecutive blocks begins and the last one ends, ``[number + 1]``."""
    return torch.nn.functional.pad(torch.bincount(block, minlength=number).cumsum(0), (1, 0)).int()
