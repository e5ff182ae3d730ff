r"""A GNN taken apart: :math:`x_{l+1} = \mathrm{update}_l(\mathrm{conv}_l(x_l, E))`, then ``combine``.

``conv`` looks at neighbours, so it belongs to one copy. ``update`` looks at one row at a time, except for norms, whose
statistics belong to the whole batch. Engines need the two apart; encoders of ours and PyG's ``BasicGNN`` come apart,
any other module is taken whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol, cast, runtime_checkable

import torch
from torch import Tensor
from torch_geometric.nn import GINConv, GINEConv
from torch_geometric.nn.models.basic_gnn import BasicGNN

from dropgnn.errors import InvalidArgument, Unsupported
from dropgnn.graph import Graph


@dataclass(frozen=True)
class Layer:
    """One layer.

    Args:
        conv: ``(x, edge_index, edge_attr) -> rows``, the part that looks at neighbours.
        update: ``(rows, batch, num_graphs) -> rows``, the part behind it; ``None`` where that is the modules of ``behind``, one
            after the other, and nothing else.
        message: The module that ``conv`` runs, and does no more than run: engines that share call it in their own way.
        behind: The modules, or functions, that ``update`` runs; what else it does must treat rows one by one, and nothing random.
        split: Whether ``conv`` is only the gathering of a GIN layer, whose MLP is the first of ``behind``.
        own: Whether ``conv`` puts a node's own row behind what it hears, for an ``update`` that needs both.
    """

    conv: Callable[[Tensor, Tensor, Tensor | None], Tensor]
    update: Callable[[Tensor, Tensor, int], Tensor] | None
    message: torch.nn.Module
    behind: tuple[Callable[..., Tensor], ...]
    split: bool = False
    own: bool = False

    def run_update(self, rows: Tensor, batch: Tensor, num_graphs: int) -> Tensor:
        if self.update is not None:
            return self.update(rows, batch, num_graphs)
        for module in self.behind:
            rows = module(rows)
        return rows


@runtime_checkable
class Layered(Protocol):
    """A GNN that comes apart into layers."""

    def entry(self) -> torch.nn.Module | None:
        """What is done to each row of the input before the first layer, if anything."""

    def layers(self) -> Sequence[Layer]:
        """The layers in order."""

    def combine(self, xs: Sequence[Tensor]) -> Tensor:
        """The embedding from the rows ``xs[0]`` before the first layer and those after every layer."""

    def slices(self) -> Sequence[int] | None:
        """Where ``combine`` only puts some of the ``xs`` side by side: which; else ``None``."""

    def check_edge_attr(self, width: int | None) -> None:
        """Raise where edge features are given but not used, or needed but not given; ``None`` means not given."""


def as_layered(encoder: torch.nn.Module) -> Layered | None:
    """``encoder`` taken apart, or ``None`` where we cannot look into it."""
    if isinstance(encoder, BasicGNN):
        # A subclass that overrides forward does something else between or behind the layers: take it whole.
        return LayeredBasicGNN(encoder) if type(encoder).forward is BasicGNN.forward else None
    kind: Any = type(encoder)
    return cast(Layered, encoder) if _has_layers(kind) else None


@cache
def _has_layers(kind: type) -> bool:
    """Whether all of ``Layered`` is there; asking takes longer than running a small layer, so it is asked once."""
    return issubclass(kind, Layered)


def walk(layered: Layered, graph: Graph, silenced: Tensor | None) -> Tensor:
    """All layers in turn; ``silenced`` rows are zeroed after each."""
    x = enter(layered, graph.x, silenced)
    xs = [x]
    for layer in layered.layers():
        x = layer.run_update(layer.conv(x, graph.edge_index, graph.edge_attr), graph.batch, graph.num_graphs)
        x = silence(x, silenced)
        xs.append(x)
    return layered.combine(xs)


def enter(layered: Layered, x: Tensor, silenced: Tensor | None) -> Tensor:
    """The rows that the first layer sees; where nothing is done to the input it is zeroed already."""
    entry = layered.entry()
    return x if entry is None else silence(entry(x), silenced)


def silence(x: Tensor, silenced: Tensor | None) -> Tensor:
    return x if silenced is None else x.masked_fill(silenced.unsqueeze(1), 0.0)


def split_gin(conv: GINConv | GINEConv) -> tuple[Callable[[Tensor, Tensor, Tensor | None], Tensor], torch.nn.Module]:
    r"""GIN's layer as :math:`(1 + \varepsilon) x + \sum_j x_j` and the MLP behind it, which holds a batch norm."""
    edges_count = isinstance(conv, GINEConv)

    def gather(x: Tensor, edge_index: Tensor, edge_attr: Tensor | None) -> Tensor:
        extra = {"edge_attr": edge_attr} if edges_count else {}
        return conv.propagate(edge_index, x=(x, x), size=(x.size(0), x.size(0)), **extra) + (1 + conv.eps) * x

    return gather, conv.nn


