"""The message-passing network of the QM9 experiments."""

from __future__ import annotations

import torch
from torch import Tensor

from dropgnn.nn.edge_network import edge_conv, edge_weights
from dropgnn.nn.encoder import Encoder
from dropgnn.nn.widths import check_weights, depth, width


class MPNN(Encoder):
    r"""Message passing with an edge network and a gated update (Gilmer et al., ICML 2017), the same in every round.

    .. math::
        x_v^{(0)} = \mathrm{ReLU}(V x_v), \qquad
        x_v^{(l+1)} = \mathrm{GRU}\Big( \mathrm{ReLU}\big(\mathrm{aggr}_{u \in N(v)}\, x_u^{(l)} W(e_{uv}) +
        x_v^{(l)} \Theta + b\big),\; x_v^{(l)} \Big)

    In the QM9 experiments on the complete graph of a molecule, with distances among the edge features, and
    :class:`~dropgnn.nn.heads.Set2SetReadout` behind it.

    Args:
        in_channels: Features per node.
        hidden_channels: Width of every round.
        rounds: Number of rounds.
        edge_dim: Features per edge.
        edge_hidden: Width of the hidden layer of the edge network.
        aggr: Neighbourhood aggregation, ``"mean"`` or ``"sum"``.

    Shapes:
        x ``[N, in_channels]``, edge_attr ``[E, edge_dim]`` to ``[N, hidden_channels]``.

    >>> mpnn = MPNN(in_channels=11, edge_dim=5)
    >>> mpnn(torch.ones(2, 11), torch.tensor([[0, 1], [1, 0]]), torch.ones(2, 5)).shape
    torch.Size([2, 64])
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int = 64,
        rounds: int = 3,
        *,
        edge_dim: int,
        edge_hidden: int = 128,
        aggr: str = "mean",
    ) -> None:
        super().__init__()
        in_channels, hidden_channels = width("in_channels", in_channels), width("hidden_channels", hidden_channels)
        self.rounds = self.num_layers = depth("rounds", rounds)
        edge_dim = width("edge_dim", edge_dim)
        edge_hidden = width("edge_hidden", edge_hidden)
        check_weights(
            (in_channels + 7 * hidden_channels) * hidden_channels + edge_weights((hidden_channels,) * 2, edge_dim, edge_hidden),
            in_channels=in_channels, hidden_channels=hidden_channels, edge_dim=edge_dim, edge_hidden=edge_hidden,
        )  # fmt: skip
        self.in_channels, self.out_channels, self.edge_dim = in_channels, hidden_channels, edge_dim
        self.embed = torch.nn.Sequential(torch.nn.Linear(in_channels, hidden_channels), torch.nn.ReLU())
        self.conv = edge_conv(hidden_channels, hidden_channels, edge_dim=edge_dim, hidden=edge_hidden, aggr=aggr)
        self.gru = torch.nn.GRUCell(hidden_channels, hidden_channels)

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None) -> Tensor:
        self.check(x, edge_index, edge_attr)
        x = self.embed(x)
        for _ in range(self.rounds):
            x = self.gru(self.conv(x, edge_index, edge_attr).relu(), x)
        return x
