"""Engine ``batched``: all copies at once, as one block-diagonal graph. Works with any module."""

from __future__ import annotations

import torch
from torch import Tensor

from dropgnn.engine.copies import expand, perturb
from dropgnn.engine.embedded import Rows
from dropgnn.engine.layers import as_layered, walk
from dropgnn.engine.norm import RowWeights, row_weights
from dropgnn.engine.weighing import weighing
from dropgnn.engine.whole import call_whole
from dropgnn.errors import InvalidArgument, Unsupported
from dropgnn.graph import Graph
from dropgnn.runs.modes import Mode
from dropgnn.runs.runs import Runs


def batched(encoder: torch.nn.Module, mode: Mode, graph: Graph, runs: Runs, *, pooled: bool = False) -> Rows:
    """Run ``encoder`` on every copy.

    Args:
        encoder: Any GNN called as ``encoder(x, edge_index, ...)``.
        mode: What dropping does.
        graph: The batch.
        runs: Which items are dropped in which copy.
        pooled: Whether the encoder returns one row per graph instead of one per node.
    """
    copies, node = expand(graph, runs)
    left, rows, silenced = perturb(copies, mode, runs.mask())
    layered = None if pooled or graph.extra else as_layered(encoder)
    weights = None if runs.equally_weighted else RowWeights(runs.weight[left.batch], left.batch.numel())
    with row_weights(weights), weighing(runs, lambda: left):
        if layered is not None:
            x = walk(layered, left, silenced)
        elif silenced is not None:
            raise needs_layers(encoder)
        else:
            x = call_whole(encoder, left)
    copy = torch.arange(runs.num_copies, device=node.device) if pooled else left.batch
    check_rows(x.size(0), copy.numel(), pooled)
    return as_rows(x, runs.graph if pooled else node[rows], copy, graph, runs, pooled)


def as_rows(x: Tensor, owner: Tensor, copy: Tensor, graph: Graph, runs: Runs, pooled: bool) -> Rows:
    """Rows of nodes, or of graphs where the encoder pools, with the weights of their copies."""
    if pooled:
        return Rows(x, owner, copy, runs.weight[copy], graph.num_graphs, runs)
    return Rows(x, owner, copy, runs.row_weights(owner, copy), graph.num_nodes, runs)


def check_rows(got: int, expected: int, pooled: bool) -> None:
    if got != expected:
        what = "graph" if pooled else "node"
        hint = "if the encoder pools to one row per graph, say pooled=True"
        if pooled:
            hint = "its forward must have a parameter 'batch' and pool by it; an encoder of nodes needs no pooled=True"
        raise InvalidArgument(
            "encoder", f"must return one row per {what}, here {expected}", got=f"{got} rows", hint=hint
        )


def needs_layers(encoder: torch.nn.Module) -> Unsupported:
    return Unsupported(
        f"mode 'zero-layers' must reach between the layers of {type(encoder).__name__}, which we cannot take apart; use a "
        "PyG BasicGNN, subclass dropgnn.nn.Encoder, or choose mode 'zero' or 'remove'"
    )
