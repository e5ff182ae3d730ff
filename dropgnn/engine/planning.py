r"""Which computations are the same: the plan of the ``shared`` engine.

After layer l the row of node v in copy c depends only on what was dropped within l hops of v, and only through the
1-WL colour of the pair (v, c). So colours are refined first, on integers and without weights:

* a *pair* is a node in a copy; only pairs that notice a drop are listed, all others look like the undropped graph;
* a *state* is a colour of pairs after l layers; each state is computed once;
* a *layer* of the plan says, for every state, its own state below and those of the neighbours it hears.

Planning is pure: the same graph, runs and mode give the same plan.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from dropgnn.engine import compiled
from dropgnn.engine.compiled import ABSENT
from dropgnn.graph import Graph, offsets
from dropgnn.runs.modes import DropEdges, Mode, ReceiveOnly, RemoveNodes, ZeroInputs, ZeroLayers
from dropgnn.runs.runs import Runs

MODES = (ZeroInputs, ZeroLayers, RemoveNodes, DropEdges, ReceiveOnly)


@dataclass(frozen=True, eq=False)
class Pairs:
    """The pairs that notice a drop, listed copy by copy, and the state of every pair.

    Shapes:
        base ``[N]``: state of every node in the undropped graph; ptr ``[C + 1]``; node, label ``[P]``: the listed pairs
        and their states (``ABSENT`` where the node is removed).
    """

    base: np.ndarray
    ptr: np.ndarray
    node: np.ndarray
    label: np.ndarray


@dataclass(frozen=True, eq=False)
class Level:
    """The states after one layer.

    Shapes:
        own, degree, node ``[S]``: for each state its own state below, its degree with itself, and a node that has it;
        edge_ptr ``[S + 1]``, sender, edge ``[K]``: the states below that it hears, and by which edge of the graph;
        weight, count ``[S]``: how much its pairs count together, and how many they are.

    With ``silent`` there is one more state, number S: the row of zeros that dropped nodes have after the layer.
    """

    pairs: Pairs
    own: np.ndarray
    degree: np.ndarray
    node: np.ndarray
    edge_ptr: np.ndarray
    sender: np.ndarray
    edge: np.ndarray
    weight: np.ndarray
    count: np.ndarray
    silent: bool

    @property
    def num_states(self) -> int:
        return self.own.size

    @property
    def num_rows(self) -> int:
        """States, and the row of zeros where there is one."""
        return self.num_states + self.silent

    @property
    def receiver(self) -> np.ndarray:
        """The state that hears each edge, shape ``[K]``."""
        return np.repeat(np.arange(self.num_states, dtype=np.int32), np.diff(self.edge_ptr))


@dataclass(frozen=True, eq=False)
class SharedPlan:
    """Everything the ``shared`` engine needs to know about a batch before it computes; ``print`` shows the savings.

    Args:
        runs: The runs it is a plan for.
        copies: What the copies weigh.
        shares: Weights per node and copy where they differ: ptr ``[N + 1]``, copy and weight; else empty.
        levels: States before the first layer and after each.
        source: For each state before the first layer the row of x it has, -1 for zeros.
    """

    runs: Runs
    copies: Copies
    shares: tuple[np.ndarray, np.ndarray, np.ndarray]
    levels: tuple[Level, ...]
    source: np.ndarray

    @property
    def rows(self) -> int:
        """Rows per layer if nothing were shared and nothing removed."""
        return self.copies.rows

    @property
    def states(self) -> list[int]:
        return [level.num_states for level in self.levels]

    def __str__(self) -> str:
        shared = ", ".join(f"{states:,}" for states in self.states)
        saved = self.rows * len(self.levels) / max(sum(self.states), 1)
        return f"{self.rows:,} rows per layer; distinct, layer by layer: {shared} ({saved:.1f} times fewer)"


def make_plan(
    graph: Graph, runs: Runs, mode: Mode, layers: int, *, degrees: bool = False, identities: bool = False
) -> SharedPlan:
    """Refine colours over all pairs.

    Args:
        graph: The batch.
        runs: Which items are dropped in which copy.
        mode: What dropping does.
        layers: How many layers the encoder has.
        degrees: Whether layers look at the degrees after dropping (GCN): they are part of the initial colour then.
        identities: Whether nodes with equal features must be kept apart, as where gradients of x are wanted.
    """
    edges = _heard_edges(graph, runs, mode)
    ptr, dropped = _dropped_items(graph, runs)
    copies = Copies.of(graph, runs)
    colour, source = _initial_colours(graph, identities)
    pairs, source = _before_the_first_layer(graph, mode, colour, source, ptr, dropped)
    extra_ptr, extra_node = _hearing_less(graph, mode, ptr, dropped)
    refine = _Refine(edges, ptr, dropped, mode)

    if degrees:
        wider = compiled.spread_effect(pairs.ptr, pairs.node, extra_ptr, extra_node, *_nobody(graph), graph.num_nodes)
        level = refine(pairs, wider, copies, own_only=True)
        source = source[level.own]
    else:
        level = _first_level(pairs, source.size, copies)
    levels = [level]
    for _ in range(layers):
        below = levels[-1].pairs
        wider = compiled.spread_effect(
            below.ptr, below.node, extra_ptr, extra_node, edges.out_ptr, edges.out_node, graph.num_nodes
        )
        levels.append(refine(below, wider, copies, own_only=False))
    return SharedPlan(runs, copies, _shares(graph, runs), tuple(levels), source)


@dataclass(frozen=True, eq=False)
class _Edges:
    """The edges of the batch by receiver and by sender."""

    in_ptr: np.ndarray
    in_node: np.ndarray
    in_colour: np.ndarray
    in_item: np.ndarray
    in_edge: np.ndarray
    out_ptr: np.ndarray
    out_node: np.ndarray
    num_items: int


@dataclass(frozen=True, eq=False)
class Copies:
    """What the copies weigh and how many there are."""

    weight: np.ndarray
    weight_of_graph: np.ndarray
    copies_of_graph: np.ndarray
    graph_of_node: np.ndarray
    rows: int

    @classmethod
    def of(cls, graph: Graph, runs: Runs) -> Copies:
        weight, owner = _numpy(runs.weight), _numpy(runs.graph)
        number = np.bincount(owner, minlength=graph.num_graphs)
        return cls(
            weight,
            np.bincount(owner, weights=weight, minlength=graph.num_graphs),
            number,
            _numpy(graph.batch),
            int(number @ _numpy(graph.nodes_per_graph)),
        )

    def __call__(self, pairs: Pairs, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Weight and number of the pairs of each state."""
        return compiled.sum_weights(
            pairs.base, pairs.ptr, pairs.node, pairs.label, self.weight, self.weight_of_graph, self.copies_of_graph,
            self.graph_of_node, number,
        )  # fmt: skip


