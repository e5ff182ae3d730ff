"""The small graph that a layer is called on by the general rule, and how its sums and gathers are computed there.

Its nodes are the states below and, behind them, the states to be computed, each with its own row; its edges are those along which
the latter hear the former, sorted by receiver. A row of the second kind equals one of the first, so that linear maps of all rows
are computed on the states below alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

from dropgnn.engine.plan import Level
from dropgnn.engine.row_norm import weighted_batch_norm
from dropgnn.engine.rows import CannotShare
from dropgnn.engine.spaces import Sharing
from dropgnn.ops import ops_for


class SmallGraph:
    """States of some levels, one behind the other, as the nodes of a graph.

    Args:
        levels: The level below, and those to be computed, round by round.
        sharing: The forward they belong to.
        norms: Whether batch statistics will be taken. Nodes and messages are told apart by their number: where there are as
            many, one isolated node is added.

    Shapes:
        edge_index ``[2, K]``; edge ``[K]``: the edge of the batch that each is; index ``[M]``: the state of the lowest level
        whose row each node has.
    """

    def __init__(self, levels: Sequence[Level], sharing: Sharing, *, norms: bool = False) -> None:
        self.levels, self.sharing = levels, sharing
        self.starts = [0]
        for level in levels:
            self.starts.append(self.starts[-1] + level.num_states)
        self.work = sharing.plan.work
        ends, edges = [], []
        own = torch.arange(levels[0].num_states, device=levels[0].own.device)
        index = [own]
        for number, level in enumerate(levels[1:], start=1):
            receiver, sender = level.receiver + self.starts[number], level.sender.long() + self.starts[number - 1]
            if sharing.has_loops:  # a node's loop stays a loop
                sender = torch.where(sharing.is_loop[level.edge.long()], receiver, sender)
            ends.append(torch.stack([sender, receiver]))
            edges.append(level.edge)
            own = own[level.own.long()]
            index.append(own)
        self.edge_index, self.edge = torch.cat(ends, dim=1), torch.cat(edges)
        self.padded = norms and self.edge.numel() == self.starts[-1]
        self.index = torch.cat([*index, index[0].new_zeros(int(self.padded))])

    @property
    def num_nodes(self) -> int:
        return self.starts[-1] + self.padded

    def lift(self, x: Tensor) -> Tensor:
        """Rows of the lowest level as rows of all nodes."""
        return ops_for(x, self.work).take_rows(x, self.index)


class Inside(TorchFunctionMode):
    """Within this context a layer runs on a small graph.

    Args:
        graph: The small graph.
        below: The rows of the lowest level, by the ``id`` of the rows of all nodes that were made of them.
        norms: Whether the layer takes batch statistics.
    """

    def __init__(self, graph: SmallGraph, below: dict[int, Tensor], *, norms: bool) -> None:
        super().__init__()
        self.graph, self.below = graph, below
        last = graph.levels[-1]
        # Receivers of a single round are sorted, and each has its edges side by side.
        single = len(graph.levels) == 2 and not graph.sharing.has_loops and not graph.padded
        self.receiver = graph.edge_index[1] if single else None
        self.counts = _counts(graph, last) if norms else {}

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if function is F.linear and id(args[0]) in self.below:
            return self.graph.lift(function(self.below[id(args[0])], *args[1:], **kwargs))
        if function in _SELECT and len(args) == 3 and not kwargs:
            return self._select(function, *args)
        if function is Tensor.scatter_add_ and len(args) == 4 and self._is_receiver(args[2]):
            return self._sum(function, *args)
        if function is Tensor.scatter_reduce_ and len(args) == 4 and self._is_receiver(args[2]):
            return self._largest(function, args, kwargs)
        if function is F.batch_norm:
            return self._norm(function, args, kwargs)
        if function in _NOISE and _draws(function, args, kwargs):
            raise CannotShare(f"{function.__name__} draws at random inside a layer")
        return function(*args, **kwargs)

    def _select(self, function: Any, x: Tensor, dim: int, index: Tensor) -> Tensor:
        """Rows by number."""
        if dim % x.dim() or index.dim() != 1 or x.dim() < 2:
            return function(x, dim, index)
        return ops_for(x, self.graph.work).take_rows(x, index)

    def _is_receiver(self, index: Tensor) -> bool:
        here = self.receiver
        return here is not None and index.data_ptr() == here.data_ptr() and index.shape[:1] == here.shape

    def _sum(self, function: Any, out: Tensor, dim: int, index: Tensor, x: Tensor) -> Tensor:
        """What arrives, added up by receiver; ``out`` are zeros, as PyG's ``scatter`` makes them."""
        fits = out.size(0) == self.graph.num_nodes and index.shape == x.shape and x.dim() >= 2
        if dim or not fits:
            return function(out, dim, index, x)
        ptr = self.graph.levels[-1].edge_ptr
        return ops_for(x, self.graph.work).sum_segments(x, out.size(0), ptr, self.receiver)

    def _largest(self, function: Any, args: Any, kwargs: Any) -> Tensor:
        """The largest, or the smallest, of what arrives, by receiver."""
        (out, dim, index, x), how = args, kwargs.get("reduce")
        fits = out.size(0) == self.graph.num_nodes and index.shape == x.shape and x.dim() >= 2
        known = how in ("amax", "amin") and kwargs.get("include_self") is False and not dim
        if not fits or not known:
            return function(*args, **kwargs)
        sign, ops = (1 if how == "amax" else -1), ops_for(x, self.graph.work)
        return sign * ops.max_segments(sign * x, out.size(0), self.graph.levels[-1].edge_ptr)

    def _norm(self, function: Any, args: Any, kwargs: Any) -> Tensor:
        """States that are computed count, and not those below; a message counts as its receiver."""
        x = args[0] if args else kwargs["input"]
        if not self.counts and not kwargs.get("training", args[5] if len(args) > 5 else False):
            return function(*args, **kwargs)
        if x.size(0) not in self.counts:
            raise CannotShare("batch norm inside a layer looks at what are neither its nodes nor its messages")
        return weighted_batch_norm(function, args, kwargs, *self.counts[x.size(0)])


_SELECT = (Tensor.index_select, torch.index_select)

_DROPOUT = (
    "dropout",
    "alpha_dropout",
    "feature_dropout",
    "feature_alpha_dropout",
    "dropout1d",
    "dropout2d",
    "dropout3d",
)
_NOISE = frozenset(
    getattr(home, name)
    for home in (F, torch, Tensor)
    for name in (*_DROPOUT, "rand_like", "randn_like", "randint_like", "bernoulli", "bernoulli_", "multinomial", "normal_",
                 "uniform_", "rrelu", "gumbel_softmax")
    if hasattr(home, name)
)  # fmt: skip
"""Functions whose result is random, or may be."""


def _draws(function: Any, args: Any, kwargs: Any) -> bool:
    """Whether noise is drawn: dropout does so while training, and where something is dropped."""
    if function.__name__ not in _DROPOUT:
        return True
    given = dict(zip(("input", "p", "training"), args, strict=False)) | kwargs
    return bool(given.get("training", given.get("train", True))) and given.get("p", 0.5) > 0


def _counts(graph: SmallGraph, last: Level) -> dict[int, tuple[Tensor, int]]:
    """How much rows count and how many they stand for, by the number of rows."""
    weight = last.weight.new_zeros(graph.num_nodes)
    weight[graph.starts[-2] : graph.starts[-1]] = last.weight
    messages = int((last.count * last.edge_ptr.diff()).sum())
    return {graph.num_nodes: (weight, last.rows), last.sender.numel(): (last.weight[last.receiver], messages)}
