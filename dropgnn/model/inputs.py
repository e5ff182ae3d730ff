"""The ways to call a model that PyG's users know, as one value: a batch with everything that the encoder names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.data.data import BaseData
from torch_geometric.nn.models.basic_gnn import BasicGNN

from dropgnn.engine.whole import SIZES, takes_data
from dropgnn.errors import InvalidArgument, Unsupported
from dropgnn.graph import Graph
from dropgnn.nn.modules import forward_parameters

OWN = ("x", "edge_index", "edge_attr", "batch", *SIZES)
"""Inputs with places of their own."""

LABELS = ("y", "ptr", "train_mask", "val_mask", "test_mask")
"""What PyG's data holds beside inputs."""


def graph_of(
    encoder: torch.nn.Module,
    x: Any,
    edge_index: Any = None,
    edge_attr: Any = None,
    batch: Any = None,
    num_graphs: Any = None,
    more: Mapping[str, Any] | None = None,
) -> Graph:
    """The batch that a model is called with.

    Args:
        encoder: What it is for.
        x: Node features, or PyG's ``Data`` or ``Batch`` with everything.
        edge_index, edge_attr, batch, num_graphs: As for :meth:`Graph.of`; whole numbers in the place of
            ``edge_attr`` are a batch.
        more: Other inputs that the encoder's ``forward`` names.
    """
    more = {name: value for name, value in (more or {}).items() if value is not None}
    if isinstance(x, BaseData):
        given = {"edge_index": edge_index, "edge_attr": edge_attr, "batch": batch, "num_graphs": num_graphs} | more
        for name, value in given.items():
            if value is not None:
                raise InvalidArgument(
                    name, "must not be given beside PyG's data, which has it", got=type(value).__name__
                )
        return _of_data(encoder, x)
    if batch is None and isinstance(edge_attr, Tensor) and edge_attr.dim() == 1 and edge_attr.dtype == torch.long:
        edge_attr, batch = None, edge_attr
    for name in more:
        if not _names(encoder, name):
            rule = f"is no input of {type(encoder).__name__}.forward"
            raise InvalidArgument(name, rule, got=type(more[name]).__name__, hint=f"its inputs are {_inputs(encoder)}")
    return Graph.of(x, edge_index, edge_attr, batch, num_graphs, more)


def _of_data(encoder: torch.nn.Module, data: BaseData) -> Graph:
    """What the encoder names, out of PyG's data."""
    if not isinstance(data, Data):
        raise Unsupported(
            f"{type(data).__name__} has nodes or edges of several types; a DropGNN takes Data or a Batch of it"
        )
    kept = data.to_dict()
    if not isinstance(kept.get("x"), Tensor):
        hint = "without features use torch.ones(data.num_nodes, 1)"
        raise InvalidArgument(
            "x", "must be a tensor of node features [N, F]", got=type(kept.get("x")).__name__, hint=hint
        )
    others = {name: value for name, value in kept.items() if name not in (*OWN, *LABELS) and isinstance(value, Tensor)}
    rows = (data.num_nodes, data.num_edges)
    wanted = {
        name: value
        for name, value in others.items()
        if _names(encoder, name, open_ended=False) and value.dim() and value.size(0) in rows
    }
    attr = kept.get("edge_attr") if _names(encoder, "edge_attr") else None
    number = data.num_graphs if kept.get("batch") is not None else None
    return Graph.of(kept["x"], kept.get("edge_index"), attr, kept.get("batch"), number, wanted)


def _names(encoder: torch.nn.Module, name: str, *, open_ended: bool = True) -> bool:
    """Whether the encoder's ``forward`` takes an input of this name, and uses it."""
    if isinstance(encoder, BasicGNN) and name in ("edge_weight", "edge_attr"):
        return bool(encoder.supports_edge_weight if name == "edge_weight" else encoder.supports_edge_attr)
    if takes_data(encoder):
        return True
    parameters = forward_parameters(encoder)
    any_name = open_ended and any(one.kind is one.VAR_KEYWORD for one in parameters.values())
    return name in parameters or any_name


def _inputs(encoder: torch.nn.Module) -> str:
    return ", ".join(forward_parameters(encoder))
