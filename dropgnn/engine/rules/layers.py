"""Layers with rules of their own, where the general one would be slower or wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
import torch_geometric.nn as pyg
from torch import Tensor

from dropgnn.engine.intercept import Call
from dropgnn.engine.rows import HANDLE_ACTS, Block, Handle, Lazy, Rows, rows_of
from dropgnn.engine.rules.general import act_in_general, aggregates, heard, is_plain
from dropgnn.engine.rules.rule import RULES, Rule
from dropgnn.nn.norm import RowWeights, WeightedBatchNorm, row_weights
from dropgnn.ops import ops_for

ARRIVING = "what arrives"
"""The role of rows that a linear map will be the first to look at."""

NARROW = 4
"""Rows that become wider by more than this factor are added up before they are mapped."""


def _act_gin(conv: pyg.GINConv, call: Call) -> Any:
    """Sum or mean of what arrives, in a compiled loop, and then the layer's network on the distinct rows."""
    given = heard(call)
    if given is None or given.edges or aggregates(conv) is None or not _adds_at_once(conv):
        return act_in_general(conv, call)
    x, sharing, level = given.rows["x"].distinct(), call.sharing, given.level + 1
    if x.dim() != 2:
        return act_in_general(conv, call)
    states = sharing.level(level)

    def arriving(rows: Tensor, bias: Tensor | None = None) -> Rows:
        ops = ops_for(rows, sharing.plan.work)
        out = ops.hear(rows, *states.along, 1.0 + float(conv.eps), aggregates(conv) == "mean")
        out = out if bias is None else out + bias
        return rows_of([Block(out, level)], sharing.nodes)

    first = _first_map(conv.nn)
    fewer = x.dim() == 2 and x.size(0) <= states.num_states
    if first is None or not fewer or first.weight.size(0) > NARROW * x.size(1):
        return conv.nn(arriving(x))
    shape = (sharing.nodes.num_rows, x.size(1))
    later = Handle(shape, x, sharing.nodes, lambda: arriving(x).full(), ARRIVING)
    later.mapped = lambda weight, bias: arriving(F.linear(x, weight), bias)
    return conv.nn(later)


def _first_map(network: Any) -> Any:
    """The linear map that a network begins with, if it does."""
    parts: Any = network.lins if type(network) is pyg.MLP else network if type(network) is torch.nn.Sequential else []
    return parts[0] if len(parts) and is_plain(parts[0]) else None


