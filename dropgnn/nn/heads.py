"""Heads turn embeddings into predictions, for nodes or, with ``batch``, for whole graphs.

A head is called as ``head(x)`` for one prediction per row, or as ``head(x, batch, num_graphs)`` where its ``forward``
has a ``batch``: one prediction per graph. Any module of that form is a head. The same head form serves as auxiliary
head on each single run; a copy is a graph then.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial

import torch
from torch import Tensor
from torch_geometric.nn import Set2Set, global_add_pool, global_max_pool, global_mean_pool

from dropgnn.errors import InvalidArgument, of_kind, real_number, whole_number
from dropgnn.graph import MAX_GRAPHS
from dropgnn.nn.widths import check_matrix, check_weights, depth, width, widths
from dropgnn.registry import Registry

ROWS = "a head for rows, e.g. torch.nn.Linear(16, 2)"

POOLS = Registry[Callable[..., Tensor]](
    "pool", {"sum": global_add_pool, "mean": global_mean_pool, "max": global_max_pool}
)


class LayerReadout(torch.nn.Module):
    r"""GIN's readout for nodes: a linear map per layer, summed, :math:`\sum_l W_l x^{(l)} + b_l`.

    Args:
        channels: Width of each layer's slice of the embedding; ``GIN.channels``.
        out_channels: Classes or targets.
        dropout: Probability of ordinary feature dropout behind each linear map, while training.

    Shapes:
        x ``[N, sum(channels)]`` to ``[N, out_channels]``.
    """

    row_by_row = True

    def __init__(self, channels: Sequence[int], out_channels: int, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.channels, out_channels = widths("channels", channels), width("out_channels", out_channels)
        check_weights(sum(self.channels) * out_channels, channels=max(self.channels), out_channels=out_channels)
        dropout = real_number("dropout", dropout, least=0.0, most=1.0)
        self.linears = torch.nn.ModuleList(torch.nn.Linear(channel, out_channels) for channel in self.channels)
        self.dropout = torch.nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        check_matrix(x, sum(self.channels), self.linears[0].weight, "the sum of channels")  # type: ignore[arg-type]
        slices = zip(self.linears, x.split(self.channels, dim=1), strict=True)
        return self.add_up(torch.stack([part @ linear.weight.t() for linear, part in slices]))  # type: ignore[operator]

    def add_up(self, projected: Tensor) -> Tensor:
        """The prediction from the slices' projections ``[L, N, out]``: biases, dropout, sum."""
        bias = torch.stack([linear.bias for linear in self.linears])  # type: ignore[misc]
        return self.dropout(projected + bias.unsqueeze(1)).sum(dim=0)


class Pooled(torch.nn.Module):
    """Pool the nodes of each graph, then apply a head for rows; with :class:`LayerReadout`, GIN's graph readout.

    Args:
        head: What to do with the pooled rows.
        pool: ``"sum"``, ``"mean"`` or ``"max"``.

    Shapes:
        x ``[N, F]``, batch ``[N]`` to ``[G, out_channels]``.

    >>> head = Pooled(torch.nn.Linear(4, 2), pool="mean")
    >>> head(torch.ones(3, 4), torch.tensor([0, 0, 2]), num_graphs=3).shape
    torch.Size([3, 2])
    """

    def __init__(self, head: torch.nn.Module, *, pool: str = "sum") -> None:
        super().__init__()
        self.head, self.pool = _for_rows(head), pool
        self._reduce = POOLS[pool]

    def forward(self, x: Tensor, batch: Tensor, num_graphs: int) -> Tensor:
        check_matrix(x)
        pooled = _by_graph(partial(self._reduce, x), batch, num_graphs, x)
        _check_linear(self.head, pooled)
        return self.head(pooled)

    def linear_parts(self, xs: Sequence[Tensor]) -> list[Tensor] | None:
        """For engines that pool last, a weight matrix per slice of the embedding if the head is linear up to its pooling; an
        empty list if rows must be pooled as they are; ``None`` if the head cannot be split."""
        if self.pool not in ("sum", "mean") or type(self) is not Pooled:
            return None
        widths = [x.size(1) for x in xs]
        if type(self.head) is LayerReadout:
            return [linear.weight for linear in self.head.linears] if self.head.channels == tuple(widths) else None  # type: ignore[misc]
        return list(self.head.weight.split(widths, dim=1)) if type(self.head) is torch.nn.Linear else []

    def average(self, pooled: Tensor, sizes: Tensor) -> Tensor:
        """Sums over graphs of these sizes as the head wants them: as they are, or as means."""
        return pooled / sizes.clamp(min=1).to(pooled.dtype).unsqueeze(1) if self.pool == "mean" else pooled

    def behind(self) -> Sequence[torch.nn.Module]:
        """The modules that :meth:`finish` runs."""
        return [self.head]

    def finish(self, pooled: Tensor, sizes: Tensor) -> Tensor:
        """Predictions from sums over graphs of what :meth:`linear_parts` projected, ``[L, G, out]``, or of the rows themselves,
        ``[1, G, F]``, and the graphs' sizes."""
        pooled = self.average(pooled, sizes)
        if type(self.head) is LayerReadout:
            return self.head.add_up(pooled)
        total = pooled.sum(dim=0)
        if type(self.head) is torch.nn.Linear:
            return total if self.head.bias is None else total + self.head.bias
        return self.head(total)


