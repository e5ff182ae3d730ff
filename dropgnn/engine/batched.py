"""Engine ``batched``: all copies at once, as one block-diagonal graph. Works with any module."""

from __future__ import annotations

import torch

from dropgnn.engine.copies import Embedded, expand
from dropgnn.engine.layers import as_layered, walk
from dropgnn.engine.norm import row_weights, takes_batch_statistics
from dropgnn.engine.whole import call_whole
from dropgnn.errors import InvalidArgument, Unsupported
from dropgnn.graph import Graph
from dropgnn.runs.modes import Mode
from dropgnn.runs.runs import Runs


def batched(encoder: torch.nn.Module, mode: Mode, graph: Graph, runs: Runs, *, pooled: bool = False) -> Embedded:
    """Run ``encoder`` on every copy.

    Args:
        encoder: Any GNN called as ``encoder(x, edge_index, ...)``.
        mode: What dropping does.
        graph: The batch.
        runs: Which items are dropped in which copy.
        pooled: Whether the encoder returns one row per graph instead of one per node.
    """
    copies, node = expand(graph, runs)
    left, rows, silenced = mode(copies, runs.mask())
    layered = None if pooled else as_layered(encoder)
    check_norms(encoder, runs)
    with row_weights(None if runs.equally_weighted else runs.weight[left.batch]):
        if layered is not None:
            x = walk(layered, left, silenced)
        elif silenced is not None:
            raise needs_layers(encoder)
        else:
            x = call_whole(encoder, left)
    copy = torch.arange(runs.num_copies, device=node.device) if pooled else left.batch
    check_rows(x.size(0), copy.numel(), pooled)
    return Embedded(x, runs.graph if pooled else node[rows], copy)


def check_norms(encoder: torch.nn.Module, runs: Runs) -> None:
    """Refuse batch statistics that would weigh unequal copies alike."""
    if not runs.equally_weighted and takes_batch_statistics(encoder, unweighted=True):
        raise Unsupported(
            f"{type(encoder).__name__} is training with a batch norm that takes no weights, on copies of unequal weight; "
            "use dropgnn.nn.WeightedBatchNorm in it, train on random runs, or train without batch norm"
        )


def check_rows(got: int, expected: int, pooled: bool) -> None:
    if got != expected:
        what = "graph" if pooled else "node"
        hint = "" if pooled else "if the encoder pools to one row per graph, say pooled=True"
        raise InvalidArgument(
            "encoder", f"must return one row per {what}, here {expected}", got=f"{got} rows", hint=hint
        )


def needs_layers(encoder: torch.nn.Module) -> Unsupported:
    return Unsupported(
        f"mode 'zero-layers' must reach between the layers of {type(encoder).__name__}, which we cannot take apart; use a "
        "PyG BasicGNN, subclass dropgnn.nn.Encoder, or choose mode 'zero' or 'remove'"
    )
