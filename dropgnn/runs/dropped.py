"""From what was chosen, item by item and run by run, to what every copy drops."""

from __future__ import annotations

from torch import Tensor

from dropgnn.ops import ops_for


def list_dropped(chosen: Tensor, sizes: Tensor, r: Tensor) -> Tensor:
    """Pairs (copy, item counted within its graph), sorted by copy, then by item, ``[2, D]``.

    Args:
        chosen: Whether item i is dropped in run j of its graph, ``[I, most]``; looked at where j < r of its graph.
        sizes: How many items each graph has, ``[G]``.
        r: How many runs each graph has, ``[G]``.

    >>> import torch
    >>> chosen = torch.tensor([[True, False], [True, True], [False, True]])
    >>> list_dropped(chosen, torch.tensor([2, 1]), torch.tensor([2, 2]))
    tensor([[0, 0, 1, 3],
            [0, 1, 1, 0]])
    """
    return ops_for(chosen, chosen.numel()).list_dropped(chosen, sizes, r)
