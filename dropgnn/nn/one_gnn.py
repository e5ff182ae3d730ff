"""The 1-GNN of the QM9 experiments."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor

from dropgnn.errors import yes_or_no
from dropgnn.nn.edge_network import edge_conv, edge_weights
from dropgnn.nn.encoder import Encoder
from dropgnn.nn.widths import check_weights, width, widths


class OneGNN(Encoder):
    r"""The 1-GNN of Morris et al. (AAAI 2019) for molecules: layers with edge networks of their own, and ELU.

    .. math::
        x_v^{(l+1)} = \mathrm{ELU}\Big( \mathrm{aggr}_{u \in N(v)}\, x_u^{(l)} W_l(e_{uv}) + x_v^{(l)} \Theta_l + b_l \Big)

    In the QM9 experiments on the bonds of a molecule, with :class:`~dropgnn.nn.heads.Pooled` and mean pooling behind it.

    Args:
        in_channels: Features per node.
        channels: Width of each layer.
        edge_dim: Features per edge.
        edge_hidden: Width of the hidden layer of the edge networks.
        aggr: Neighbourhood aggregation, ``"sum"`` or ``"mean"``.
        skip: Whether every layer has a connection of its own to the readout, past the layers above it.

    Shapes:
        x ``[N, in_channels]``, edge_attr ``[E, edge_dim]`` to ``[N, channels[-1]]``, with ``skip`` ``[N, sum(channels)]``.

    >>> one = OneGNN(in_channels=11, edge_dim=5)
    >>> one(torch.ones(2, 11), torch.tensor([[0, 1], [1, 0]]), torch.ones(2, 5)).shape
    torch.Size([2, 64])
    """

    def __init__(
        self,
        in_channels: int,
        channels: Sequence[int] = (32, 64, 64),
        *,
        edge_dim: int,
        edge_hidden: int = 128,
        aggr: str = "sum",
        skip: bool = False,
    ) -> None:
        super().__init__()
        in_channels, channels = width("in_channels", in_channels), widths("channels", channels)
        edge_dim, edge_hidden = width("edge_dim", edge_dim), width("edge_hidden", edge_hidden)
        skip = yes_or_no("skip", skip)
        check_weights(
            edge_weights((in_channels, *channels), edge_dim, edge_hidden),
            in_channels=in_channels, channels=max(channels), edge_dim=edge_dim, edge_hidden=edge_hidden,
        )  # fmt: skip
        self.in_channels, self.edge_dim, self.skip = in_channels, edge_dim, skip
        self.out_channels = sum(channels) if skip else channels[-1]
        self.convs = torch.nn.ModuleList(
            edge_conv(below, width, edge_dim=edge_dim, hidden=edge_hidden, aggr=aggr)
            for below, width in pairwise((in_channels, *channels))
        )
        self.act, self.num_layers = torch.nn.ELU(), len(self.convs)

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None) -> Tensor:
        self.check(x, edge_index, edge_attr)
        xs = []
        for conv in self.convs:
            x = self.act(conv(x, edge_index, edge_attr))
            xs.append(x)
        return torch.cat(xs, dim=1) if self.skip else x
