"""Engine ``shared``: each distinct computation once. Plan, then execute."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch_geometric.nn import GATConv, GCNConv, GINConv, GINEConv, MessagePassing, NNConv

from dropgnn.engine.allowed import why_not
from dropgnn.engine.edge_features import can_hear_features, hear_features, kinds_of
from dropgnn.engine.edge_network import Network, hear_by_matrices, matrices_of, network_of
from dropgnn.engine.fused import run_fused
from dropgnn.engine.layers import Layer, Layered, as_layered, silence
from dropgnn.engine.norm import RowWeights, row_weights
from dropgnn.engine.pieces import Pieces
from dropgnn.engine.plan import Level, SharedPlan
from dropgnn.engine.planning import make_plan
from dropgnn.engine.products import combine, hear
from dropgnn.engine.states import States
from dropgnn.errors import Unsupported
from dropgnn.graph import Graph
from dropgnn.runs.modes import Mode
from dropgnn.runs.runs import Runs


def shared(
    encoder: torch.nn.Module,
    mode: Mode,
    graph: Graph,
    runs: Runs,
    *,
    pooled: bool = False,
    plan: SharedPlan | None = None,
) -> States:
    """Run every distinct computation of ``encoder`` on the copies once. Arguments as for ``batched``.

    Args:
        plan: What :func:`plan_shared` returned for the same encoder, mode, graph and runs; made here where not given.
    """
    plan = plan_shared(encoder, mode, graph, runs, pooled=pooled) if plan is None else plan
    layered = as_layered(encoder)
    assert layered is not None  # or planning would have refused
    return States(execute(layered, graph, plan), layered, plan)


def plan_shared(encoder: torch.nn.Module, mode: Mode, graph: Graph, runs: Runs, *, pooled: bool = False) -> SharedPlan:
    """The plan for a batch. Needs no weights: only what the layers look at."""
    reason = why_not(encoder, mode, pooled=pooled)
    if reason is not None:
        raise not_shareable(reason)
    return plan_allowed(encoder, mode, graph, runs)


def plan_allowed(encoder: torch.nn.Module, mode: Mode, graph: Graph, runs: Runs) -> SharedPlan:
    """The same, where someone has looked already that nothing speaks against sharing."""
    layered = as_layered(encoder)
    assert layered is not None
    with torch.inference_mode(False):  # it may be needed for training later
        layers = layered.layers()
        return make_plan(graph, runs, mode, len(layers), degrees=_looks_at_degrees(layers))


def not_shareable(reason: str) -> Unsupported:
    return Unsupported(f"engine 'shared' would not be exact: {reason}; use engine='batched'")


def fits(plan: SharedPlan, encoder: torch.nn.Module, mode: Mode) -> bool:
    """Whether a plan is one for this encoder and mode."""
    layered = as_layered(encoder)
    if layered is None or type(plan.mode) is not type(mode):
        return False
    layers = layered.layers()
    return len(plan.levels) == len(layers) + 1 and (plan.degrees or not _looks_at_degrees(layers))


def _looks_at_degrees(layers: Sequence[Layer]) -> bool:
    return any(isinstance(layer.message, GCNConv) for layer in layers)


def execute(layered: Layered, graph: Graph, plan: SharedPlan) -> list[Tensor]:
    """Push one row per state through the layers: rows before the first layer and after each."""
    graph = graph if plan.origin is None else plan.origin
    x, layers = _with_zeros(graph.x, plan.source), layered.layers()
    if (entry := layered.entry()) is not None:
        x = entry(x)
        if any(level.silent for level in plan.levels):
            x = silence(x, plan.source < 0)
    xs = run_fused(layers, x, plan, graph)
    return _run_layers(layers, x, plan, graph) if xs is None else xs


def _run_layers(layers: Sequence[Layer], x: Tensor, plan: SharedPlan, graph: Graph) -> list[Tensor]:
    xs, matrices = [x], _Matrices(plan, graph)
    for number, layer in enumerate(layers, start=1):
        level = plan.levels[number]
        if isinstance(layer.message, NNConv):
            heard = hear_by_matrices(
                layer.message, x, matrices(layer.message, x), level, matrices.network.levels[number - 1]
            )
        elif can_hear_features(layer.message, x, plan.work):
            heard = hear_features(layer.message, x, level, graph, kinds_of(plan))
        else:
            heard = _hear(layer.message, x, plan.levels[number - 1], level, graph)
        if layer.own:
            heard = torch.cat([heard, x[level.own]], dim=1)
        with row_weights(RowWeights(level.weight, level.rows)):
            x = layer.run_update(heard, torch.zeros(level.num_states, dtype=torch.long, device=x.device), 1)
        if level.silent:
            x = torch.cat([x, x.new_zeros(1, x.size(1))])
        xs.append(x)
    return xs


class _Matrices:
    """What edge networks say about the edges of a batch, each network asked once, however many layers use it."""

    def __init__(self, plan: SharedPlan, graph: Graph) -> None:
        self.plan, self.graph = plan, graph
        self.found: dict[NNConv, Tensor | Pieces] = {}

    @property
    def network(self) -> Network:
        return network_of(self.plan)

    def __call__(self, conv: NNConv, x: Tensor) -> Tensor | Pieces:
        if conv not in self.found:
            self.found[conv] = matrices_of(conv, x, self.graph, self.network, self.plan.work)
        return self.found[conv]


def _with_zeros(x: Tensor, source: Tensor) -> Tensor:
    """Rows of x, and a row of zeros where the source is -1, the last."""
    return torch.cat([x, x.new_zeros(1, x.size(1))])[source]


def _hear(conv: torch.nn.Module, x: Tensor, below: Level, level: Level, graph: Graph) -> Tensor:
    """What every state gathers from the states below."""
    if isinstance(conv, GINConv) and conv.aggr in ("add", "sum", "mean") and not conv.eps.requires_grad:
        return hear(x, level, own=1.0 + float(conv.eps), mean=conv.aggr == "mean")
    for kind, gather in _HEAR.items():
        if isinstance(conv, kind):
            return gather(conv, x, below, level, graph)
    return _hear_by_edges(conv, x, below, level, graph)


def _hear_split(conv: GINConv | GINEConv, x: Tensor, below: Level, level: Level, graph: Graph) -> Tensor:
    """GIN and GINE with max aggregation or a learned eps, or on other devices: gather along the edges, leave out the MLP."""
    edge_index, edge_attr = _edges(level, graph)
    own = x[level.own]
    extra = {"edge_attr": edge_attr} if isinstance(conv, GINEConv) else {}
    return conv.propagate(edge_index, x=(x, own), size=(x.size(0), level.num_states), **extra) + (1 + conv.eps) * own


def _hear_gcn(conv: GCNConv, x: Tensor, below: Level, level: Level, graph: Graph) -> Tensor:
    """Neighbours and itself, over the square roots of both degrees after dropping."""
    x = conv.lin(x)
    row, column, value = level.receiver, level.sender, level.weight.new_ones(level.sender.numel())
    if conv.normalize:
        others = ~_loops(level, graph)
        degree_below = torch.cat([below.degree, below.degree.new_ones(1)])  # the row of zeros, where there is one
        row, column = row[others], column[others]
        value = (degree_below[column].double() * level.degree[row]).rsqrt()
        row = torch.cat([torch.arange(level.num_states, device=x.device), row])
        column, value = torch.cat([level.own, column]), torch.cat([1.0 / level.degree.double(), value])
    out = combine(x, level.num_states, row, column, value, work=level.pairs.work)
    return out if conv.bias is None else out + conv.bias


def _hear_gat(conv: GATConv, x: Tensor, below: Level, level: Level, graph: Graph) -> Tensor:
    """Attention over neighbours and itself; the loop PyG adds hears the mean of the node's edge features."""
    edge_index, edge_attr = _edges(level, graph)
    own = level.own.long()
    if conv.add_self_loops:
        keep = ~_loops(level, graph)
        edge_index = edge_index[:, keep]
        states = torch.arange(level.num_states, device=x.device)
        if edge_attr is not None:
            edge_attr = edge_attr[keep]
            edge_attr = torch.cat([edge_attr, _loop_features(edge_attr, edge_index[1], level.num_states)])
        edge_index = torch.cat([edge_index, torch.stack([own, states])], dim=1)
    bare = copy.copy(conv)  # the same weights; the layer itself may be in use elsewhere
    bare.add_self_loops = False
    return bare((x, x[own]), edge_index, edge_attr=edge_attr, size=(x.size(0), level.num_states))


