"""Many graphs in few tensors, laid end to end, so that a batch of any of them is a few index operations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor
from torch_geometric.data import Data

from dropgnn.errors import InvalidArgument, whole_number
from dropgnn.graph import MAX_ITEMS, enumerate_blocks, numbers_of, offsets


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

    def __post_init__(self) -> None:
        """One pass over the tensors: every batch cut out of them relies on it."""
        for name in ("nodes", "edges"):
            sizes = _tensor(name, getattr(self, name), torch.long, 1)
            if sizes.numel() and (int(sizes.min()) < 0 or int(sizes.max()) > MAX_ITEMS):
                raise InvalidArgument(name, "must be sizes of at least 0", got=sizes.tolist()[:10])
        for name, value, rows in (
            ("x", _tensor("x", self.x, None, 2), int(self.nodes.sum())),
            ("edge_index", _tensor("edge_index", self.edge_index, torch.long, 2).t(), int(self.edges.sum())),
            ("y", _tensor("y", self.y, None, None), len(self)),
            ("edges", self.edges, len(self)),
            *([] if self.edge_attr is None else [("edge_attr", _tensor("edge_attr", self.edge_attr, None, 2), -1)]),
        ):
            rows = self.edge_index.size(1) if rows < 0 else rows
            if value.dim() == 0 or value.size(0) != rows:
                raise InvalidArgument(name, f"must be about {rows} nodes, edges or graphs", got=tuple(value.shape))
        sizes = torch.repeat_interleave(self.nodes, self.edges)
        if self.edge_index.size(0) != 2 or bool(((self.edge_index < 0) | (self.edge_index >= sizes)).any()):
            got = self.edge_index[:, :5].tolist()
            raise InvalidArgument("edge_index", "must have shape [2, E] and count nodes within their graph", got=got)

    @classmethod
    def of(cls, graphs: Sequence[Data]) -> Collection:
        """The same graphs; attributes other than x, edge_index, edge_attr and y are left behind."""
        graphs = _listed(graphs)
        columns: dict[str, Tensor | None] = {}
        for name, dim in (("x", 0), ("edge_index", 1), ("edge_attr", 0), ("y", 0)):
            tensors = [getattr(graph, name, None) for graph in graphs]
            missing = [number for number, tensor in enumerate(tensors) if not isinstance(tensor, Tensor)]
            if name == "edge_attr" and all(tensor is None for tensor in tensors):
                columns[name] = None
                continue
            if missing:
                got = f"{type(tensors[missing[0]]).__name__} in graph {missing[0]}"
                raise InvalidArgument("graphs", f"must each have a tensor {name}", got=got)
            try:
                columns[name] = torch.cat(tensors, dim=dim)  # type: ignore[arg-type]
            except (RuntimeError, IndexError, TypeError) as problem:
                rule = f"must have {name} of the same width and on the same device"
                raise InvalidArgument("graphs", rule, got=problem) from None
        nodes, edges = (
            [getattr(graph, name).size(dim) for graph in graphs] for name, dim in (("x", 0), ("edge_index", 1))
        )
        return cls(**columns, nodes=torch.tensor(nodes), edges=torch.tensor(edges))  # type: ignore[arg-type]

    def __len__(self) -> int:
        return self.nodes.numel()

    def __getitem__(self, number: int) -> Data:
        number = whole_number(
            "number", number, least=-MAX_ITEMS, most=MAX_ITEMS, hint="for several graphs use subset or batch"
        )
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


def _tensor(name: str, value: object, dtype: torch.dtype | None, dim: int | None) -> Tensor:
    """``value``, if it is a dense tensor of this dtype and so many dimensions, where those are given."""
    if isinstance(value, Tensor) and value.layout == torch.strided and not value.is_meta:
        if dtype in (None, value.dtype) and dim in (None, value.dim()):
            return value
        got: object = f"{value.dtype} of shape {tuple(value.shape)}"
    else:
        got = value.layout if isinstance(value, Tensor) else type(value).__name__
    kind = "" if dtype is None else f" of {dtype}"
    raise InvalidArgument(
        name, f"must be a dense tensor{kind}{'' if dim is None else f' with {dim} dimensions'}", got=got
    )


def _listed(graphs: Sequence[Data]) -> list[Data]:
    """``graphs`` as a list of at least one ``Data``."""
    try:
        listed = [] if isinstance(graphs, (str, bytes, dict, Data)) else list(graphs)
    except TypeError:
        listed = []
    if not listed or not all(isinstance(graph, Data) for graph in listed):
        got = type(next((graph for graph in listed if not isinstance(graph, Data)), graphs)).__name__
        raise InvalidArgument(
            "graphs", "must be at least one of PyG's Data, in a list", got=got if graphs is not None else None
        )
    return listed
