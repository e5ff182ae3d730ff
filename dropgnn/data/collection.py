"""Many graphs in few tensors, laid end to end, so that a batch of any of them is a few index operations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor
from torch_geometric.data import Data

from dropgnn.errors import InvalidArgument
from dropgnn.graph import enumerate_blocks, numbers_of, offsets


@dataclass(frozen=True, eq=False)
class Collection:
    """Graphs with features and one label each. It can be indexed, and iterated over, like a list of PyG's ``Data``.

    Shapes:
        x ``[N, F]``; edge_index ``[2, E]``: nodes counted within their graph; edge_attr ``[E, D]`` or ``None``; y ``[G, ...]``;
        nodes, edges ``[G]``: how many every graph has.

    >>> path = Data(x=torch.ones(3, 1), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), y=torch.tensor([0]))
    >>> edge = Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0, 1], [1, 0]]), y=torch.tensor([1]))
    >>> both = Collection.of([path, edge])
    >>> both.batch([1, 0]).edge_index
    tensor([[0, 1, 2, 3, 3, 4],
            [1, 0, 3, 2, 4, 3]])
    """

    x: Tensor
    edge_index: Tensor
    edge_attr: Tensor | None
    y: Tensor
    nodes: Tensor
    edges: Tensor

    @classmethod
    def of(cls, graphs: Sequence[Data]) -> Collection:
        """The same graphs; attributes other than x, edge_index, edge_attr and y are left behind."""
        if not graphs:
            raise InvalidArgument("graphs", "must be at least one", got="none")
        return cls(
            torch.cat([graph.x for graph in graphs]),
            torch.cat([graph.edge_index for graph in graphs], dim=1),
            None if graphs[0].edge_attr is None else torch.cat([graph.edge_attr for graph in graphs]),
            torch.cat([graph.y for graph in graphs]),
            torch.tensor([graph.num_nodes for graph in graphs]),
            torch.tensor([graph.edge_index.size(1) for graph in graphs]),
        )

    def __len__(self) -> int:
        return self.nodes.numel()

    def __getitem__(self, number: int) -> Data:
        if not -len(self) <= number < len(self):
            raise IndexError(f"graph {number} of {len(self)}")
        number %= len(self)
        node, edge = self._first_node[number], self._first_edge[number]
        nodes, edges = slice(node, node + self.nodes[number]), slice(edge, edge + self.edges[number])
        return Data(
            x=self.x[nodes],
            edge_index=self.edge_index[:, edges],
            edge_attr=None if self.edge_attr is None else self.edge_attr[edges],
            y=self.y[number : number + 1],
            num_nodes=int(self.nodes[number]),
        )

    def __iter__(self) -> Iterator[Data]:
        return (self[number] for number in range(len(self)))

    def batch(self, chosen: Sequence[int] | Tensor) -> Data:
        """These graphs as one batch, in this order; a graph may come more than once."""
        chosen = numbers_of(chosen, len(self))
        nodes = self.nodes[chosen]
        node, of_node = enumerate_blocks(self._first_node[chosen], nodes)
        edge, of_edge = enumerate_blocks(self._first_edge[chosen], self.edges[chosen])
        return Data(
            x=self.x[node],
            edge_index=self.edge_index[:, edge] + offsets(nodes)[of_edge],
            edge_attr=None if self.edge_attr is None else self.edge_attr[edge],
            y=self.y[chosen],
            batch=of_node,
            num_nodes=node.numel(),
            num_graphs=chosen.numel(),
        )

    def subset(self, chosen: Sequence[int] | Tensor) -> Collection:
        """Only these graphs."""
        chosen = numbers_of(chosen, len(self))
        part = self.batch(chosen)
        first = offsets(self.nodes[chosen])[part.batch[part.edge_index[0]]]
        return Collection(
            part.x, part.edge_index - first, part.edge_attr, part.y, self.nodes[chosen], self.edges[chosen]
        )

    @property
    def mean_nodes(self) -> float:
        """m, by which the paper chooses p and r for a dataset."""
        return float(self.nodes.double().mean())

    @cached_property
    def _first_node(self) -> Tensor:
        return offsets(self.nodes)

    @cached_property
    def _first_edge(self) -> Tensor:
        return offsets(self.edges)
