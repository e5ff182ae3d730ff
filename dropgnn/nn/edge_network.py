"""Edge networks: a matrix for every edge, from its features (Gilmer et al., ICML 2017)."""

from __future__ import annotations

import torch
from torch_geometric.nn import NNConv

from dropgnn.nn.gin import AGGREGATIONS


def edge_conv(in_channels: int, out_channels: int, *, edge_dim: int, hidden: int, aggr: str) -> NNConv:
    r""":math:`\mathrm{aggr}_u\, x_u\, W(e_{uv}) + x_v\, \Theta + b`, where W is an MLP with one hidden layer."""
    network = torch.nn.Sequential(
        torch.nn.Linear(edge_dim, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, in_channels * out_channels)
    )
    return NNConv(in_channels, out_channels, network, aggr=AGGREGATIONS[aggr])
