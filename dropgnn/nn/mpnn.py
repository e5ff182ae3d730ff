"""The message-passing network of the QM9 experiments."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from dropgnn.engine.layers import Layer
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
        self.rounds, edge_dim = depth("rounds", rounds), width("edge_dim", edge_dim)
        edge_hidden = width("edge_hidden", edge_hidden)
        check_weights(
            (in_channels + 7 * hidden_channels) * hidden_channels + edge_weights((hidden_channels,) * 2, edge_dim, edge_hidden),
            in_channels=in_channels, hidden_channels=hidden_channels, edge_dim=edge_dim, edge_hidden=edge_hidden,
        )  # fmt: skip
        self.in_channels, self.out_channels, self.edge_dim = in_channels, hidden_channels, edge_dim
        self.embed = torch.nn.Sequential(torch.nn.Linear(in_channels, hidden_channels), torch.nn.ReLU())
        self.conv = edge_conv(hidden_channels, hidden_channels, edge_dim=edge_dim, hidden=edge_hidden, aggr=aggr)
        self.gru = torch.nn.GRUCell(hidden_channels, hidden_channels)

    def entry(self) -> torch.nn.Module:
        return self.embed

    def layers(self) -> Sequence[Layer]:
        return [Layer(self._hear, self._update, self.conv, (self.gru,), own=True)] * self.rounds

    def slices(self) -> Sequence[int]:
        return (self.rounds,)

    def _hear(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None) -> Tensor:
        return torch.cat([self.conv(x, edge_index, edge_attr), x], dim=1)

    def _update(self, rows: Tensor, batch: Tensor, num_graphs: int) -> Tensor:
        message, own = rows.chunk(2, dim=1)
        return self.gru(message.relu(), own)
