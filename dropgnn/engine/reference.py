"""Engine ``reference``: a plain loop over copies, layer by layer. The definition, slow and obvious."""

from __future__ import annotations

import torch
from torch import Tensor

from dropgnn.engine.batched import as_rows, batched, check_rows, needs_layers
from dropgnn.engine.copies import perturb
from dropgnn.engine.embedded import Rows
from dropgnn.engine.layers import Layered, as_layered, enter, silence
from dropgnn.engine.norm import RowWeights, row_weights, takes_batch_statistics
from dropgnn.engine.whole import call_whole
from dropgnn.errors import Unsupported
from dropgnn.graph import Graph
from dropgnn.runs.modes import Mode, Perturbed
from dropgnn.runs.runs import Runs


def reference(encoder: torch.nn.Module, mode: Mode, graph: Graph, runs: Runs, *, pooled: bool = False) -> Rows:
    """Run ``encoder`` on every copy, one copy after the other. Arguments as for ``batched``."""
    seen, owners = [], []
    for copy, number in enumerate(runs.graph.tolist()):
        alone, nodes = _component(graph, number)
        perturbed = perturb(alone, mode, _dropped(runs, copy))
        seen.append(perturbed)
        owners.append(nodes[perturbed.rows])
    if not seen:  # no graphs: only the width of their rows is to be found out
        return batched(encoder, mode, graph, runs, pooled=pooled)

    layered = None if pooled or graph.extra else as_layered(encoder)
    if layered is not None:
        outs = _layer_by_layer(layered, seen, runs)
    elif any(perturbed.silenced is not None for perturbed in seen):
        raise needs_layers(encoder)
    else:
        _refuse_batch_statistics(encoder)
        outs = [call_whole(encoder, perturbed.graph) for perturbed in seen]

    for out, nodes in zip(outs, owners, strict=True):
        check_rows(out.size(0), 1 if pooled else nodes.numel(), pooled)
    copy_of_row = torch.tensor([copy for copy, out in enumerate(outs) for _ in out], dtype=torch.long)
    copy_of_row = copy_of_row.to(graph.batch.device)
    owner = runs.graph if pooled else torch.cat(owners)
    return as_rows(torch.cat(outs), owner, copy_of_row, graph, runs, pooled)


def _layer_by_layer(layered: Layered, seen: list[Perturbed], runs: Runs) -> list[Tensor]:
    """``conv`` on each copy by itself; ``update`` on the rows of all copies, since batch norm looks at all of them."""
    sizes = [perturbed.graph.num_nodes for perturbed in seen]
    copy = torch.repeat_interleave(torch.arange(len(seen)), torch.tensor(sizes)).to(runs.weight.device)
    weights = None if runs.equally_weighted else RowWeights(runs.weight[copy], copy.numel())
    if (entry := layered.entry()) is not None:
        _refuse_batch_statistics(entry)
    xs = [[enter(layered, perturbed.graph.x, perturbed.silenced)] for perturbed in seen]
    for layer in layered.layers():
        if not layer.split:
            _refuse_batch_statistics(layer.message)
        gathered = [
            layer.conv(x[-1], perturbed.graph.edge_index, perturbed.graph.edge_attr)
            for x, perturbed in zip(xs, seen, strict=True)
        ]
        with row_weights(weights):
            updated = layer.run_update(torch.cat(gathered), copy, len(seen))
        for x, perturbed, rows in zip(xs, seen, updated.split(sizes), strict=True):
            x.append(silence(rows, perturbed.silenced))
    with row_weights(weights):
        combined = layered.combine([torch.cat(layer) for layer in zip(*xs, strict=True)])
    return list(combined.split(sizes))


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


def _refuse_batch_statistics(module: torch.nn.Module) -> None:
    if takes_batch_statistics(module):
        raise Unsupported(
            f"engine 'reference' would take the batch statistics inside {type(module).__name__} copy by copy while "
            "training; use engine='batched'"
        )
