"""A batch and its runs as planning needs them: who hears whom, what each copy drops."""

from __future__ import annotations

from types import ModuleType
from typing import NamedTuple

import torch
from torch import Tensor

from dropgnn.graph import Graph, enumerate_blocks, offsets
from dropgnn.runs.modes import Mode
from dropgnn.runs.runs import Runs


class Edges(NamedTuple):
    """The edges of the batch by receiver and by sender.

    Shapes:
        in_ptr, out_ptr ``[N + 1]``; in_node, in_item, in_edge, out_node ``[E]``: senders, the items whose loss cuts the
        edges, the edges themselves, receivers; in_colour ``[E]``: colours, odd for loops, or ``[0]`` where all are 0.
    """

    in_ptr: Tensor
    in_node: Tensor
    in_colour: Tensor
    in_item: Tensor
    in_edge: Tensor
    out_ptr: Tensor
    out_node: Tensor


class Weights(NamedTuple):
    """How much copies count.

    Shapes:
        copy_weight, graph_of_copy ``[C]``; graph_of_node ``[N]``; share_ptr ``[N + 1]``, share_copy, share_weight: weights per
        node and copy where runs have them, else ``[0]``.
    """

    copy_weight: Tensor
    graph_of_copy: Tensor
    graph_of_node: Tensor
    share_ptr: Tensor
    share_copy: Tensor
    share_weight: Tensor

    @classmethod
    def of(cls, graph: Graph, runs: Runs) -> Weights:
        if runs.shares is None:
            none = runs.graph.new_empty(0, dtype=torch.int32), runs.graph[:0], runs.weight[:0]
            return cls(runs.weight, runs.graph, graph.batch, *none)
        ptr = pointers(runs.shares.node, graph.num_nodes)
        return cls(runs.weight, runs.graph, graph.batch, ptr, runs.shares.copy, runs.shares.weight)


class Setting(NamedTuple):
    """What is the same in every round of colour refinement.

    Shapes:
        size ``[C]``: nodes of every copy; drop_ptr ``[C + 1]``, drop_item ``[D]``: what every copy drops; extra_ptr ``[C + 1]``,
        extra_node: who hears less in it.
    """

    edges: Edges
    weights: Weights
    num_items: int
    size: Tensor
    drop_ptr: Tensor
    drop_item: Tensor
    extra_ptr: Tensor
    extra_node: Tensor

    @classmethod
    def of(cls, graph: Graph, runs: Runs, mode: Mode, alike: Tensor | None, loops: ModuleType) -> Setting:
        """``alike`` are the edges with equal features; see :func:`alike_edges`."""
        edges, items = heard_edges(graph, mode, alike, loops), int(runs.items_per_graph.sum())
        ptr, item = dropped_items(runs)
        less = hearing_less(graph, mode, ptr, item, loops)
        return cls(edges, Weights.of(graph, runs), items, graph.nodes_per_graph[runs.graph], ptr, item, *less)


def alike_edges(graph: Graph, loops: ModuleType) -> Tensor | None:
    """A number for each distinct feature, edge by edge, or ``None`` without features; where gradients of those are wanted, each
    is one by itself."""
    told = [] if graph.edge_attr is None else [graph.edge_attr]
    told += [one.value for one in graph.extra if one.of_edges]
    if not told:
        return None
    if any(one.requires_grad for one in told):
        return torch.arange(graph.edge_index.size(1), device=graph.edge_index.device, dtype=torch.int32)
    return loops.colour_rows(torch.cat([words(one) for one in told], dim=1))[0]


def heard_edges(graph: Graph, mode: Mode, alike: Tensor | None, loops: ModuleType) -> Edges:
    """The edges of a batch, coloured by what is ``alike``."""
    sender, receiver = graph.edge_index.int()
    in_ptr, by_receiver = loops.group(receiver, graph.num_nodes)
    out_ptr, by_sender = loops.group(sender, graph.num_nodes)
    colour = (sender == receiver).int() + (0 if alike is None else 2 * alike)
    colour = colour[by_receiver] if alike is not None or bool(colour.any()) else colour[:0]
    item = graph.links.of_edge.int() if mode.items == "links" else sender
    return Edges(
        in_ptr, sender[by_receiver], colour, item[by_receiver], by_receiver, out_ptr, receiver[by_sender]
    )  # fmt: skip


def dropped_items(runs: Runs) -> tuple[Tensor, Tensor]:
    """The dropped items of every copy, counted over the batch: ptr ``[C + 1]``, item ``[D]``."""
    copy, item = runs.dropped
    item = item + offsets(runs.items_per_graph)[runs.graph[copy]]
    return pointers(copy, runs.num_copies), item.int()


def hearing_less(graph: Graph, mode: Mode, ptr: Tensor, dropped: Tensor, loops: ModuleType) -> tuple[Tensor, Tensor]:
    """Nodes that lose an edge in each copy, where dropping cuts edges: ptr ``[C + 1]``, node ``[K]``."""
    if mode.effect is None or mode.effect.cuts == "none":
        return torch.zeros_like(ptr), dropped[:0]
    item = graph.links.of_edge if mode.items == "links" else graph.edge_index[0]
    first, by_item = loops.group(item.int(), int(graph.items_per_graph(mode.items).sum()))
    many = first.diff()[dropped]
    position, _ = enumerate_blocks(first[dropped], many)
    ends = torch.nn.functional.pad(many.cumsum(0), (1, 0))
    return ends[ptr].int(), graph.edge_index[1][by_item[position]].int()


def words(rows: Tensor) -> Tensor:
    """Rows as 64-bit integers, equal exactly where the rows are equal bit by bit."""
    values = rows.detach()
    values = values.flatten(1) if values.dim() > 1 else values.unsqueeze(1)
    values = values.double() if values.is_floating_point() else values.long()
    return values.contiguous().view(torch.int64)


def pointers(block: Tensor, number: int) -> Tensor:
    """Where each of ``number`` consecutive blocks begins and the last one ends, ``[number + 1]``."""
    return torch.nn.functional.pad(torch.bincount(block, minlength=number).cumsum(0), (1, 0)).int()
