"""Whether a layer looks only where a rule says: tried on small random graphs with loops, nodes alone and equal features."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_map

from dropgnn.engine.handles import EDGES
from dropgnn.engine.rows import Handle, Lazy, Rows
from dropgnn.engine.rules.general import general_rule
from dropgnn.engine.rules.rule import RULES
from dropgnn.graph import Graph
from dropgnn.runs.modes import MODES
from dropgnn.runs.samplers import Bernoulli

FEATURES, KINDS = 3, 3
"""Features per node, and kinds of edges, of the graphs that layers are tried on."""

TOLERANCE = 1e-6


class Tried(torch.nn.Module):
    """A layer by itself.

    Args:
        layer: The layer.
        call: ``(layer, x, edge_index, edge_attr) -> rows``.
    """

    def __init__(self, layer: torch.nn.Module, call: Callable[..., Tensor]) -> None:
        super().__init__()
        self.layer, self.call = layer, call

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:
        return self.call(self.layer, x, edge_index, edge_attr).flatten(1)


def difference(layer: torch.nn.Module, call: Callable[..., Tensor], *, rounds: int = 1) -> str | None:
    """How a layer differs under the general rule from what it is copy by copy, or ``None`` where it does not.

    Args:
        layer: A copy of it is tried, in evaluation and in double precision.
        call: ``(layer, x, edge_index, edge_attr) -> rows`` for three features per node and three per edge.
        rounds: How many rounds of states the rule gives it.
    """
    from dropgnn.engine.batched import batched
    from dropgnn.engine.shared import share

    tried, kind = Tried(copy.deepcopy(layer), call).double().eval(), type(layer)
    before = RULES.get(kind)
    RULES[kind] = general_rule(kind, rounds=lambda module: rounds)
    try:
        for loops in (False, True):
            for mode in ("zero", "remove"):
                graph = some_graphs(loops)
                runs = Bernoulli(0.3, 6)(graph, items="nodes", generator=torch.Generator().manual_seed(1))
                with torch.no_grad():
                    expected = batched(tried, MODES[mode](), graph, runs).sums()
                    rows, sharing = share(tried, MODES[mode](), graph, runs)
                if sharing.ended:
                    return f"cannot be shared: {sharing.ended[0]}"
                if not torch.allclose(rows.sums(), expected, rtol=TOLERANCE, atol=TOLERANCE):
                    where = "graphs with loops" if loops else "graphs without loops"
                    return f"looks at more than its in-edges: on {where}, mode {mode!r}, the result is another"
    finally:
        if before is None:
            del RULES[kind]
        else:
            RULES[kind] = before
    return None


def some_graphs(loops: bool) -> Graph:
    """Three random graphs with equal features and nodes alone, and loops at some nodes."""
    source = torch.Generator().manual_seed(3)
    edges, sizes, first = [], (7, 5, 1), 0
    for size in sizes:
        forth = (torch.rand(size, size, generator=source) < 0.4).triu(1)
        forth[:, -1] = False
        here = (forth | forth.t()).nonzero().t()
        if loops:
            here = torch.cat([here, torch.arange(0, size, 2).expand(2, -1)], dim=1)
        edges.append(here + first)
        first += size
    edge_index = torch.cat(edges, dim=1)
    x = torch.eye(FEATURES, dtype=torch.float64)[torch.randint(2, (first,), generator=source)]
    attr = torch.eye(KINDS, dtype=torch.float64)[torch.randint(KINDS, edge_index.shape[1:], generator=source)]
    return Graph.of(x, edge_index, attr, torch.repeat_interleave(torch.arange(3), torch.tensor(sizes)), 3)


def as_called(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[..., Tensor]:
    """A call like one that a forward made, for other rows: random linear maps of theirs, as wide as those it was made with."""

    def call(layer: torch.nn.Module, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:
        source = torch.Generator().manual_seed(5)

        def stand_in(value: Any) -> Any:
            if isinstance(value, Rows) and value.is_floating_point():
                told = x if value.space is value.space.sharing.nodes else edge_attr
                width = int(torch.Size(value.shape[1:]).numel())
                mixed = told @ torch.randn(told.size(1), width, generator=source, dtype=torch.float64)
                return mixed.view(told.size(0), *value.shape[1:]) if value.dim() != 2 else mixed
            if isinstance(value, Handle) and value.role == EDGES:
                return edge_index
            if isinstance(value, Lazy) or (isinstance(value, Tensor) and value.dim()):
                raise NotImplementedError("it is called with what cannot be made up")
            return value

        return layer(*tree_map(stand_in, args), **tree_map(stand_in, kwargs))

    return call


def verdict(layer: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """What is to be said of a layer without a rule, called so."""
    name = type(layer).__name__
    try:
        found = difference(layer, as_called(args, kwargs))
    except Exception as problem:
        return f"no rule says what {name} looks at, and it could not be tried ({type(problem).__name__}: {problem})"
    if found is None:
        return (
            f"no rule says what {name} looks at; on small random graphs it looks only at its in-edges: if that is so "
            f"for all, say dropgnn.nn.share_layer({name})"
        )
    return f"no rule says what {name} looks at; tried on small random graphs, it {found}"
