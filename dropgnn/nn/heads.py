"""Heads turn embeddings into predictions, for nodes or, with ``batch``, for whole graphs.

A head is called as ``head(x)`` for one prediction per row, or as ``head(x, batch, num_graphs)`` where its ``forward``
has a ``batch``: one prediction per graph. Any module of that form is a head. The same head form serves as auxiliary
head on each single run; a copy is a graph then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch_geometric.nn import Set2Set, global_add_pool, global_max_pool, global_mean_pool

from dropgnn.engine.allowed import why_changed
from dropgnn.engine.modules import inside
from dropgnn.errors import InvalidArgument
from dropgnn.registry import Registry

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
        self.channels = tuple(channels)
        self.linears = torch.nn.ModuleList(torch.nn.Linear(width, out_channels) for width in self.channels)
        self.dropout = torch.nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        if x.size(1) != sum(self.channels):
            raise InvalidArgument(
                "x", f"must have {sum(self.channels)} features, the sum of channels {self.channels}", got=x.size(1)
            )
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
        self.head, self.pool = head, pool
        self._reduce = POOLS[pool]

    def forward(self, x: Tensor, batch: Tensor, num_graphs: int) -> Tensor:
        return self.head(self._reduce(x, batch, num_graphs))

    def linear_parts(self, xs: Sequence[Tensor]) -> list[Tensor] | None:
        """For engines that pool last, a weight matrix per slice of the embedding if the head is linear up to its pooling; an
        empty list if rows must be pooled as they are; ``None`` if the head cannot be split."""
        if self.pool not in ("sum", "mean") or type(self) is not Pooled or any(map(why_changed, inside(self))):
            return None
        widths = [x.size(1) for x in xs]
        if type(self.head) is LayerReadout:
            return [linear.weight for linear in self.head.linears] if self.head.channels == tuple(widths) else None  # type: ignore[misc]
        return list(self.head.weight.split(widths, dim=1)) if type(self.head) is torch.nn.Linear else []

    def behind(self) -> Sequence[torch.nn.Module]:
        """The modules that :meth:`finish` runs."""
        return [self.head]

    def finish(self, pooled: Tensor, sizes: Tensor) -> Tensor:
        """Predictions from sums over graphs of what :meth:`linear_parts` projected, ``[L, G, out]``, or of the rows themselves,
        ``[1, G, F]``, and the graphs' sizes."""
        if self.pool == "mean":
            pooled = pooled / sizes.clamp(min=1).to(pooled.dtype).unsqueeze(1)
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

    def __init__(self, in_channels: int, head: torch.nn.Module, *, steps: int = 3) -> None:
        super().__init__()
        self.set2set = Set2Set(in_channels, processing_steps=steps)
        self.head = head

    def forward(self, x: Tensor, batch: Tensor, num_graphs: int) -> Tensor:
        return self.head(self.set2set(x, batch, dim_size=num_graphs))
