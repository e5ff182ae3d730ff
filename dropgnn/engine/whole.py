"""Modules of the user's that we cannot take apart: called as they are, on one graph of many components."""

from __future__ import annotations

import inspect

import torch
from torch import Tensor
from torch_geometric.nn import GraphNorm, GraphSizeNorm, InstanceNorm, LayerNorm, MeanSubtractionNorm, PairNorm
from torch_geometric.nn.models.basic_gnn import BasicGNN

from dropgnn.errors import InvalidArgument, Unsupported
from dropgnn.graph import Graph

SIZES = ("batch_size", "num_graphs")
"""What a module may call the number of graphs."""

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
    parameters = list(inspect.signature(module.forward).parameters.values())
    for blind in _without_batch(module):
        _refuse_graph_wide_norms(blind)
    if any(parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters):
        return
    if len(parameters) < 2:
        raise Unsupported(
            f"{type(module).__name__}.forward takes {len(parameters)} argument(s), not (x, edge_index, ...): it is no GNN; "
            "wrap it in a module with forward(x, edge_index)"
        )
    for parameter in parameters[2:]:
        needed = parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
        if needed and parameter.name not in OURS:
            raise Unsupported(
                f"{type(module).__name__}.forward needs '{parameter.name}', which DropGNN cannot provide; wrap it in a "
                f"module with forward(x, edge_index, edge_attr=None, batch=None) that does"
            )


def _without_batch(module: torch.nn.Module) -> list[torch.nn.Module]:
    """The parts that are not told which graph a node belongs to: of a ``BasicGNN`` its convolutions, else all or none."""
    if isinstance(module, BasicGNN):
        return list(module.convs)
    return [] if "batch" in inspect.signature(module.forward).parameters else [module]


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
    parameters = inspect.signature(module.forward).parameters
    open_ended = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    extra: dict[str, Tensor | int] = {name: graph.num_graphs for name in SIZES if name in parameters}
    if graph.edge_attr is not None:
        if "edge_attr" not in parameters and not open_ended:
            raise Unsupported(f"{type(module).__name__}.forward has no 'edge_attr' and would ignore it; leave it out")
        extra["edge_attr"] = graph.edge_attr
    if "batch" in parameters:
        extra["batch"] = graph.batch
    out = module(graph.x, graph.edge_index, **extra)
    if not isinstance(out, Tensor) or out.dim() != 2:
        got = tuple(out.shape) if isinstance(out, Tensor) else type(out).__name__
        raise InvalidArgument("encoder", "must return a matrix of rows", got=got)
    return out
