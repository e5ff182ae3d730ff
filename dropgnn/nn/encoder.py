"""What an encoder of ours is: rows in, rows out, in layers. It knows nothing of runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor

from dropgnn.engine.layers import Layer, walk
from dropgnn.errors import Unsupported
from dropgnn.graph import Graph


class Encoder(torch.nn.Module, ABC):
    """A GNN in layers; subclass it to give your own GNN every mode and every engine.

    Shapes:
        x ``[N, F]``, edge_index ``[2, E]``, edge_attr ``[E, D]`` or ``None``; output ``[N, out_channels]``.
    """

    out_channels: int
    edge_dim: int | None = None

    @abstractmethod
    def layers(self) -> Sequence[Layer]:
        """The layers in order."""

    def combine(self, xs: Sequence[Tensor]) -> Tensor:
        """The embedding from the input rows ``xs[0]`` and the output rows of every layer; by default the last."""
        return xs[-1]

    def check_edge_attr(self, given: bool) -> None:
        """Raise where edge features are given but not used, or needed but not given."""
        name = type(self).__name__
        if given and self.edge_dim is None:
            raise Unsupported(f"{name} would ignore edge_attr; use an encoder with edge features, or leave it out")
        if not given and self.edge_dim is not None:
            raise Unsupported(f"{name} was built with edge_dim={self.edge_dim} and needs edge_attr")

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None) -> Tensor:
        self.check_edge_attr(edge_attr is not None)
        return walk(self, Graph.of(x, edge_index, edge_attr), silenced=None)