class Set2SetReadout(torch.nn.Module):
    """Set2Set (Vinyals et al., ICLR 2016) over the nodes of each graph, then a head for rows of twice the width.

    Args:
        in_channels: Width of the rows.
        head: What to do with the ``2 * in_channels`` pooled features.
        steps: Processing steps; the QM9 experiments use 3.
    """

    looks_at_all_rows = True
    """Every step weighs the rows of a graph against each other: there is no use in calling it with distinct rows."""

    def __init__(self, in_channels: int, head: torch.nn.Module, *, steps: int = 3) -> None:
        super().__init__()
        in_channels, steps = width("in_channels", in_channels), depth("steps", steps)
        check_weights(12 * in_channels * in_channels, in_channels=in_channels)
        head = _for_rows(head)
        self.set2set = Set2Set(in_channels, processing_steps=steps)
        self.head = head

    def forward(self, x: Tensor, batch: Tensor, num_graphs: int) -> Tensor:
        check_matrix(x, self.set2set.in_channels, self.set2set.lstm.weight_ih_l0)
        pooled = _by_graph(lambda batch, number: self.set2set(x, batch, dim_size=number), batch, num_graphs, x)
        _check_linear(self.head, pooled)
        return self.head(pooled)


def _by_graph(pool: Callable[[Tensor, int], Tensor], batch: Tensor, num_graphs: int, x: Tensor) -> Tensor:
    """Pool the rows of each graph. Entries of ``batch`` are looked at only where pooling fails."""
    number = whole_number("num_graphs", num_graphs, least=0, most=MAX_GRAPHS)
    if not isinstance(batch, Tensor) or batch.dtype != torch.long or batch.shape != x.shape[:1]:
        got = f"{batch.dtype} of shape {tuple(batch.shape)}" if isinstance(batch, Tensor) else type(batch).__name__
        rule = f"must be a torch.long tensor with one entry per row, here [{x.size(0)}]"
        raise InvalidArgument("batch", rule, got=got)
    try:
        return pool(batch, number)
    except (IndexError, RuntimeError, ValueError):
        outside = batch[(batch < 0) | (batch >= number)]
        if outside.numel():
            raise InvalidArgument(
                "batch", f"must name graphs from 0 to {number - 1}", got=outside.tolist()[:10]
            ) from None
        raise


def _for_rows(head: object) -> torch.nn.Module:
    """``head``, if it is a module that is called with rows and nothing else."""
    module = of_kind("head", head, torch.nn.Module, ROWS)
    try:
        inspect.signature(module.forward).bind(None)
    except TypeError as problem:
        raise InvalidArgument(
            "head", "must be called as head(x)", got=f"{type(module).__name__}: {problem}", hint=ROWS
        ) from None
    return module


def _check_linear(head: torch.nn.Module, x: Tensor) -> None:
    """A plain linear head fits the rows; other modules check for themselves."""
    if type(head) is torch.nn.Linear:
        check_matrix(x, head.in_features, head.weight, "as the head takes them")
