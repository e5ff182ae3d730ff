"""From what was chosen, item by item and run by run, to what every copy drops."""

from __future__ import annotations

import torch
from torch import Tensor

from dropgnn.compiling import worth_compiling
from dropgnn.graph import offsets
from dropgnn.runs import loops


def list_dropped(chosen: Tensor, sizes: Tensor, r: Tensor) -> Tensor:
    """Pairs (copy, item counted within its graph), sorted by copy, then by item, ``[2, D]``.

    Args:
        chosen: Whether item i is dropped in run j of its graph, ``[I, most]``; looked at where j < r of its graph.
        sizes: How many items each graph has, ``[G]``.
        r: How many runs each graph has, ``[G]``.

    >>> chosen = torch.tensor([[True, False], [True, True], [False, True]])
    >>> list_dropped(chosen, torch.tensor([2, 1]), torch.tensor([2, 2]))
    tensor([[0, 0, 1, 3],
            [0, 1, 1, 0]])
    """
    if chosen.is_cpu and worth_compiling(chosen.numel()):
        return torch.from_numpy(loops.list_dropped(*(tensor.contiguous().numpy() for tensor in (chosen, sizes, r))))
    return list_by_tensors(chosen, sizes, r)


def list_by_tensors(chosen: Tensor, sizes: Tensor, r: Tensor) -> Tensor:
    """As :func:`list_dropped`, by tensor operations."""
    graph = torch.repeat_interleave(torch.arange(sizes.numel(), device=sizes.device), sizes)
    item, run = chosen.nonzero(as_tuple=True)
    asked = run < r[graph[item]]
    item, run = item[asked], run[asked]
    copy = offsets(r)[graph[item]] + run
    order = copy.argsort(stable=True)
    return torch.stack([copy[order], (item - offsets(sizes)[graph[item]])[order]])
