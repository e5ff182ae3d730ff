"""What rows are about: the nodes, or the edges, of all copies of a batch."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple, TypeVar
from weakref import ReferenceType, ref

import torch
from torch import Tensor

from dropgnn.engine.copies import expand
from dropgnn.engine.edge_features import kinds_of
from dropgnn.engine.plan import Level, SharedPlan
from dropgnn.graph import Graph, enumerate_blocks, offsets
from dropgnn.ops import ops_for
from dropgnn.runs.modes import Effect, Mode
from dropgnn.runs.runs import Runs

S = TypeVar("S", bound="Space")


class AllCopies(NamedTuple):
    """All copies as one graph, after dropping.

    Shapes:
        node ``[M]``, edge ``[K]``: the node or edge of the batch that each of its nodes or edges is a copy of.
    """

    graph: Graph
    node: Tensor
    edge: Tensor


class Ending(NamedTuple):
    """Where rows were expanded: by which function or module, and which lines called it."""

    what: str
    where: str

    def __str__(self) -> str:
        return f"{self.what} ({self.where})" if self.where else self.what


def _lines() -> str:
    """The innermost line that is neither ours nor torch's, with its module, and the innermost that is not PyG's either."""
    found: list[str] = []
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name.split(".")[0] not in ("dropgnn", "torch"):
            theirs = name.startswith("torch_geometric.")
            if not theirs or not found:
                owner = frame.f_locals.get("self")
                owner = f"{type(owner).__name__}, " if isinstance(owner, torch.nn.Module) else ""
                found.append(f"{owner}{Path(frame.f_code.co_filename).name}:{frame.f_lineno}")
            if not theirs:
                break
        frame = frame.f_back
    return "; called in ".join(found)


class Sharing:
    """One forward on distinct rows: what it is about, and where sharing ended.

    Args:
        plan: For the batch, the runs and the mode; it grows while the forward asks for more layers.
        trace: Whether to look where in the user's code sharing ends.
    """

    def __init__(self, plan: SharedPlan, *, trace: bool = False) -> None:
        self.plan, self.trace = plan, trace
        self.ended: list[Ending] = []
        self.depth = 0
        self.edge_attr: Tensor | None = None
        """The distinct features of edges that the forward was given."""
        self.matrices: dict[Any, Any] | None = None
        """What edge networks made of them, where a forward is known to use the same ones again."""
        self._spaces: dict[type[Space], ReferenceType[Any]] = {}

    def end(self, what: str) -> None:
        """Remember that rows were expanded, by what and where."""
        self.ended.append(Ending(what, _lines() if self.trace and not self.ended else ""))

    @property
    def nodes(self) -> NodeSpace:
        """The space of rows of nodes."""
        return self._space(NodeSpace)

    @property
    def edges(self) -> EdgeSpace:
        """The space of rows of edges."""
        return self._space(EdgeSpace)

    def _space(self, kind: type[S]) -> S:
        """Spaces hold us, and not the other way round: a cycle would keep a step's memory until Python looks for cycles."""
        known = self._spaces.get(kind)
        space = None if known is None else known()
        if space is None:
            space = kind(self)
            self._spaces[kind] = ref(space)
        return space

    @property
    def graph(self) -> Graph:
        return self.plan.graph

    @property
    def features(self) -> Graph:
        """The graph whose rows and edges the plan names: the batch, or the dataset it is a part of."""
        return self.plan.graph if self.plan.origin is None else self.plan.origin

    @property
    def runs(self) -> Runs:
        return self.plan.runs

    @property
    def mode(self) -> Mode:
        return self.plan.mode

    def level(self, number: int) -> Level:
        self.depth = max(self.depth, number)
        return self.plan.level(number)

    def dropped(self, number: int) -> Tensor:
        """Which states behind so many layers are those of nodes that dropping zeroed, ``[S]``."""
        mask = self.plan.source < 0
        for level in range(1, number + 1):
            mask = mask[self.level(level).own.long()]
        return mask

    @cached_property
    def copies(self) -> AllCopies:
        """All copies, made where something looks at their edges, their features or which rows belong to which."""
        attr = self.graph.edge_attr
        numbered = torch.arange(self.graph.edge_index.size(1), device=self.graph.edge_index.device).unsqueeze(1)
        copies, node = expand(replace(self.graph, edge_attr=numbered), self.runs)
        left, rows, _ = self.mode(copies, self.runs.mask())
        assert left.edge_attr is not None
        edge = left.edge_attr.squeeze(1)
        return AllCopies(replace(left, edge_attr=None if attr is None else attr[edge]), node[rows], edge)

    @cached_property
    def is_loop(self) -> Tensor:
        """Which edges lead from a node to itself, ``[E]``, as the plan numbers edges."""
        sender, receiver = self.features.edge_index
        return sender == receiver

    @cached_property
    def has_loops(self) -> bool:
        return bool(self.is_loop.any())

    @cached_property
    def copy_sizes(self) -> Tensor:
        """How many nodes each copy has left, ``[C]``."""
        sizes = self.graph.nodes_per_graph[self.runs.graph]
        if not self.plan.effect.removes:
            return sizes
        return sizes - torch.bincount(self.runs.dropped[0], minlength=self.runs.num_copies)

    @cached_property
    def num_edges(self) -> int:
        """The number of edges of all copies, found without making them."""
        graph, runs = self.graph, self.runs
        per_graph = torch.bincount(graph.batch[graph.edge_index[0]], minlength=graph.num_graphs)
        return int(per_graph @ runs.copies_per_graph) - _cut_edges(graph, runs, self.plan.effect, self.mode.items)


