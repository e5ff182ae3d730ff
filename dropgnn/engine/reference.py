"""Engine ``reference``: the definition, slow and obvious.

A plain loop over the copies, in which the encoder's own ``forward`` sees one of them at a time. Batch statistics belong to all
copies together: where they are taken, the copies are laid end to end, and the statistics are a few lines of arithmetic.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from dropgnn.engine.batched import as_rows, batched, check_rows, run_copies, run_whole
from dropgnn.engine.copies import perturb
from dropgnn.engine.embedded import Rows
from dropgnn.engine.row_norm import given_to_norm, move_running
from dropgnn.engine.weighing import WeighCopies, no_statistics
from dropgnn.graph import Graph
from dropgnn.nn.norm import takes_batch_statistics
from dropgnn.runs.modes import Mode
from dropgnn.runs.runs import Runs


def reference(encoder: torch.nn.Module, mode: Mode, graph: Graph, runs: Runs, *, pooled: bool = False) -> Rows:
    """Run ``encoder`` on every copy, one copy after the other. Arguments as for ``batched``."""
    if not takes_batch_statistics(encoder):
        try:
            with no_statistics(_TakesStatistics()):
                return _one_by_one(encoder, mode, graph, runs, pooled=pooled)
        except _TakesStatistics:  # by a call of the function
            pass
    return run_copies(encoder, mode, graph, runs, PlainStatistics, pooled=pooled)


class _TakesStatistics(BaseException):
    """A batch norm takes statistics, which belong to all copies together. No ``Exception``: a forward may catch those."""


def _one_by_one(encoder: torch.nn.Module, mode: Mode, graph: Graph, runs: Runs, *, pooled: bool) -> Rows:
    outs, owners = [], []
    for copy, number in enumerate(runs.graph.tolist()):
        alone, nodes = _component(graph, number)
        left, rows, silenced = perturb(alone, mode, _dropped(runs, copy))
        out = run_whole(encoder, left, silenced, pooled=pooled)
        check_rows(out.size(0), 1 if pooled else rows.numel(), pooled)
        outs.append(out)
        owners.append(nodes[rows])
    if not outs:  # no graphs: only the width of their rows is to be found out
        return batched(encoder, mode, graph, runs, pooled=pooled)
    copy_of_row = torch.tensor([copy for copy, out in enumerate(outs) for _ in out], dtype=torch.long)
    owner = runs.graph if pooled else torch.cat(owners)
    return as_rows(torch.cat(outs), owner, copy_of_row.to(graph.batch.device), graph, runs, pooled)


class PlainStatistics(WeighCopies):
    """Batch norm as its formula has it, with the weights of copies."""

    for_equal_weights = True

    def norm(self, function: Any, args: Any, kwargs: Any) -> Tensor:
        given = given_to_norm(args, kwargs)
        x, gain, bias = given["input"], given["weight"], given["bias"]
        if x.dim() != 2 and self.runs.equally_weighted:
            return function(*args, **kwargs)
        alike = x.new_ones(x.size(0)), x.size(0)
        weight, rows = alike if self.runs.equally_weighted else self.weights(x)
        share = (weight / weight.sum()).to(x.dtype).unsqueeze(1)
        mean = (share * x).sum(dim=0)
        variance = (share * (x - mean).square()).sum(dim=0)
        move_running(given, mean, variance, rows)
        unit = (x - mean) / (variance + given["eps"]).sqrt()
        return unit * (1.0 if gain is None else gain) + (0.0 if bias is None else bias)


def _component(graph: Graph, number: int) -> tuple[Graph, Tensor]:
    """One graph of the batch by itself, and its nodes."""
    nodes = (graph.batch == number).nonzero().squeeze(1)
    edges = (graph.batch[graph.edge_index[0]] == number).nonzero().squeeze(1)
    first = nodes[0] if nodes.numel() else 0
    attr = None if graph.edge_attr is None else graph.edge_attr[edges]
    extra = {one.name: one.value for one in graph.take_extra(nodes, edges)}
    return Graph.of(graph.x[nodes], graph.edge_index[:, edges] - first, attr, extra=extra), nodes


def _dropped(runs: Runs, copy: int) -> Tensor:
    size = int(runs.items_per_graph[runs.graph[copy]])
    mask = torch.zeros(size, dtype=torch.bool, device=runs.graph.device)
    mask[runs.dropped[1][runs.dropped[0] == copy]] = True
    return mask
