"""GIN, the paper's base GNN, and GINE, which hears edge features such as port numbers."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch_geometric.nn import GINConv, GINEConv

from dropgnn.errors import real_number
from dropgnn.nn.encoder import Encoder
from dropgnn.nn.norm import WeightedBatchNorm
from dropgnn.nn.widths import check_weights, depth, width
from dropgnn.registry import Registry

AGGREGATIONS = Registry("aggr", {"sum": "add", "mean": "mean", "max": "max"})
"""How a node aggregates its neighbours, in our words and in PyG's."""


MAX_EPS = 1e6
"""A node that counts a million times more than its neighbours does not hear them."""


class IsomorphismStack(Encoder):
    """GIN layers, each followed by batch norm and ReLU; the embedding is the input and all layers' rows side by side."""

    def __init__(self, in_channels: int, hidden_channels: int, convs: Sequence[GINConv | GINEConv]) -> None:
        super().__init__()
        self.in_channels = in_channels
        self.channels, self.num_layers = (in_channels, *[hidden_channels] * len(convs)), len(convs)
        self.out_channels = sum(self.channels)
        self.convs = torch.nn.ModuleList(convs)
        self.norms = torch.nn.ModuleList(WeightedBatchNorm(hidden_channels, relu=True) for _ in convs)

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None) -> Tensor:
        self.check(x, edge_index, edge_attr)
        features = () if edge_attr is None else (edge_attr,)
        xs = [x]
        for conv, norm in zip(self.convs, self.norms, strict=True):
            xs.append(norm(conv(xs[-1], edge_index, *features)))
        return torch.cat(xs, dim=1)


class GIN(IsomorphismStack):
    r"""Graph isomorphism network (Xu et al., ICLR 2019) with two-layer MLPs and batch norm.

    .. math::
        x_v^{(l+1)} = \mathrm{ReLU}\,\mathrm{BN}\,\mathrm{MLP}\Big( (1 + \varepsilon)\, x_v^{(l)} +
        \mathrm{aggr}_{u \in N(v)} x_u^{(l)} \Big)

    Args:
        in_channels: Features per node.
        hidden_channels: Width of every layer.
        num_layers: Number of convolutions; the paper uses 4, and 9 for Skip-circles.
        aggr: Neighbourhood aggregation, ``"sum"``, ``"mean"`` or ``"max"``.
        eps: 0 in the paper: a node is then not told apart from its neighbours, which sees less than 1-WL. Take 0.5 for all
            that dropouts can tell apart.

    A GIN just made is nearly linear in evaluation, and tells hardly anything apart numerically before it is trained.

    Shapes:
        x ``[N, in_channels]`` to ``[N, in_channels + num_layers * hidden_channels]``; ``channels`` has the widths.

    >>> gin = GIN(in_channels=1, hidden_channels=16, num_layers=4)
    >>> gin(torch.ones(3, 1), torch.tensor([[0, 1], [1, 2]])).shape
    torch.Size([3, 65])
    """

    def __init__(
        self, in_channels: int, hidden_channels: int, num_layers: int, *, aggr: str = "sum", eps: float = 0.0
    ) -> None:
        eps = real_number("eps", eps, least=-MAX_EPS, most=MAX_EPS)
        in_channels, hidden_channels, widths = _sizes(in_channels, hidden_channels, num_layers)
        convs = [GINConv(_mlp(below, hidden_channels), eps, aggr=AGGREGATIONS[aggr]) for below in widths]
        super().__init__(in_channels, hidden_channels, convs)


class GINE(IsomorphismStack):
    r"""GIN with edge features (Hu et al., ICLR 2020); with port numbers as features, the paper's "+ ports".

    .. math::
        x_v^{(l+1)} = \mathrm{ReLU}\,\mathrm{BN}\,\mathrm{MLP}\Big( x_v^{(l)} +
        \mathrm{aggr}_{u \in N(v)} \mathrm{ReLU}(x_u^{(l)} + W e_{uv}) \Big)

    Args:
        in_channels, hidden_channels, num_layers, aggr: As for :class:`GIN`.
        edge_dim: Features per edge.

    Shapes:
        x ``[N, in_channels]``, edge_attr ``[E, edge_dim]``; output as for :class:`GIN`.
    """

    def __init__(
        self, in_channels: int, hidden_channels: int, num_layers: int, *, edge_dim: int, aggr: str = "sum"
    ) -> None:
        edge_dim = width("edge_dim", edge_dim)
        in_channels, hidden_channels, widths = _sizes(in_channels, hidden_channels, num_layers, edge_dim=edge_dim)
        convs = [GINEConv(_mlp(below, hidden_channels), edge_dim=edge_dim, aggr=AGGREGATIONS[aggr]) for below in widths]
        super().__init__(in_channels, hidden_channels, convs)
        self.edge_dim = edge_dim


def _sizes(
    in_channels: object, hidden_channels: object, num_layers: object, edge_dim: int = 0
) -> tuple[int, int, list[int]]:
    """``in_channels`` and ``hidden_channels``, checked, and the input width of every layer."""
    below, hidden = width("in_channels", in_channels), width("hidden_channels", hidden_channels)
    above = depth("num_layers", num_layers) - 1
    weights = (below + above * hidden) * (hidden + edge_dim) + (above + 1) * hidden * hidden
    check_weights(weights, in_channels=below, hidden_channels=hidden, edge_dim=edge_dim)
    return below, hidden, [below] + [hidden] * above


def _mlp(in_channels: int, hidden_channels: int) -> torch.nn.Sequential:
    return torch.nn.Sequential(
        torch.nn.Linear(in_channels, hidden_channels),
        WeightedBatchNorm(hidden_channels, relu=True),
        torch.nn.Linear(hidden_channels, hidden_channels),
    )
