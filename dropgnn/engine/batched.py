"""Engine ``batched``: all copies at once, as one block-diagonal graph. Works with any module."""

from __future__ import annotations

from contextlib import nullcontext

import torch
from torch import Tensor

from dropgnn.engine.copies import expand, perturb
from dropgnn.engine.embedded import Rows
from dropgnn.engine.weighing import WeighCopies, tell_apart
from dropgnn.engine.whole import call_whole
from dropgnn.engine.zeroing import zeroing
from dropgnn.errors import InvalidArgument
from dropgnn.graph import Graph
from dropgnn.nn.norm import RowWeights, looks_over_ranks, row_weights, takes_batch_statistics
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
    return run_copies(encoder, mode, graph, runs, WeighCopies, pooled=pooled)


def run_copies(
    encoder: torch.nn.Module, mode: Mode, graph: Graph, runs: Runs, norm: type[WeighCopies], *, pooled: bool
) -> Rows:
    """All copies laid end to end, with batch norm as ``norm`` has it where statistics are taken."""
    copies, node = expand(graph, runs)
    left, rows, silenced = perturb(copies, mode, runs.mask())
    given, weights = left, None
    if not runs.equally_weighted and takes_batch_statistics(encoder):
        given = tell_apart(left)
        if looks_over_ranks(encoder):  # torch's own batch norm learns the weights in its call
            weight = torch.nn.functional.pad(runs.weight, (0, 1))
            weights = RowWeights(weight[given.batch], left.num_nodes)
    added = given.num_nodes - left.num_nodes
    silenced = None if silenced is None else torch.nn.functional.pad(silenced, (0, added))
    plain = runs.equally_weighted and not norm.for_equal_weights
    with row_weights(weights), nullcontext() if plain else norm(lambda: given, runs, added):
        x = run_whole(encoder, given, silenced, pooled=pooled)
    if added:
        check_rows(x.size(0), given.num_graphs if pooled else given.num_nodes, pooled)
        x = x[: runs.num_copies if pooled else left.num_nodes]
    return rows_of_copies(x, node[rows], left, graph, runs, pooled)


def run_whole(encoder: torch.nn.Module, graph: Graph, silenced: Tensor | None, *, pooled: bool) -> Tensor:
    """``encoder`` on what dropping left of a graph, with ``silenced`` rows zero wherever they are read."""
    dropped = None if silenced is None else lambda: silenced
    with zeroing(dropped, lambda: graph.batch, [one.value for one in graph.extra]) as zeroes:
        x = call_whole(encoder, graph)
        return x if zeroes is None or pooled else zeroes.read(x)


def rows_of_copies(x: Tensor, owner: Tensor, left: Graph, graph: Graph, runs: Runs, pooled: bool) -> Rows:
    """What came out of all copies, where ``owner`` is the node that each row of ``left`` is a copy of."""
    copy = torch.arange(runs.num_copies, device=owner.device) if pooled else left.batch
    check_rows(x.size(0), copy.numel(), pooled)
    return as_rows(x, runs.graph if pooled else owner, copy, graph, runs, pooled)


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
