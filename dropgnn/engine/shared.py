"""Engine ``shared``: each distinct computation once. Plan, then execute."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch_geometric.nn import GATConv, GCNConv, GINConv, GINEConv, MessagePassing

from dropgnn.engine.allowed import why_not
from dropgnn.engine.layers import Layer, Layered, as_layered
from dropgnn.engine.maps import Maps
from dropgnn.engine.norm import RowWeights, row_weights
from dropgnn.engine.planning import Level, make_plan
from dropgnn.engine.sparse import SparseMap
from dropgnn.engine.states import States
from dropgnn.errors import Unsupported
from dropgnn.graph import Graph
from dropgnn.runs.modes import Mode
from dropgnn.runs.runs import Runs


def shared(
    encoder: torch.nn.Module, mode: Mode, graph: Graph, runs: Runs, *, pooled: bool = False, maps: Maps | None = None
) -> States:
    """Run every distinct computation of ``encoder`` on the copies once. Arguments as for ``batched``.

    Args:
        maps: What :func:`plan_shared` returned for the same encoder, mode, graph and runs; made here where not given.
    """
    maps = plan_shared(encoder, mode, graph, runs, pooled=pooled) if maps is None else maps
    layered = as_layered(encoder)
    assert layered is not None  # or planning would have refused
    return States(execute(layered, graph, maps), layered, maps)


def plan_shared(encoder: torch.nn.Module, mode: Mode, graph: Graph, runs: Runs, *, pooled: bool = False) -> Maps:
    """The plan for a batch, and the sparse products that go with it. Needs no weights: only what the layers look at."""
    reason = why_not(encoder, mode, pooled=pooled)
    layered = as_layered(encoder)
    if reason is not None or layered is None:
        raise Unsupported(f"engine 'shared' would not be exact: {reason}; use engine='batched'")
    layers = layered.layers()
    degrees = any(isinstance(layer.message, GCNConv) for layer in layers)
    return Maps(graph, make_plan(graph, runs, mode, len(layers), degrees=degrees))


def prepare(encoder: torch.nn.Module, maps: Maps, *, pools: bool) -> None:
    """Build the sparse products that execution will ask for, ahead of time."""
    layered = as_layered(encoder)
    like = next((weight for weight in encoder.parameters() if weight.is_floating_point()), None)
    if layered is None or like is None:
        return
    for number, layer in enumerate(layered.layers(), start=1):
        if _is_one_product(layer.message):
            _product(layer.message, number, maps, like)
    for number in layered.slices() or ():
        maps.average(number, like)
        if pools:
            maps.occurrences(number, like)


def execute(layered: Layered, graph: Graph, maps: Maps) -> list[Tensor]:
    """Push one row per state through the layers: rows before the first layer and after each."""
    x = _with_zeros(graph.x, maps.plan.source)
    xs = [x]
    for number, layer in enumerate(layered.layers(), start=1):
        level = maps.plan.levels[number]
        heard = _hear(layer, x, number, maps)
        weights = RowWeights(torch.from_numpy(level.weight).to(x.device), int(level.count.sum()))
        with row_weights(weights):
            x = layer.update(heard, torch.zeros(level.num_states, dtype=torch.long, device=x.device), 1)
        if level.silent:
            x = torch.cat([x, x.new_zeros(1, x.size(1))])
        xs.append(x)
    return xs


def _with_zeros(x: Tensor, source: np.ndarray) -> Tensor:
    rows = torch.from_numpy(source).to(x.device).long()
    taken = x[rows.clamp(min=0)] if x.size(0) else x.new_zeros(rows.numel(), x.size(1))
    return taken.masked_fill((rows < 0).unsqueeze(1), 0.0) if x.is_floating_point() else taken


def _hear(layer: Layer, x: Tensor, number: int, maps: Maps) -> Tensor:
    """What every state of level ``number`` gathers from the states below."""
    conv, graph = layer.message, maps.graph
    if _is_one_product(conv):
        return _product(conv, number, maps, x) @ x
    below, level = maps.plan.levels[number - 1], maps.plan.levels[number]
    for kind, hear in _HEAR.items():
        if isinstance(conv, kind):
            return hear(conv, x, below, level, graph)
    return _hear_by_edges(conv, x, below, level, graph)


def _is_one_product(conv: torch.nn.Module) -> bool:
    """Whether gathering is linear with fixed coefficients: GIN with sum or mean."""
    return isinstance(conv, GINConv) and conv.aggr in ("add", "sum", "mean") and not conv.eps.requires_grad


def _product(conv: torch.nn.Module, number: int, maps: Maps, like: Tensor) -> SparseMap:
    return maps.heard(number, like, own=1.0 + float(conv.eps), mean=conv.aggr == "mean")  # type: ignore[arg-type]


def _hear_split(conv: GINConv | GINEConv, x: Tensor, below: Level, level: Level, graph: Graph) -> Tensor:
    """GIN with max aggregation or a learned eps, and GINE: gather along the edges, leave out the MLP."""
    edge_index, edge_attr = _edges(level, graph)
    own = x[_index(level.own, x)]
    extra = {"edge_attr": edge_attr} if isinstance(conv, GINEConv) else {}
    return conv.propagate(edge_index, x=(x, own), size=(x.size(0), level.num_states), **extra) + (1 + conv.eps) * own


def _hear_gcn(conv: GCNConv, x: Tensor, below: Level, level: Level, graph: Graph) -> Tensor:
    """Neighbours and itself, over the square roots of both degrees after dropping."""
    x = conv.lin(x)
    states, receiver = np.arange(level.num_states, dtype=np.int32), level.receiver
    if conv.normalize:
        loop = _loops(level, graph)
        sender, receiver = level.sender[~loop], receiver[~loop]
        degree_below = np.append(below.degree, 1)  # the row of zeros, where there is one, sends zeros
        value = 1.0 / np.sqrt(degree_below[sender].astype(np.float64) * level.degree[receiver])
        row, column = np.concatenate([states, receiver]), np.concatenate([level.own, sender])
        value = np.concatenate([1.0 / level.degree, value])
    else:
        row, column, value = receiver, level.sender, np.ones(receiver.size)
    out = SparseMap.of((row, column, value), (level.num_states, below.num_rows), x) @ x
    return out if conv.bias is None else out + conv.bias


def _hear_gat(conv: GATConv, x: Tensor, below: Level, level: Level, graph: Graph) -> Tensor:
    """Attention over neighbours and itself; the loop PyG adds hears the mean of the node's edge features."""
    edge_index, edge_attr = _edges(level, graph)
    own = _index(level.own, x)
    if conv.add_self_loops:
        keep = torch.from_numpy(~_loops(level, graph)).to(x.device)
        edge_index = edge_index[:, keep]
        states = torch.arange(level.num_states, device=x.device)
        if edge_attr is not None:
            edge_attr = edge_attr[keep]
            edge_attr = torch.cat([edge_attr, _loop_features(conv, edge_attr, edge_index[1], level.num_states)])
        edge_index = torch.cat([edge_index, torch.stack([own, states])], dim=1)
    looped, conv.add_self_loops = conv.add_self_loops, False
    try:
        return conv((x, x[own]), edge_index, edge_attr=edge_attr, size=(x.size(0), level.num_states))
    finally:
        conv.add_self_loops = looped