class _Refine:
    """One round of colour refinement."""

    def __init__(self, edges: _Edges, ptr: np.ndarray, dropped: np.ndarray, mode: Mode) -> None:
        self.edges, self.ptr, self.dropped = edges, ptr, dropped
        self.cuts = isinstance(mode, (RemoveNodes, DropEdges, ReceiveOnly))
        self.removes, self.silences = isinstance(mode, RemoveNodes), isinstance(mode, ZeroLayers)

    def __call__(self, below: Pairs, wider: tuple[np.ndarray, np.ndarray], copies: Copies, *, own_only: bool) -> Level:
        edges, (ptr, node) = self.edges, wider
        base, label, own, degree, witness, edge_ptr, sender, position = compiled.label_layer(
            below.base, below.ptr, below.node, below.label, ptr, node, self.ptr, self.dropped,
            edges.in_ptr, edges.in_node, edges.in_colour, edges.in_item, self.cuts, self.removes, own_only, edges.num_items,
        )  # fmt: skip
        weight, count = copies(Pairs(base, ptr, node, label), own.size)
        silent = self.silences and not own_only
        if silent:  # computed like any other row, since batch norm counts it; then replaced by the row of zeros
            label[_first_of_each(ptr, np.diff(self.ptr))] = own.size
        pairs = Pairs(base, ptr, node, label)
        return Level(pairs, own, degree, witness, edge_ptr, sender, edges.in_edge[position], weight, count, silent)


def _first_level(pairs: Pairs, number: int, copies: Copies) -> Level:
    weight, count = copies(pairs, number)
    none, states = np.empty(0, np.int32), np.arange(number, dtype=np.int32)
    return Level(
        pairs,
        states,
        np.zeros(number, np.int32),
        states,
        np.zeros(number + 1, np.int32),
        none,
        none,
        weight,
        count,
        False,
    )