def _map_first(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A linear map of what arrives, which is what arrives of mapped rows: those below are fewer."""
    if kwargs or not 2 <= len(args) <= 3 or args[0].role != ARRIVING or isinstance(args[1], Lazy):
        return NotImplemented
    return args[0].mapped(args[1], args[2] if len(args) > 2 else None)


HANDLE_ACTS[F.linear] = HANDLE_ACTS[torch._C._nn.linear] = _map_first


def _adds_at_once(conv: Any) -> bool:
    """Whether a constant, and no parameter, says how much a node's own row counts."""
    return not conv.eps.requires_grad and not isinstance(conv.eps, torch.nn.Parameter)


def _act_sums(conv: pyg.GraphConv | pyg.SAGEConv, call: Call) -> Any:
    """The sum or mean of what arrives, and the own row, each behind a linear map; the maps go in front of the sum."""
    given, sharing = heard(call), call.sharing
    if given is None or given.edges or set(given.rows) != {"x"} or aggregates(conv) is None:
        return act_in_general(conv, call)
    arriving, own = (conv.lin_rel, conv.lin_root) if isinstance(conv, pyg.GraphConv) else (conv.lin_l, _root(conv))
    if not is_plain(arriving) or (own is not None and not is_plain(own)) or getattr(conv, "project", False):
        return act_in_general(conv, call)
    x, states = given.rows["x"].distinct(), sharing.level(given.level + 1)
    if x.dim() != 2 or arriving.weight.size(0) > NARROW * x.size(1):
        return act_in_general(conv, call)
    mapped = F.linear(x, arriving.weight)
    ops = ops_for(mapped, sharing.plan.work)
    out = ops.hear(mapped, *states.along, 0.0, aggregates(conv) == "mean")
    out = out if arriving.bias is None else out + arriving.bias
    if own is not None:
        out = out + ops.take_rows(own(x), states.own)
    if getattr(conv, "normalize", False):
        out = F.normalize(out, p=2.0, dim=-1)
    return rows_of([Block(out, given.level + 1)], sharing.nodes)


def _root(conv: pyg.SAGEConv) -> Any:
    return conv.lin_r if conv.root_weight else None


def _act_gine(conv: pyg.GINEConv, call: Call) -> Any:
    """Features of edges go through their map once for each kind; what arrives is added up without storing it."""
    given, sharing = heard(call), call.sharing
    if given is None or set(given.edges) != {"edge_attr"} or aggregates(conv) is None or not _adds_at_once(conv):
        return act_in_general(conv, call)
    x, (features, kind) = given.rows["x"].distinct(), given.edges["edge_attr"]
    if conv.lin is not None and not is_plain(conv.lin):
        return act_in_general(conv, call)
    features = features if conv.lin is None else conv.lin(features)
    if x.dim() != 2 or features.shape[1:] != x.shape[1:] or features.dtype != x.dtype:
        return act_in_general(conv, call)
    states, ops = sharing.level(given.level + 1), ops_for((x, features), sharing.plan.work)
    along = (states.own, states.edge_ptr, states.sender, states.edge, kind)
    out = ops.hear_edges(x, features, *along, 1.0 + float(conv.eps), aggregates(conv) == "mean")
    return conv.nn(rows_of([Block(out, given.level + 1)], sharing.nodes))


def _act_gcn(conv: pyg.GCNConv, call: Call) -> Any:
    """Neighbours and itself, over the square roots of both degrees after dropping."""
    given, sharing = heard(call), call.sharing
    if given is None or given.edges or not _knows_degrees(conv) or not is_plain(conv.lin) or not sharing.plan.degrees:
        return act_in_general(conv, call, rounds=1 + conv.normalize)
    x, below, level = conv.lin(given.rows["x"].distinct()), sharing.level(given.level), sharing.level(given.level + 1)
    row, column = level.receiver, level.sender
    if sharing.has_loops:
        others = ~sharing.is_loop[level.edge.long()]
        row, column = row[others], column[others]
    value = (below.degree[column].double() * level.degree[row]).rsqrt()
    row = torch.cat([torch.arange(level.num_states, device=x.device), row])
    column, value = torch.cat([level.own, column]), torch.cat([1.0 / level.degree.double(), value])
    out = ops_for(x, sharing.plan.work).combine(x, level.num_states, row, column, value)
    out = out if conv.bias is None else out + conv.bias
    return rows_of([Block(out, given.level + 1)], sharing.nodes)


def _knows_degrees(conv: pyg.GCNConv) -> bool:
    """Whether the degrees after dropping, with a loop at every node, are all that the layer looks at beside what arrives."""
    return conv.normalize and conv.add_self_loops and not conv.improved and aggregates(conv) == "sum"


def _act_norm(norm: WeightedBatchNorm, call: Call) -> Any:
    """Batch norm, and the ReLU behind it, of rows that count as often as they occur."""
    x, sharing = call.given.get("x"), call.sharing
    if not isinstance(x, Rows) or x.space is not sharing.nodes or x.was_touched or x.dim() != 2:
        return NotImplemented
    level = sharing.level(x.level)
    with row_weights(RowWeights(level.weight, level.rows)):
        return rows_of([Block(call.run(norm, x.distinct()), x.level)], sharing.nodes)


def _register(kind: type[torch.nn.Module], act: Any, *, rounds: int = 1) -> None:
    RULES[kind] = Rule(kind, act)


_register(pyg.GraphConv, _act_sums)
_register(pyg.SAGEConv, _act_sums)
_register(pyg.GINConv, _act_gin)
_register(pyg.GINEConv, _act_gine)
RULES[WeightedBatchNorm] = Rule(WeightedBatchNorm, _act_norm, lambda norm: 0)
RULES[pyg.GCNConv] = Rule(pyg.GCNConv, _act_gcn, lambda conv: 1 + conv.normalize, degrees=_knows_degrees)
