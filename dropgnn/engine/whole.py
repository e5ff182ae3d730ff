"""Modules of the user's that we cannot take apart: called as they are, on one graph of many components."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.nn import GraphNorm, GraphSizeNorm, InstanceNorm, LayerNorm, MeanSubtractionNorm, PairNorm
from torch_geometric.nn.models.basic_gnn import BasicGNN

from dropgnn.errors import InvalidArgument, Unsupported
from dropgnn.graph import Graph
from dropgnn.nn.modules import forward_parameters

SIZES = ("batch_size", "num_graphs")
"""What a module may call the number of graphs."""

DATA = ("data", "batch", "graph")
"""What a module may call its one input, where that is PyG's data."""

OURS = ("edge_attr", "batch", *SIZES)
"""What we can provide beside x and edge_index."""

GRAPH_WIDE = (GraphNorm, GraphSizeNorm, InstanceNorm, MeanSubtractionNorm, PairNorm)


def check_wrappable(module: object) -> None:
    """Raise unless ``module`` is a GNN that can be called as ``module(x, edge_index, ...)``."""
    if not isinstance(module, torch.nn.Module):
        raise InvalidArgument(
            "encoder", "must be a torch.nn.Module", got=type(module).__name__, hint="pass an instance"
        )
    for child in module.modules():
        if getattr(child, "cached", False) is True:
            raise Unsupported(
                f"{type(child).__name__}(cached=True) would keep the first run's graph for all runs; set cached=False"
            )
    parameters = list(forward_parameters(module).values())
    for blind in _without_batch(module):
        _refuse_graph_wide_norms(blind)
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters) or takes_data(module):
        return
    if len(parameters) < 2:
        raise Unsupported(
            f"{type(module).__name__}.forward takes {len(parameters)} argument(s), not (x, edge_index, ...): it is no GNN; "
            "wrap it in a module with forward(x, edge_index)"
        )


def takes_data(module: torch.nn.Module) -> bool:
    """Whether ``module`` is called with PyG's data, and nothing else."""
    parameters = list(forward_parameters(module).values())
    needed = [one for one in parameters if one.default is one.empty and one.kind is not one.VAR_KEYWORD]
    return len(needed) == 1 and needed[0].name in DATA and parameters[0] is needed[0]


def _without_batch(module: torch.nn.Module) -> list[torch.nn.Module]:
    """The parts that are not told which graph a node belongs to: of a ``BasicGNN`` its convolutions, else all or none."""
    if isinstance(module, BasicGNN):
        return list(module.convs)
    return [] if "batch" in forward_parameters(module) else [module]


def _refuse_graph_wide_norms(module: torch.nn.Module) -> None:
    """Without a ``batch`` a norm over the graph would be one over all copies."""
    for name, child in module.named_modules():
        wide = isinstance(child, GRAPH_WIDE) or (isinstance(child, LayerNorm) and child.mode == "graph")
        if wide:
            raise Unsupported(
                f"{type(child).__name__} '{name}' looks at a whole graph, but {type(module).__name__} has no 'batch' to tell "
                "the copies apart; add batch=None to its forward and pass it on to the norm, or use another norm"
            )


def call_whole(module: torch.nn.Module, graph: Graph) -> Tensor:
    """``module`` on ``graph``, with edge features where there are any and ``batch`` where it asks for it."""
    out = call_with(
        module, graph.x, graph.edge_index, given_to(module, graph, {one.name: one.value for one in graph.extra})
    )
    if not isinstance(out, Tensor) or out.dim() != 2:
        got = tuple(out.shape) if isinstance(out, Tensor) else type(out).__name__
        raise InvalidArgument("encoder", "must return a matrix of rows", got=got)
    return out


def given_to(module: torch.nn.Module, graph: Graph, more: dict[str, Any]) -> dict[str, Any]:
    """What a module is given beside x and edge_index: edge features where there are any, ``batch`` and sizes where it asks, and
    ``more``."""
    parameters = forward_parameters(module)
    open_ended = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()) or takes_data(module)
    extra: dict[str, Any] = {name: graph.num_graphs for name in SIZES if name in parameters}
    if graph.edge_attr is not None:
        if "edge_attr" not in parameters and not open_ended:
            raise Unsupported(f"{type(module).__name__}.forward has no 'edge_attr' and would ignore it; leave it out")
        extra["edge_attr"] = graph.edge_attr
    if "batch" in parameters or takes_data(module):
        extra["batch"] = graph.batch
    needed = [
        one.name
        for one in list(parameters.values())[2:]
        if one.default is one.empty and one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)
    ]
    missing = [name for name in needed if name not in extra | more]
    if missing and not takes_data(module):
        raise InvalidArgument(
            missing[0],
            f"is needed by {type(module).__name__}.forward",
            got=None,
            hint=f"call model(..., {missing[0]}=...)",
        )
    return extra | more


def call_with(module: torch.nn.Module, x: Tensor, edge_index: Tensor, given: dict[str, Any]) -> Any:
    """Call ``module`` as it wants to be called."""
    if takes_data(module):
        return module(Data(x=x, edge_index=edge_index, **given))
    return module(x, edge_index, **given)
