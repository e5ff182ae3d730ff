"""Edge networks: a matrix for every edge, from its features (Gilmer et al., ICML 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch_geometric.nn import NNConv

from dropgnn.nn.gin import AGGREGATIONS


def edge_conv(in_channels: int, out_channels: int, *, edge_dim: int, hidden: int, aggr: str) -> NNConv:
    r""":math:`\mathrm{aggr}_u\, x_u\, W(e_{uv}) + x_v\, \Theta + b`, where W is an MLP with one hidden layer."""
    network = torch.nn.Sequential(
        torch.nn.Linear(edge_dim, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, in_channels * out_channels)
    )
    return NNConv(in_channels, out_channels, network, aggr=AGGREGATIONS[aggr])


def edge_weights(channels: Sequence[int], edge_dim: int, hidden: int) -> int:
    """How many weights the networks and the roots of such layers have, from one of ``channels`` to the next."""
    return sum(edge_dim * hidden + (hidden + 1) * below * above for below, above in pairwise(channels))
