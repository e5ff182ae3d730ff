"""A graph classification dataset as its files have it, before anyone chooses features: integers, laid end to end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch_geometric.data import Data


@dataclass(frozen=True, eq=False)
class RawGraphs:
    """Graphs, labels and whatever else the files say about nodes and edges.

    Shapes:
        nodes, edges, y ``[G]``: sizes and labels; edge_index ``[2, E]``: both directions of every edge, nodes counted within
        their graph; tag ``[N]``, attributes ``[N, A]``, edge_label ``[E]``: labels and numbers of nodes and edges, or ``None``.
    """

    nodes: Tensor
    edges: Tensor
    edge_index: Tensor
    y: Tensor
    tag: Tensor | None = None
    attributes: Tensor | None = None
    edge_label: Tensor | None = None
    repairs: tuple[str, ...] = ()

    @classmethod
    def of(cls, graphs: Sequence[Data]) -> RawGraphs:
        """Graphs with ``tag`` and ``y``, as the text format of the GIN paper has them. One tag for all says nothing."""
        tag = torch.cat([graph.tag for graph in graphs])
        return cls(
            torch.tensor([graph.num_nodes for graph in graphs]),
            torch.tensor([graph.edge_index.size(1) for graph in graphs]),
            torch.cat([graph.edge_index for graph in graphs], dim=1),
            torch.cat([graph.y for graph in graphs]),
            tag if tag.unique().numel() > 1 else None,
        )

    def __len__(self) -> int:
        return self.nodes.numel()

    def induced(self, kept: Tensor) -> RawGraphs:
        """The same graphs on these of their nodes, ``[N]``, with the edges between them."""
        graph, of_edge = (torch.repeat_interleave(torch.arange(len(self)), sizes) for sizes in (self.nodes, self.edges))
        first = (self.nodes.cumsum(0) - self.nodes)[of_edge]
        source, target = self.edge_index + first
        stays = kept[source] & kept[target]
        nodes = torch.bincount(graph[kept], minlength=len(self))
        number = kept.cumsum(0) - 1 - (nodes.cumsum(0) - nodes)[graph]  # within its graph
        return replace(
            self,
            nodes=nodes,
            edges=torch.bincount(of_edge[stays], minlength=len(self)),
            edge_index=torch.stack([number[source[stays]], number[target[stays]]]),
            tag=None if self.tag is None else self.tag[kept],
            attributes=None if self.attributes is None else self.attributes[kept],
            edge_label=None if self.edge_label is None else self.edge_label[stays],
        )

    @property
    def is_consistent(self) -> bool:
        """Whether everything is about the same graphs, nodes and edges."""
        numbers = {1: (self.nodes, self.edges, self.y, self.tag, self.edge_label), 2: (self.edge_index,)}
        for dim, tensors in numbers.items():
            if any(one is not None and (one.dtype != torch.long or one.dim() != dim) for one in tensors):
                return False
        if self.attributes is not None and (self.attributes.dim() != 2 or not self.attributes.is_floating_point()):
            return False
        if bool((self.nodes < 0).any()) or bool((self.edges < 0).any()):
            return False
        nodes, edges = int(self.nodes.sum()), int(self.edges.sum())
        per_node = (values for values in (self.tag, self.attributes) if values is not None)
        if not len(self) == self.edges.numel() == self.y.numel() or self.edge_index.shape != (2, edges):
            return False
        if any(values.size(0) != nodes for values in per_node):
            return False
        if self.edge_label is not None and self.edge_label.numel() != edges:
            return False
        sizes = torch.repeat_interleave(self.nodes, self.edges)
        return bool(((self.edge_index >= 0) & (self.edge_index < sizes)).all())

    @property
    def said_of_nodes(self) -> dict[str, Tensor]:
        """Labels ``[N]`` and attributes ``[N, A]``, where there are any."""
        known = {"labels": self.tag, "attributes": self.attributes}
        return {what: values for what, values in known.items() if values is not None}

    @property
    def degree(self) -> Tensor:
        """How many edges every node hears, ``[N]``."""
        first = torch.repeat_interleave(self.nodes.cumsum(0) - self.nodes, self.edges)
        return torch.bincount(self.edge_index[1] + first, minlength=int(self.nodes.sum()))

    @property
    def largest_degrees(self) -> Tensor:
        """The largest degree in every graph, ``[G]``."""
        graph = torch.repeat_interleave(torch.arange(len(self)), self.nodes)
        return torch.zeros_like(self.nodes).scatter_reduce(0, graph, self.degree, "amax")
