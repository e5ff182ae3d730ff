"""Batch norm among all copies: each row counts as its copy does, whatever module or function takes the statistics."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

from dropgnn.engine.row_norm import given_to_norm, weighted_batch_norm
from dropgnn.engine.rows import Rows
from dropgnn.errors import Unsupported
from dropgnn.graph import Graph
from dropgnn.runs.runs import Runs

TRAINING = 5
"""The place of ``training`` among the arguments of ``F.batch_norm``."""


_refusal: ContextVar[BaseException | None] = ContextVar("refusal", default=None)
"""What a batch norm raises that takes statistics now."""


class WeighCopies(TorchFunctionMode):
    """Within this context batch statistics weigh rows of nodes, messages and copies with the weights of their copies.

    Which of them rows are is told by their number; where that could be either, they are refused.

    Args:
        copies: Makes the graph of all copies, after dropping.
        runs: Whose weights count.
        added: How many nodes of the graph, in one more copy at its end, count nothing; see :func:`tell_apart`.
    """

    for_equal_weights = False
    """Whether it has something to do where copies count alike, and torch's own batch norm is right."""

    def __init__(self, copies: Callable[[], Graph], runs: Runs, added: int = 0) -> None:
        super().__init__()
        self.copies, self.runs, self.added = copies, runs, added

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if function is not F.batch_norm:
            return function(*args, **kwargs)
        x = args[0] if args else kwargs["input"]
        training = args[TRAINING] if len(args) > TRAINING else kwargs.get("training", False)
        if isinstance(x, Rows) or not training:  # rows know their weights
            return function(*args, **kwargs)
        _raise_refusal()
        torch.nn.functional._verify_batch_size(x.shape)  # type: ignore[attr-defined]
        return self.norm(function, args, kwargs)

    def norm(self, function: Any, args: Any, kwargs: Any) -> Tensor:
        """Batch norm while training."""
        return weighted_batch_norm(function, args, kwargs, *self.weights(given_to_norm(args, kwargs)["input"]))

    def weights(self, x: Tensor) -> tuple[Tensor, int]:
        """The weight of every row, and how many of them are rows of copies."""
        graph, weight = self.copies(), F.pad(self.runs.weight, (0, self.added > 0))
        of_node = weight[graph.batch]
        kinds = ((of_node, self.added), (of_node[graph.edge_index[1]], 0), (weight, self.added > 0))
        known = [(one, one.numel() - nothing) for one, nothing in kinds if one.numel() == x.size(0)]
        if not known or x.dim() != 2 or any(not torch.equal(one, known[0][0]) for one, _ in known):
            raise Unsupported(
                f"a batch norm takes its statistics over {x.size(0)} rows, of which it cannot be told whether they are nodes, "
                "messages or copies, on copies of unequal weight; train on random runs with one r for all graphs, or without it"
            )
        return known[0]


class _Refuses(TorchFunctionMode):
    """Raises the problem at hand, where no other mode looks at batch norms before."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if function is F.batch_norm and given_to_norm(args, kwargs or {})["training"]:
            _raise_refusal()
        return function(*args, **(kwargs or {}))


@contextmanager
def no_statistics(problem: BaseException) -> Iterator[None]:
    """Within this context a batch norm that takes statistics raises a problem: it would see some of the copies."""
    token = _refusal.set(problem)
    try:
        with _Refuses():
            yield
    finally:
        _refusal.reset(token)


def _raise_refusal() -> None:
    problem = _refusal.get()
    if problem is not None:
        raise problem


def tell_apart(graph: Graph) -> Graph:
    """The graph with one more copy of isolated nodes at its end, so that nodes, edges and copies differ in number; as it is where
    they do."""
    sizes = (graph.num_nodes, graph.edge_index.size(1), graph.num_graphs)
    if len(set(sizes)) == len(sizes) or not graph.num_nodes:
        return graph
    nodes, edges, copies = sizes
    more = next(more for more in (1, 2, 3) if len({nodes + more, edges, copies + 1}) == len(sizes))
    node = torch.arange(nodes + more, device=graph.batch.device) % nodes
    batch = F.pad(graph.batch, (0, more), value=copies)
    extra = graph.take_extra(node, torch.arange(edges, device=graph.batch.device))
    return replace(graph, x=graph.x[node], batch=batch, num_graphs=copies + 1, extra=extra)