class Space(ABC):
    """Rows of all copies, and which of them are equal."""

    def __init__(self, sharing: Sharing) -> None:
        self.sharing = sharing

    @property
    @abstractmethod
    def num_rows(self) -> int:
        """Of all copies together."""

    @abstractmethod
    def index(self, level: int) -> Tensor:
        """For each row of all copies its distinct row behind ``level`` layers."""

    @abstractmethod
    def lift(self, rows: Tensor, below: int, above: int) -> Tensor:
        """Distinct rows behind ``below`` layers as distinct rows behind ``above``, which are finer."""

    def note(self, what: str) -> None:
        """Remember where sharing ended."""
        self.sharing.end(what)


class NodeSpace(Space):
    """Nodes of all copies; rows behind l layers are equal where their states are."""

    def __init__(self, sharing: Sharing) -> None:
        super().__init__(sharing)
        self._index: dict[int, Tensor] = {}

    @cached_property
    def num_rows(self) -> int:
        graph, runs = self.sharing.graph, self.sharing.runs
        rows = int(graph.nodes_per_graph @ runs.copies_per_graph)
        return rows - (runs.dropped.size(1) if self.sharing.plan.effect.removes else 0)

    def index(self, level: int) -> Tensor:
        if level not in self._index:
            graph, runs, pairs = self.sharing.graph, self.sharing.runs, self.sharing.level(level).pairs
            sizes, start = graph.nodes_per_graph[runs.graph], offsets(graph.nodes_per_graph)[runs.graph]
            node, _ = enumerate_blocks(start, sizes)
            state = pairs.base[node]
            state[pairs.node + (offsets(sizes) - start)[pairs.copy]] = pairs.label
            self._index[level] = (state[state >= 0] if self.sharing.plan.effect.removes else state).long()
        return self._index[level]

    def lift(self, rows: Tensor, below: int, above: int) -> Tensor:
        if below == above:
            return rows
        own = self.sharing.level(above).own
        for level in range(above - 1, below, -1):
            own = self.sharing.level(level).own[own]
        return ops_for(rows, self.sharing.plan.work).take_rows(rows, own)


class CopySpace(Space):
    """Copies; rows are equal where copies are alike, so that they pool to the same.

    Args:
        kind: The distinct row of each copy, ``[C]``.
    """

    def __init__(self, sharing: Sharing, kind: Tensor) -> None:
        super().__init__(sharing)
        self.kind = kind

    @property
    def num_rows(self) -> int:
        return self.kind.numel()

    def index(self, level: int) -> Tensor:
        return self.kind.long()

    def lift(self, rows: Tensor, below: int, above: int) -> Tensor:
        return rows


class EdgeSpace(Space):
    """Edges of all copies; rows are equal where the features of the edges are."""

    @cached_property
    def num_rows(self) -> int:
        return self.sharing.num_edges

    @cached_property
    def _of_copies(self) -> Tensor:
        return kinds_of(self.sharing.plan).of_edge.long()[self.sharing.copies.edge]

    def index(self, level: int) -> Tensor:
        return self._of_copies

    def lift(self, rows: Tensor, below: int, above: int) -> Tensor:
        return rows


def _cut_edges(graph: Graph, runs: Runs, effect: Effect, items: str) -> int:
    """How many edges the copies lose."""
    if effect.cuts == "none" or not runs.dropped.numel():
        return 0
    copy, item = runs.dropped
    item = item + offsets(runs.items_per_graph)[runs.graph[copy]]
    if items == "links":
        return int(torch.bincount(graph.links.of_edge, minlength=graph.links.number)[item].sum())
    sender, receiver = graph.edge_index
    cut = int(torch.bincount(sender, minlength=graph.num_nodes)[item].sum())
    if effect.cuts == "out":
        return cut
    cut += int(torch.bincount(receiver, minlength=graph.num_nodes)[item].sum())
    by_sender = sender.argsort(stable=True)
    many = torch.bincount(sender, minlength=graph.num_nodes)
    position, pair = enumerate_blocks(offsets(many)[item], many[item])
    sizes = graph.nodes_per_graph[runs.graph]
    shift = offsets(sizes) - offsets(graph.nodes_per_graph)[runs.graph]
    heard = receiver[by_sender[position]] + shift[copy[pair]]
    return cut - int(runs.mask()[heard].sum())
