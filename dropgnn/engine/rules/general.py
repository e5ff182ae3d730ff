"""The general rule: a layer that looks at its own row and at what arrives along edges is called, unchanged, on a small graph.

The nodes of the small graph are the states below and, behind them, the states to be computed, with their own rows; its edges are
those along which the latter hear the former. Self-loops, in-degrees, softmax over neighbours and several aggregations come out
right. A layer of K hops gets K rounds of states, one behind the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
import torch_geometric.nn as pyg
from torch import Tensor

from dropgnn.engine.edge_features import kinds_of
from dropgnn.engine.intercept import Call, is_edges
from dropgnn.engine.rows import Block, CannotShare, Lazy, Rows, rows_of
from dropgnn.engine.rules.parts import unknown_part
from dropgnn.engine.rules.rule import Rule
from dropgnn.engine.rules.small_graph import Inside, SmallGraph
from dropgnn.nn.norm import takes_batch_statistics


class Heard(NamedTuple):
    """What a layer is given along the edges of a forward.

    Args:
        rows: The rows it is called with, by argument.
        edges: Features of the edges it is called with, by argument: one per kind, and the kind of each edge of the graph.
        rest: Its other arguments, the same for everybody.
    """

    rows: dict[str, Rows]
    edges: dict[str, tuple[Tensor, Tensor]]
    rest: dict[str, Any]
    level: int


def heard(call: Call) -> Heard | None:
    """A call taken apart, or ``None`` where something in it is not known to be the same for equal rows."""
    sharing, rows, edges, rest = call.sharing, {}, {}, {}
    if not is_edges(call.given.get("edge_index"), sharing):
        return None
    for name, value in call.given.items():
        if isinstance(value, Rows):
            if value.was_touched:
                return None
            if value.space is sharing.nodes:
                rows[name] = value
            elif value.space is sharing.edges:
                edges[name] = (value.distinct(), kinds_of(sharing.plan).of_edge)
            else:
                return None
        elif isinstance(value, Lazy):
            if name != "edge_index":
                return None
        elif isinstance(value, Tensor) and value.dim():
            return None
        elif (
            value is None
            or isinstance(value, (bool, int, float, str))
            or (isinstance(value, Tensor) and not value.dim())
        ):
            rest[name] = value
        else:
            return None
    if "x" not in rows or rest.get("size") is not None:
        return None
    return Heard(rows, edges, rest, max(value.level for value in rows.values()))


def act_in_general(module: torch.nn.Module, call: Call, *, rounds: int = 1) -> Any:
    """Call the layer on the small graph."""
    given, sharing = heard(call), call.sharing
    norms = takes_batch_statistics(module)
    if given is None or (rounds > 1 and norms) or unknown_part(module) is not None:
        return NotImplemented
    graph = SmallGraph([sharing.level(given.level + number) for number in range(rounds + 1)], sharing, norms=norms)
    arguments: dict[str, Any] = dict(given.rest)
    below: dict[int, Tensor] = {}
    for name, rows in given.rows.items():
        x = sharing.nodes.lift(rows.distinct(), rows.level, given.level)
        arguments[name] = graph.lift(x)
        below[id(arguments[name])] = x
    for name, (features, kind) in given.edges.items():
        arguments[name] = features.index_select(0, kind[graph.edge.long()])
    with Inside(graph, below, norms=norms):
        out = call.run(module, **arguments, edge_index=graph.edge_index)
    if not isinstance(out, Tensor) or out.dim() < 2 or out.size(0) != graph.num_nodes:
        if norms:
            raise CannotShare(f"{type(module).__name__} returns no rows, and has moved its statistics")
        return NotImplemented
    return rows_of([Block(out[graph.starts[-2] : graph.starts[-1]], given.level + rounds)], sharing.nodes)


def aggregates(conv: Any) -> str | None:
    """``"sum"`` or ``"mean"`` where that is how a layer aggregates, which its module decides and not its attribute."""
    return {pyg.SumAggregation: "sum", pyg.MeanAggregation: "mean"}.get(type(conv.aggr_module))


def is_plain(linear: Any) -> bool:
    """Whether a module is a linear map, and has seen how wide its rows are."""
    return type(linear) in (torch.nn.Linear, pyg.Linear) and isinstance(linear.weight, torch.nn.Parameter)


def general_rule(
    kind: type[torch.nn.Module],
    *,
    rounds: Callable[[Any], int] = lambda module: 1,
    obstacle: Callable[[Any], str | None] | None = None,
) -> Rule:
    """The rule of a class that looks at its own row and at what arrives along edges, so many hops far.

    Args:
        kind: The class.
        rounds: How many rounds of states the result depends on: hops, and one more where degrees of senders count.
        obstacle: Why a module, as it is set, does something else.
    """

    return Rule(kind, lambda module, call: act_in_general(module, call, rounds=rounds(module)), rounds, obstacle)
