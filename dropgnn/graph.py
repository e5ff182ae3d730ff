"""The graphs of a batch as one value, checked once at the door.

Everything behind the door (samplers, modes, engines) may rely on what is promised here. A batch of graphs is itself
a graph, only disconnected; so is a batch of perturbed copies, which is why :class:`Graph` serves for both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import NamedTuple

import torch
from torch import Tensor

from dropgnn.errors import InvalidArgument, of_kind, one_of, whole_number

ITEMS = ("nodes", "links")
"""What can be dropped."""

MAX_GRAPHS = 2**25
"""The most graphs of a batch, with or without nodes: each takes memory."""

MAX_ITEMS = 2**31 - 1
"""The most nodes, edges or links of a batch: planning numbers them in 32 bits."""

FEATURES = (torch.float64, torch.float32, torch.float16, torch.bfloat16)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
"""What features may be made of."""

UNSIGNED = (torch.uint16, torch.uint32, torch.uint64)
"""More whole numbers, with which little can be computed."""


class Extra(NamedTuple):
    """One more input of an encoder, a row per node or per edge, copied along with them.

    Shapes:
        value ``[N, ...]`` or ``[E, ...]``.
    """

    name: str
    value: Tensor
    of_edges: bool


@dataclass(frozen=True, eq=False)
class Graph:
    """A batch of graphs.

    Args:
        x: Node features.
        edge_index: Edges, from the sender ``edge_index[0]`` to the receiver ``edge_index[1]``.
        edge_attr: Edge features, or ``None``.
        batch: The graph each node belongs to, non-decreasing.
        num_graphs: The number of graphs; trailing graphs may have no node.
        extra: What else the encoder takes, such as positions of nodes or weights of edges.

    Shapes:
        x ``[N, F]``, edge_index ``[2, E]``, edge_attr ``[E, D]``, batch ``[N]``.
    """

    x: Tensor
    edge_index: Tensor
    edge_attr: Tensor | None
    batch: Tensor
    num_graphs: int
    extra: tuple[Extra, ...] = ()

    @classmethod
    def of(
        cls,
        x: Tensor,
        edge_index: Tensor,
        edge_attr: Tensor | None = None,
        batch: Tensor | None = None,
        num_graphs: int | None = None,
        extra: Mapping[str, Tensor] | None = None,
    ) -> Graph:
        """Check every promise and build the value; without ``batch`` all nodes form one graph.

        What is ``extra`` belongs to edges if its name begins with "edge" or it has a row for each, else to nodes.
        """
        _check_features(x)
        _check_edges(edge_index, x)
        if edge_attr is not None:
            _check_edge_attr(edge_attr, x, edge_index)
        if batch is None:
            batch = x.new_zeros(x.size(0), dtype=torch.long)
            if num_graphs is not None and whole_number("num_graphs", num_graphs, least=0) != 1:
                raise InvalidArgument(
                    "num_graphs", "must be 1 without batch", got=num_graphs, hint="pass batch=data.batch"
                )
            num_graphs = 1
        num_graphs = _check_batch(batch, x, edge_index, num_graphs)
        more = tuple(_extra(name, value, x, edge_index) for name, value in (extra or {}).items())
        graph = cls(x, edge_index, edge_attr, batch, num_graphs, more)
        vars(graph)["_checked"] = _versions(graph)
        return graph

    def check(self) -> None:
        """Raise unless this is what a ``Graph`` promises to be. For one that was not built by :meth:`of`."""
        if self.batch is None or self.num_graphs is None:
            raise InvalidArgument(
                "graph", "must have batch and num_graphs", got=None, hint="build it with Graph.of(...)"
            )
        more = {one.name: one.value for one in self.extra}
        Graph.of(self.x, self.edge_index, self.edge_attr, self.batch, self.num_graphs, more)
        vars(self)["_checked"] = _versions(self)

    @property
    def checked(self) -> bool:
        """Whether :meth:`check` ran since its tensors were last modified."""
        return vars(self).get("_checked", ()) == _versions(self)

    @property
    def tensors(self) -> dict[str, Tensor]:
        """All that it is made of, by name."""
        own = {"x": self.x, "edge_index": self.edge_index, "edge_attr": self.edge_attr, "batch": self.batch}
        return {name: value for name, value in own.items() if value is not None} | {
            one.name: one.value for one in self.extra
        }

    def take_extra(self, nodes: Tensor, edges: Tensor) -> tuple[Extra, ...]:
        """What is extra about some of the nodes and edges."""
        return tuple(one._replace(value=one.value[edges if one.of_edges else nodes]) for one in self.extra)

    @property
    def num_nodes(self) -> int:
        return self.x.size(0)

    @cached_property
    def nodes_per_graph(self) -> Tensor:
        """Shape ``[G]``."""
        return torch.bincount(self.batch, minlength=self.num_graphs)

    @cached_property
    def links(self) -> Links:
        """The undirected edges: all edges between the same two nodes, in either direction, are one link."""
        low, high = self.edge_index.min(dim=0).values, self.edge_index.max(dim=0).values
        keys, of_edge = torch.unique(low * max(self.num_nodes, 1) + high, return_inverse=True)
        graph = self.batch[torch.div(keys, max(self.num_nodes, 1), rounding_mode="floor")]
        return Links(of_edge, torch.bincount(graph, minlength=self.num_graphs))

    def items_per_graph(self, items: str) -> Tensor:
        """How many nodes or links each graph has, shape ``[G]``."""
        one_of("items", items, ITEMS)
        return self.nodes_per_graph if items == "nodes" else self.links.per_graph


@dataclass(frozen=True, eq=False)
class Links:
    """Undirected edges, numbered graph by graph.

    Shapes:
        of_edge ``[E]``: the link of each directed edge; per_graph ``[G]``: how many links each graph has.
    """

    of_edge: Tensor
    per_graph: Tensor

    @cached_property
    def number(self) -> int:
        """How many links there are."""
        return int(self.per_graph.sum())


def offsets(sizes: Tensor) -> Tensor:
    """Where each of consecutive blocks begins.

    >>> offsets(torch.tensor([3, 0, 2]))
    tensor([0, 3, 3])
    """
    return sizes.cumsum(0) - sizes


def _extra(name: str, value: Tensor, x: Tensor, edge_index: Tensor) -> Extra:
    of_kind(name, value, Tensor, "a row per node or per edge")
    nodes, edges = x.size(0), edge_index.size(1)
    rows = value.size(0) if value.dim() else None
    of_edges = name.startswith("edge") or (rows == edges and rows != nodes)
    if rows != (edges if of_edges else nodes) or value.layout != torch.strided:
        rule = f"must be a dense tensor with a row for each of the {nodes} nodes or {edges} edges"
        raise InvalidArgument(name, rule, got=f"{value.layout} of shape {tuple(value.shape)}")
    if value.device != x.device:
        raise InvalidArgument(name, f"must be on the device of x, {x.device}", got=value.device)
    return Extra(name, value, of_edges)


def _versions(graph: Graph) -> tuple[int, ...] | None:
    """What torch counts up when a tensor is written to; ``None`` where it does not count."""
    if graph.edge_index.is_inference() or graph.batch.is_inference():
        return None
    return graph.edge_index._version, graph.batch._version


def known(graph: Graph) -> Graph:
    """``graph``, if it is a graph whose promises hold; asked of those that a user hands us."""
    if not of_kind("graph", graph, Graph, "build one with Graph.of(x, edge_index, ...)").checked:
        graph.check()
    return graph


def numbers_of(chosen: Sequence[int] | Tensor, many: int, *, argument: str = "chosen") -> Tensor:
    """Which of ``many`` graphs are meant, ``[C]``.

    >>> numbers_of(torch.tensor([True, False]), 2)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    dropgnn.errors.InvalidArgument: 'chosen' must be a list of whole numbers (got torch.bool of shape (2,)); of a mask take ...
    """
    try:
        given = torch.as_tensor(chosen)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        raise InvalidArgument(argument, "must be a list of whole numbers", got=chosen) from None
    if (
        given.dim() != 1
        or given.layout != torch.strided
        or (given.numel() and given.dtype not in (*INTEGERS, *UNSIGNED))
    ):
        hint = "of a mask take .nonzero().squeeze(1)" if given.dtype == torch.bool else ""
        got = f"{given.dtype} of shape {tuple(given.shape)}"
        raise InvalidArgument(argument, "must be a list of whole numbers", got=got, hint=hint)
    numbers = given.long()
    if numbers.numel() and not 0 <= int(numbers.min()) <= int(numbers.max()) < many:
        raise InvalidArgument(argument, f"must name graphs from 0 to {many - 1}", got=numbers.tolist()[:10])
    return numbers


def enumerate_blocks(starts: Tensor, sizes: Tensor) -> tuple[Tensor, Tensor]:
    """Lay blocks ``start, start + 1, ..., start + size - 1`` end to end; also say which block each entry came from.

    >>> enumerate_blocks(torch.tensor([5, 0]), torch.tensor([2, 3]))
    (tensor([5, 6, 0, 1, 2]), tensor([0, 0, 1, 1, 1]))
    """
    block = torch.repeat_interleave(torch.arange(sizes.numel(), device=sizes.device), sizes)
    position = torch.arange(block.numel(), device=sizes.device) - offsets(sizes)[block]
    return starts[block] + position, block


def _check_rows(name: str, value: Tensor, rows: int, what: str) -> None:
    if isinstance(value, Tensor) and (value.layout != torch.strided or value.is_nested or value.is_meta):
        got = "one without data" if value.is_meta else "a nested tensor" if value.is_nested else value.layout
        raise InvalidArgument(name, "must be a dense tensor", got=got, hint=f"convert with {name}.to_dense()")
    if not isinstance(value, Tensor) or value.dim() != 2 or value.size(0) != rows:
        shape = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
        raise InvalidArgument(
            name,
            f"must be a matrix with one row per {what}, here [{rows}, features]",
            got=shape,
            hint=f"for a single feature per {what} use {name}.unsqueeze(1)",
        )
    # One sum says it in most cases, and in one operation; where it is not finite, it may only be large.
    if value.is_floating_point() and not isfinite(value.detach().sum()) and not bool(torch.isfinite(value).all()):
        row = int((~torch.isfinite(value)).any(dim=1).nonzero()[0])
        raise InvalidArgument(
            name, "must be finite", got=f"NaN or infinity in row {row}", hint="clean or impute the features first"
        )


def _check_features(x: Tensor) -> None:
    if not isinstance(x, Tensor):
        hint = "without features use torch.ones(num_nodes, 1)" if x is None else "pass data.x, or torch.as_tensor(...)"
        raise InvalidArgument("x", "must be a tensor of node features [N, F]", got=type(x).__name__, hint=hint)
    if x.dtype not in FEATURES and x.dtype not in INTEGERS:
        raise InvalidArgument("x", "must hold real numbers", got=x.dtype, hint="convert with x.float()")
    _check_number("x", x)
    _check_rows("x", x, x.size(0) if x.dim() and not x.is_nested else 0, "node")


def _check_number(name: str, value: Tensor, dim: int = 0) -> None:
    if not value.is_nested and value.dim() > dim and value.size(dim) > MAX_ITEMS:
        raise InvalidArgument(name, f"must be of at most {MAX_ITEMS:,}", got=f"{value.size(dim):,}")


def _check_edge_attr(edge_attr: Tensor, x: Tensor, edge_index: Tensor) -> None:
    _check_rows("edge_attr", edge_attr, edge_index.size(1), "edge")
    _check_device("edge_attr", edge_attr, x)
    if edge_attr.dtype not in (*FEATURES, *INTEGERS, torch.bool):
        hint = "convert with edge_attr.float()"
        raise InvalidArgument("edge_attr", "must hold real numbers", got=edge_attr.dtype, hint=hint)


def _check_edges(edge_index: Tensor, x: Tensor) -> None:
    if not isinstance(edge_index, Tensor):
        hint = (
            "without edges pass torch.empty(2, 0, dtype=torch.long)" if edge_index is None else "pass data.edge_index"
        )
        raise InvalidArgument("edge_index", "must be a tensor [2, E]", got=type(edge_index).__name__, hint=hint)
    if edge_index.layout != torch.strided:
        hint = "convert with edge_index.to_sparse_coo().coalesce().indices()"
        raise InvalidArgument("edge_index", "must be a dense tensor [2, E]", got=edge_index.layout, hint=hint)
    if edge_index.dim() != 2 or edge_index.size(0) != 2:
        turned = edge_index.dim() == 2 and edge_index.size(1) == 2
        hint = "transpose it with edge_index.t()" if turned else "an adjacency matrix becomes adj.nonzero().t()"
        raise InvalidArgument("edge_index", "must have shape [2, E]", got=tuple(edge_index.shape), hint=hint)
    if edge_index.dtype != torch.long:
        raise InvalidArgument(
            "edge_index", "must have dtype torch.long", got=edge_index.dtype, hint="convert with edge_index.long()"
        )
    if edge_index.device != x.device:
        raise InvalidArgument("edge_index", f"must be on the device of x, {x.device}", got=edge_index.device)
    _check_number("edge_index", edge_index, dim=1)
    if edge_index.numel():
        low, high = map(int, edge_index.aminmax())
        if low < 0 or high >= x.size(0):
            raise InvalidArgument(
                "edge_index",
                f"must point at the {x.size(0)} rows of x, 0 to {x.size(0) - 1}",
                got=low if low < 0 else high,
                hint="give every node a row in x, isolated ones too",
            )


def _check_device(name: str, value: Tensor, x: Tensor) -> None:
    if value.device != x.device:
        raise InvalidArgument(name, f"must be on {x.device}, where x is", got=value.device, hint=f"{name}.to(x.device)")


def _first_fall(batch: Tensor) -> str:
    if int(batch[0]) < 0:
        return f"{int(batch[0])} for node 0"
    node = int((batch[1:] < batch[:-1]).nonzero()[0])
    return f"{int(batch[node])} for node {node}, then {int(batch[node + 1])} for node {node + 1}"


def _check_batch(batch: Tensor, x: Tensor, edge_index: Tensor, num_graphs: int | None) -> int:
    dense = isinstance(batch, Tensor) and batch.layout == torch.strided
    if not dense or batch.shape != x.shape[:1] or batch.dtype != torch.long:
        got = f"{batch.dtype} of shape {tuple(batch.shape)}" if isinstance(batch, Tensor) else type(batch).__name__
        raise InvalidArgument(
            "batch", f"must be a torch.long tensor with one entry per node, here [{x.size(0)}]", got=got
        )
    _check_device("batch", batch, x)
    if batch.numel() and (int(batch[0]) < 0 or bool((batch[1:] < batch[:-1]).any())):
        raise InvalidArgument(
            "batch",
            "must be non-negative and non-decreasing",
            got=_first_fall(batch),
            hint="keep the nodes of a graph together, as torch_geometric.data.Batch does",
        )
    needed = int(batch[-1]) + 1 if batch.numel() else 0
    num_graphs = needed if num_graphs is None else whole_number("num_graphs", num_graphs, least=0, most=MAX_GRAPHS)
    if num_graphs < needed:
        raise InvalidArgument("num_graphs", f"must be at least {needed}, by the entries of batch", got=num_graphs)
    sender, receiver = batch[edge_index]
    if not torch.equal(sender, receiver):
        crossing = sender != receiver
        edge = edge_index[:, crossing][:, 0].tolist()
        raise InvalidArgument("edge_index", "must join nodes of one graph", got=f"edge {edge} between two graphs")
    return num_graphs