def _heard_edges(graph: Graph, runs: Runs, mode: Mode) -> _Edges:
    sender, receiver = (_numpy(end).astype(np.int32) for end in graph.edge_index)
    in_ptr, by_receiver = compiled.group(receiver, graph.num_nodes)
    out_ptr, by_sender = compiled.group(sender, graph.num_nodes)
    if graph.edge_attr is None:
        colour = np.zeros(sender.size, np.int32)
    elif graph.edge_attr.requires_grad:
        colour = np.arange(sender.size, dtype=np.int32)
    else:
        colour = compiled.colour_rows(_words(graph.edge_attr))[0]
    item = _numpy(graph.links.of_edge).astype(np.int32) if mode.items == "links" else sender
    number = int(runs.items_per_graph.sum())
    return _Edges(
        in_ptr,
        sender[by_receiver],
        colour[by_receiver],
        item[by_receiver],
        by_receiver,
        out_ptr,
        receiver[by_sender],
        number,
    )


def _dropped_items(graph: Graph, runs: Runs) -> tuple[np.ndarray, np.ndarray]:
    """The dropped items of every copy, counted over the batch: ptr ``[C + 1]``, item ``[D]``."""
    copy, item = runs.dropped
    item = item + offsets(runs.items_per_graph)[runs.graph[copy]]
    ptr = np.zeros(runs.num_copies + 1, np.int32)
    np.cumsum(np.bincount(_numpy(copy), minlength=runs.num_copies), out=ptr[1:])
    return ptr, _numpy(item).astype(np.int32)


def _initial_colours(graph: Graph, identities: bool) -> tuple[np.ndarray, np.ndarray]:
    """The colour of every node by its features, and a node that has each colour."""
    if identities or graph.x.requires_grad:
        nodes = np.arange(graph.num_nodes, dtype=np.int32)
        return nodes, nodes
    return compiled.colour_rows(_words(graph.x))


def _before_the_first_layer(
    graph: Graph, mode: Mode, colour: np.ndarray, source: np.ndarray, ptr: np.ndarray, dropped: np.ndarray
) -> tuple[Pairs, np.ndarray]:
    """Pairs that look different before any layer: dropped nodes, zeroed or absent."""
    if isinstance(mode, (ZeroInputs, ZeroLayers)):
        label = np.full(dropped.size, source.size, np.int32)
        return Pairs(colour, ptr, dropped, label), np.append(source, np.int32(-1))
    if isinstance(mode, RemoveNodes):
        return Pairs(colour, ptr, dropped, np.full(dropped.size, ABSENT, np.int32)), source
    none = np.empty(0, np.int32)
    return Pairs(colour, np.zeros_like(ptr), none, none), source


def _hearing_less(graph: Graph, mode: Mode, ptr: np.ndarray, dropped: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nodes that lose an edge in each copy, where dropping cuts edges: ptr ``[C + 1]``, node ``[K]``."""
    if isinstance(mode, (ZeroInputs, ZeroLayers)):
        return np.zeros_like(ptr), np.empty(0, np.int32)
    receiver = _numpy(graph.edge_index[1]).astype(np.int32)
    item = _numpy(graph.links.of_edge if mode.items == "links" else graph.edge_index[0]).astype(np.int32)
    number = int(graph.items_per_graph(mode.items).sum())
    first, by_item = compiled.group(item, number)
    many = first[dropped + 1] - first[dropped]
    ends = np.concatenate([[0], np.cumsum(many)]).astype(np.int32)
    position = np.repeat(first[dropped], many) + np.arange(ends[-1]) - np.repeat(ends[:-1], many)
    return ends[ptr], receiver[by_item[position]]


def _shares(graph: Graph, runs: Runs) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if runs.shares is None:
        return np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0)
    ptr = np.zeros(graph.num_nodes + 1, np.int32)
    np.cumsum(np.bincount(_numpy(runs.shares.node), minlength=graph.num_nodes), out=ptr[1:])
    return ptr, _numpy(runs.shares.copy), _numpy(runs.shares.weight)


def _nobody(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros(graph.num_nodes + 1, np.int32), np.empty(0, np.int32)


def _first_of_each(ptr: np.ndarray, many: np.ndarray) -> np.ndarray:
    """The first ``many[c]`` positions of each block ``ptr[c] : ptr[c + 1]``."""
    ends = np.cumsum(many)
    return np.repeat(ptr[:-1] - (ends - many), many) + np.arange(many.sum())


def _words(rows: Tensor) -> np.ndarray:
    """Rows as 64-bit integers, equal exactly where the rows are equal bit by bit."""
    values = rows.detach().cpu()
    values = values.double() if values.is_floating_point() else values.long()
    return values.contiguous().numpy().view(np.int64)


def _numpy(tensor: Tensor) -> np.ndarray:
    return tensor.detach().cpu().numpy()
