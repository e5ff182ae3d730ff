"""What an encoder of ours is: rows in, rows out, in layers. It knows nothing of runs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor

from dropgnn.engine.layers import Layer, walk
from dropgnn.errors import InvalidArgument, Unsupported
from dropgnn.graph import Graph
from dropgnn.nn.checks import check_inputs


class Encoder(torch.nn.Module, ABC):
    """A GNN in layers; subclass it to give your own GNN every mode, and sharing where its convolutions allow that.

    Shapes:
        x ``[N, F]``, edge_index ``[2, E]``, edge_attr ``[E, D]`` or ``None``; output ``[N, out_channels]``.
    """

    in_channels: int
    out_channels: int
    edge_dim: int | None = None

    def __init_subclass__(cls, **arguments: object) -> None:
        super().__init_subclass__(**arguments)
        if "forward" in cls.__dict__:
            raise Unsupported(
                f"{cls.__name__} overrides forward, which engines that walk its layers would pass by; override layers() or "
                "combine(), or wrap the encoder in a module of your own"
            )
        combine, slices = (_depth(cls, name) for name in ("combine", "slices"))
        if combine < slices:  # what slices() says is about the combine() that was overridden
            cls.slices = Encoder.slices  # type: ignore[method-assign]

    def entry(self) -> torch.nn.Module | None:
        """What is done to each row of the input before the first layer; by default nothing."""
        return None

    @abstractmethod
    def layers(self) -> Sequence[Layer]:
        """The layers in order."""

    def combine(self, xs: Sequence[Tensor]) -> Tensor:
        """The embedding from the rows ``xs[0]`` before the first layer and those after every layer; by default the last."""
        return xs[-1]

    def slices(self) -> Sequence[int] | None:
        """Where ``combine`` only puts some of the ``xs`` side by side: which; else ``None``. Engines profit from it."""
        return None

    def check_edge_attr(self, width: int | None) -> None:
        """Raise where edge features are given but not used, or needed but not given; ``None`` means not given."""
        name = type(self).__name__
        if width is not None and self.edge_dim is None:
            raise Unsupported(f"{name} would ignore edge_attr; use an encoder with edge features, or leave it out")
        if width is None and self.edge_dim is not None:
            raise Unsupported(f"{name} was built with edge_dim={self.edge_dim} and needs edge_attr")
        if width != self.edge_dim:
            raise InvalidArgument("edge_attr", f"must have the encoder's {self.edge_dim} features per edge", got=width)

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None) -> Tensor:
        if isinstance(x, Tensor) and type(x) not in (
            Tensor,
            torch.nn.Parameter,
        ):  # it stands for others, which were checked
            return walk(self, Graph(x, edge_index, edge_attr, x.new_zeros(0), 1), silenced=None)
        graph = Graph.of(x, edge_index, edge_attr)
        check_inputs(self, graph, pooled=False)
        return walk(self, graph, silenced=None)


def _depth(kind: type, name: str) -> int:
    """How many classes up the one is that defines ``name``."""
    return next(depth for depth, above in enumerate(kind.__mro__) if name in vars(above))