class LayeredBasicGNN:
    """PyG's ``BasicGNN`` (GIN, GCN, GraphSAGE, GAT, PNA, EdgeCNN) taken apart, as its own ``forward`` runs it."""

    def __init__(self, model: BasicGNN) -> None:
        self.model = model

    def entry(self) -> torch.nn.Module | None:
        return None

    def layers(self) -> Sequence[Layer]:
        return [self._layer(number) for number in range(self.model.num_layers)]

    def _layer(self, number: int) -> Layer:
        model, module = self.model, self.model.convs[number]
        if type(module) in (GINConv, GINEConv):
            conv, mlp, split = *split_gin(module), True
        else:
            conv, mlp, split = self._whole(module), torch.nn.Identity(), False
        last_is_bare = number == model.num_layers - 1 and model.jk_mode is None
        norm = model.norms[number]

        def update(x: Tensor, batch: Tensor, num_graphs: int) -> Tensor:
            x = mlp(x)
            if last_is_bare:
                return x
            if model.act is not None and model.act_first:
                x = model.act(x)
            x = norm(x, batch, num_graphs) if model.supports_norm_batch else norm(x)
            if model.act is not None and not model.act_first:
                x = model.act(x)
            return model.dropout(x)

        behind = (mlp,) if last_is_bare else (mlp, norm, model.dropout, *([] if model.act is None else [model.act]))
        return Layer(conv, update, module, behind, split)

    def _whole(self, module: torch.nn.Module) -> Callable[[Tensor, Tensor, Tensor | None], Tensor]:
        if self.model.supports_edge_attr:
            return lambda x, edge_index, edge_attr: module(x, edge_index, edge_attr=edge_attr)
        return lambda x, edge_index, edge_attr: module(x, edge_index)

    def combine(self, xs: Sequence[Tensor]) -> Tensor:
        x = self.model.jk(list(xs[1:])) if hasattr(self.model, "jk") else xs[-1]
        return self.model.lin(x) if hasattr(self.model, "lin") else x

    def slices(self) -> Sequence[int] | None:
        return None if hasattr(self.model, "jk") or hasattr(self.model, "lin") else (self.model.num_layers,)

    def check_edge_attr(self, width: int | None) -> None:
        name = type(self.model).__name__
        built_for = getattr(self.model.convs[0], "edge_dim", None)
        if width is None:
            if built_for is not None:
                raise Unsupported(f"{name} was built with edge_dim={built_for} and needs edge_attr")
            return
        if not self.model.supports_edge_attr:
            raise Unsupported(f"{name} would ignore edge_attr; use GINE, GAT or PNA with edge_dim, or leave it out")
        if built_for is None:
            raise Unsupported(f"{name} was built without edge_dim and would ignore edge_attr; pass edge_dim to {name}")
        if width != built_for:
            raise InvalidArgument("edge_attr", f"must have the encoder's {built_for} features per edge", got=width)