def _loop_features(edge_attr: Tensor, receiver: Tensor, number: int) -> Tensor:
    total = edge_attr.new_zeros(number, edge_attr.size(1)).index_add(0, receiver, edge_attr)
    return total / torch.bincount(receiver, minlength=number).clamp(min=1).unsqueeze(1)


def _hear_by_edges(conv: MessagePassing, x: Tensor, below: Level, level: Level, graph: Graph) -> Tensor:
    """Any other layer on the bipartite graph from the states below to the states."""
    edge_index, _ = _edges(level, graph)
    return conv((x, x[level.own]), edge_index, size=(x.size(0), level.num_states))


_HEAR: dict[type, Callable[..., Tensor]] = {
    GINConv: _hear_split, GINEConv: _hear_split, GCNConv: _hear_gcn, GATConv: _hear_gat,
}  # fmt: skip


def _edges(level: Level, graph: Graph) -> tuple[Tensor, Tensor | None]:
    """Edges from states below to states, and their features."""
    edge_index = torch.stack([level.sender.long(), level.receiver])
    return edge_index, None if graph.edge_attr is None else graph.edge_attr[level.edge]


def _loops(level: Level, graph: Graph) -> Tensor:
    """Which edges lead from a node to itself, ``[K]``."""
    sender, receiver = graph.edge_index[:, level.edge]
    return sender == receiver