def _loop_features(conv: GATConv, edge_attr: Tensor, receiver: Tensor, number: int) -> Tensor:
    if conv.fill_value != "mean":
        raise Unsupported(f"GATConv(fill_value={conv.fill_value!r}) is shared for 'mean' only; use engine='batched'")
    total = edge_attr.new_zeros(number, edge_attr.size(1)).index_add(0, receiver, edge_attr)
    return total / torch.bincount(receiver, minlength=number).clamp(min=1).unsqueeze(1)


def _hear_by_edges(conv: MessagePassing, x: Tensor, below: Level, level: Level, graph: Graph) -> Tensor:
    """Any other layer on the bipartite graph from the states below to the states."""
    edge_index, _ = _edges(level, graph)
    return conv((x, x[_index(level.own, x)]), edge_index, size=(x.size(0), level.num_states))


_HEAR: dict[type, Callable[..., Tensor]] = {
    GINConv: _hear_split, GINEConv: _hear_split, GCNConv: _hear_gcn, GATConv: _hear_gat,
}  # fmt: skip


def _edges(level: Level, graph: Graph) -> tuple[Tensor, Tensor | None]:
    """Edges from states below to states, and their features."""
    edge_index = torch.stack([_index(level.sender, graph.x), _index(level.receiver, graph.x)])
    edge_attr = None if graph.edge_attr is None else graph.edge_attr[_index(level.edge, graph.x)]
    return edge_index, edge_attr


def _loops(level: Level, graph: Graph) -> np.ndarray:
    """Which edges lead from a node to itself, ``[K]``."""
    ends = graph.edge_index.cpu().numpy()[:, level.edge]
    return ends[0] == ends[1]


def _index(array: np.ndarray, like: Tensor) -> Tensor:
    return torch.from_numpy(array).to(like.device).long()
