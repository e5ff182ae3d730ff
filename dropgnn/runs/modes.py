r"""Modes: what dropping does to a graph, :math:`\mathrm{mode}(G, S)`.

A mode is called with a graph and a mask of dropped items. It never looks at copies: a batch of copies is a graph too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from dropgnn.errors import InvalidArgument, of_kind
from dropgnn.graph import Graph
from dropgnn.registry import Registry


class Perturbed(NamedTuple):
    """What is left of a graph after dropping.

    Shapes:
        rows ``[N']``: which rows of the graph before dropping the rows of ``graph`` are;
        silenced ``[N']``: rows to be zeroed after every layer too, or ``None``.
    """

    graph: Graph
    rows: Tensor
    silenced: Tensor | None = None


class Effect(NamedTuple):
    """What a mode does, in the words that planning and theory understand.

    Args:
        first: What a dropped node's row is before the first layer: ``"keep"`` as it is, ``"zero"``, or ``"absent"`` with its
            node.
        cuts: Which edges vanish: ``"none"``, ``"out"`` for those that dropped nodes send along, ``"both"`` for all of theirs,
            ``"link"`` for dropped links.
        zero_when_read: Whether a dropped node's row is zero wherever a layer or a pooling reads it.
    """

    first: str
    cuts: str
    zero_when_read: bool

    @property
    def removes(self) -> bool:
        """Whether dropped nodes vanish."""
        return self.first == "absent"


class Mode(ABC):
    """What dropping does.

    A mode whose class declares its ``effect`` beside its ``__call__`` can be shared; any other is run copy by copy.
    """

    items: str = "nodes"
    effect: Effect | None = None

    def check(self, x: Tensor) -> None:
        """Raise where rows like those of x cannot be dropped."""
        if self.effect is not None and self.effect.first == "zero":
            _zeroed(x[:0], torch.zeros(0, dtype=torch.bool, device=x.device))

    @property
    def shared_effect(self) -> Effect | None:
        """The effect, where it is declared for the ``__call__`` in use: a class derived from ours may do anything."""
        for kind in type(self).__mro__:
            if "effect" in vars(kind):
                return self.effect
            if "__call__" in vars(kind):
                return None
        return None

    @abstractmethod
    def __call__(self, graph: Graph, dropped: Tensor) -> Perturbed:
        """Perturb ``graph``; ``dropped`` is a mask over its nodes, or over its links where ``items`` says so."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class ZeroInputs(Mode):
    """Set the input features of dropped nodes to zero. What the paper's experiments do."""

    effect = Effect("zero", "none", zero_when_read=False)

    def __call__(self, graph: Graph, dropped: Tensor) -> Perturbed:
        _check(graph, dropped, self.items)
        return Perturbed(replace(graph, x=_zeroed(graph.x, dropped)), _all_rows(graph))


class ZeroLayers(Mode):
    """Set the rows of dropped nodes to zero before and after every layer."""

    effect = Effect("zero", "none", zero_when_read=True)

    def __call__(self, graph: Graph, dropped: Tensor) -> Perturbed:
        _check(graph, dropped, self.items)
        return Perturbed(replace(graph, x=_zeroed(graph.x, dropped)), _all_rows(graph), dropped)


class RemoveNodes(Mode):
    """Take dropped nodes and their edges out of the graph. The paper's definition; a removed node has no embedding."""

    effect = Effect("absent", "both", zero_when_read=False)

    def __call__(self, graph: Graph, dropped: Tensor) -> Perturbed:
        _check(graph, dropped, self.items)
        rows = (~dropped).nonzero().squeeze(1)
        renumber = (~dropped).cumsum(0) - 1
        kept = _without_edges(graph, dropped[graph.edge_index].any(dim=0))
        left = replace(kept, x=graph.x[rows], edge_index=renumber[kept.edge_index], batch=graph.batch[rows])
        return Perturbed(left, rows)


class DropEdges(Mode):
    """Take dropped links out of the graph, both directions together."""

    items = "links"
    effect = Effect("keep", "link", zero_when_read=False)

    def __call__(self, graph: Graph, dropped: Tensor) -> Perturbed:
        _check(graph, dropped, self.items)
        return Perturbed(_without_edges(graph, dropped[graph.links.of_edge]), _all_rows(graph))


class ReceiveOnly(Mode):
    """Dropped nodes hear but do not speak: their outgoing edges vanish, a self-loop included."""

    effect = Effect("keep", "out", zero_when_read=False)

    def __call__(self, graph: Graph, dropped: Tensor) -> Perturbed:
        _check(graph, dropped, self.items)
        return Perturbed(_without_edges(graph, dropped[graph.edge_index[0]]), _all_rows(graph))


MODES = Registry[type[Mode]](
    "mode",
    {
        "zero": ZeroInputs,
        "zero-layers": ZeroLayers,
        "remove": RemoveNodes,
        "edges": DropEdges,
        "receive-only": ReceiveOnly,
    },
)


def _check(graph: Graph, dropped: Tensor, items: str) -> None:
    """Raise unless ``dropped`` is a mask over the items of ``graph``. Looks at no entry."""
    of_kind("graph", graph, Graph, "build one with Graph.of(x, edge_index, ...)")
    many = graph.num_nodes if items == "nodes" else graph.links.number
    mask = isinstance(dropped, Tensor) and dropped.dtype == torch.bool and dropped.layout == torch.strided
    if not mask or dropped.shape != (many,) or dropped.device != graph.batch.device:
        got = (
            f"{dropped.dtype} of shape {tuple(dropped.shape)}"
            if isinstance(dropped, Tensor)
            else type(dropped).__name__
        )
        rule = f"must be a mask over the {many} {items} of the graph, torch.bool on {graph.batch.device}"
        raise InvalidArgument("dropped", rule, got=got, hint="Runs.mask() gives one for all copies")


def _all_rows(graph: Graph) -> Tensor:
    return torch.arange(graph.num_nodes, device=graph.batch.device)


def _zeroed(x: Tensor, dropped: Tensor) -> Tensor:
    if not x.is_floating_point():
        raise InvalidArgument(
            "x",
            "must be floating point where dropping means zeroing, since 0 is a category of its own",
            got=x.dtype,
            hint="embed or one-hot the features first, or use mode='remove'",
        )
    return x.masked_fill(dropped.unsqueeze(1), 0.0)


def _without_edges(graph: Graph, gone: Tensor) -> Graph:
    attr = graph.edge_attr
    return replace(graph, edge_index=graph.edge_index[:, ~gone], edge_attr=None if attr is None else attr[~gone])
