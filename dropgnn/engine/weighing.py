"""Batch norm among all copies: each row counts as its copy does, whatever module or function takes the statistics."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

from dropgnn.engine.row_norm import weighted_batch_norm
from dropgnn.engine.rows import Rows
from dropgnn.errors import Unsupported
from dropgnn.graph import Graph
from dropgnn.runs.runs import Runs

TRAINING = 5
"""The place of ``training`` among the arguments of ``F.batch_norm``."""


class WeighCopies(TorchFunctionMode):
    """Within this context batch statistics weigh rows of nodes, messages and copies with the weights of their copies.

    Which of them rows are is told by their number; where that could be either, they are refused.

    Args:
        copies: Makes the graph of all copies, after dropping.
        runs: Whose weights count.
    """

    def __init__(self, copies: Callable[[], Graph], runs: Runs) -> None:
        super().__init__()
        self.copies, self.runs = copies, runs

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if function is not F.batch_norm:
            return function(*args, **kwargs)
        x = args[0] if args else kwargs["input"]
        training = args[TRAINING] if len(args) > TRAINING else kwargs.get("training", False)
        if isinstance(x, Rows) or not training:  # they know their weights
            return function(*args, **kwargs)
        return weighted_batch_norm(function, args, kwargs, self.weight(x), x.size(0))

    def weight(self, x: Tensor) -> Tensor:
        """The weight of every row."""
        graph, weight = self.copies(), self.runs.weight
        of_node = weight[graph.batch]
        known = [one for one in (of_node, of_node[graph.edge_index[1]], weight) if one.numel() == x.size(0)]
        if not known or x.dim() != 2 or any(not torch.equal(one, known[0]) for one in known):
            raise Unsupported(
                f"a batch norm takes its statistics over {x.size(0)} rows, of which it cannot be told whether they are nodes, "
                "messages or copies, on copies of unequal weight; train on random runs with one r for all graphs, or without it"
            )
        return known[0]


def weighing(runs: Runs, copies: Callable[[], Graph]) -> AbstractContextManager[Any]:
    """The context to run an encoder in: nothing where all copies count alike."""
    return nullcontext() if runs.equally_weighted else WeighCopies(copies, runs)
