"""What an encoder of ours is: a plain module, rows in, rows out. It knows nothing of runs."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import Tensor
from torch_geometric.nn.models.basic_gnn import BasicGNN

from dropgnn.errors import InvalidArgument, Unsupported
from dropgnn.graph import Graph

ORDINARY = (Tensor, torch.nn.Parameter)


class Encoder(torch.nn.Module):
    """A GNN that says which inputs it takes; they are checked before anything is computed.

    Shapes:
        x ``[N, in_channels]``, edge_index ``[2, E]``, edge_attr ``[E, edge_dim]`` or ``None``; output ``[N, out_channels]``.
    """

    in_channels: int
    out_channels: int
    num_layers: int
    edge_dim: int | None = None

    def __init_subclass__(cls, **arguments: object) -> None:
        super().__init_subclass__(**arguments)
        if "layers" in vars(cls) and "forward" not in vars(cls):
            told = f"{cls.__name__}: write a forward instead of layers(), as for any module; layers() will go"
            warnings.warn(told, DeprecationWarning, stacklevel=2)
            cls.forward = _walk_layers

    def check(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None) -> None:
        """Raise where these are no inputs for it. Tensors that stand for others have been checked before."""
        if not isinstance(x, Tensor) or type(x) in ORDINARY:
            check_inputs(self, Graph.of(x, edge_index, edge_attr))


def _walk_layers(encoder: Any, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None) -> Tensor:
    """All layers of an encoder in turn."""
    encoder.check(x, edge_index, edge_attr)
    entry = encoder.entry() if hasattr(encoder, "entry") else None
    xs = [x if entry is None else entry(x)]
    for layer in encoder.layers():
        x = layer.conv(xs[-1], edge_index, edge_attr)
        if layer.update is not None:
            x = layer.update(x, torch.zeros(x.size(0), dtype=torch.long, device=x.device), 1)
        else:
            for module in layer.behind:
                x = module(x)
        xs.append(x)
    return encoder.combine(xs) if hasattr(encoder, "combine") else xs[-1]


def check_inputs(encoder: torch.nn.Module, graph: Graph) -> None:
    """Widths and dtypes are the encoder's, and edge features are given exactly where they are used.

    Of our encoders and PyG's ``BasicGNN`` all of that is known, of others the dtype of their weights.
    """
    if isinstance(encoder, Encoder | BasicGNN):
        _check_edge_attr(encoder, None if graph.edge_attr is None else graph.edge_attr.size(1))
        width = encoder.in_channels
        if isinstance(width, int) and width > 0 and graph.x.size(1) != width:
            raise InvalidArgument("x", f"must have the encoder's {width} features per node", got=graph.x.size(1))
        for name, value in (("x", graph.x), ("edge_attr", graph.edge_attr)):
            if value is not None and not value.is_floating_point():
                hint = f"convert with {name}.float(), or one-hot categories"
                raise InvalidArgument(name, "must be floating point for this encoder", got=value.dtype, hint=hint)
    weights = next((p for p in encoder.parameters() if p.is_floating_point()), None)
    if weights is None or torch.is_autocast_enabled(graph.x.device.type):
        return
    for name, value in graph.tensors.items():
        if value.is_floating_point() and value.dtype != weights.dtype:
            raise InvalidArgument(
                name,
                f"must have the dtype of the encoder, {weights.dtype}",
                got=value.dtype,
                hint=f"convert with {name}.to({weights.dtype}) or model.to({value.dtype})",
            )


def _check_edge_attr(encoder: Encoder | BasicGNN, width: int | None) -> None:
    """Raise where edge features of this width are given but not used, or needed but not given; ``None`` means not given."""
    name = type(encoder).__name__
    ours = isinstance(encoder, Encoder)
    needed = encoder.edge_dim if ours else getattr(next(iter(encoder.convs)), "edge_dim", None)  # type: ignore[arg-type]
    if width == needed:
        return
    if width is None:
        raise Unsupported(f"{name} was built with edge_dim={needed} and needs edge_attr")
    if needed is not None:
        raise InvalidArgument("edge_attr", f"must have the encoder's {needed} features per edge", got=width)
    if ours:
        raise Unsupported(f"{name} would ignore edge_attr; use an encoder with edge features, or leave it out")
    if not encoder.supports_edge_attr:
        raise Unsupported(f"{name} would ignore edge_attr; use GINE, GAT or PNA with edge_dim, or leave it out")
    raise Unsupported(f"{name} was built without edge_dim and would ignore edge_attr; pass edge_dim to {name}")
