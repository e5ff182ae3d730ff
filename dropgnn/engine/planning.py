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

from dropgnn.engine import compiled, compiled_maps
from dropgnn.engine.arrays import Copies, Edges, dropped_items, heard_edges, hearing_less, shares_of, words
from dropgnn.engine.compiled import ABSENT
from dropgnn.graph import Graph
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
        own, degree ``[S]``: for each state its own state below and its degree, itself included;
        edge_ptr ``[S + 1]``, sender, edge ``[K]``: the states below that it hears, and by which edge of the graph;
        weight, count ``[S]``: how much its pairs count together, and how many they are.

    With ``silent`` there is one more state, number S: the row of zeros that dropped nodes have after the layer.
    """

    pairs: Pairs
    own: np.ndarray
    degree: np.ndarray
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


def make_plan(graph: Graph, runs: Runs, mode: Mode, layers: int, *, degrees: bool = False) -> SharedPlan:
    """Refine colours over all pairs. Nodes with equal features are one colour, unless gradients of x are wanted.

    Args:
        graph: The batch.
        runs: Which items are dropped in which copy.
        mode: What dropping does.
        layers: How many layers the encoder has.
        degrees: Whether layers look at the degrees after dropping (GCN): they are part of the initial colour then.
    """
    edges = heard_edges(graph, runs, mode)
    ptr, dropped = dropped_items(graph, runs)
    copies = Copies.of(graph, runs)
    colour, source = _initial_colours(graph)
    pairs, source = _before_the_first_layer(graph, mode, colour, source, ptr, dropped)
    extra_ptr, extra_node = hearing_less(graph, mode, ptr, dropped)
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
    return SharedPlan(runs, copies, shares_of(graph, runs), tuple(levels), source)


class _Refine:
    """One round of colour refinement."""

    def __init__(self, edges: Edges, ptr: np.ndarray, dropped: np.ndarray, mode: Mode) -> None:
        self.edges, self.ptr, self.dropped = edges, ptr, dropped
        self.cuts = isinstance(mode, (RemoveNodes, DropEdges, ReceiveOnly))
        self.removes, self.silences = isinstance(mode, RemoveNodes), isinstance(mode, ZeroLayers)

    def __call__(self, below: Pairs, wider: tuple[np.ndarray, np.ndarray], copies: Copies, *, own_only: bool) -> Level:
        edges, (ptr, node) = self.edges, wider
        base, label, own, degree, edge_ptr, sender, position = compiled.label_layer(
            below.base, below.ptr, below.node, below.label, ptr, node, self.ptr, self.dropped,
            edges.in_ptr, edges.in_node, edges.in_colour, edges.in_item, self.cuts, self.removes, own_only, edges.num_items,
        )  # fmt: skip
        weight, count = _weigh(Pairs(base, ptr, node, label), own.size, copies)
        silent = self.silences and not own_only
        if silent:  # computed like any other row, since batch norm counts it; then replaced by the row of zeros
            label[_first_of_each(ptr, np.diff(self.ptr))] = own.size
        pairs = Pairs(base, ptr, node, label)
        return Level(pairs, own, degree, edge_ptr, sender, edges.in_edge[position], weight, count, silent)


def _weigh(pairs: Pairs, number: int, copies: Copies) -> tuple[np.ndarray, np.ndarray]:
    """Weight and number of the pairs of each state."""
    return compiled_maps.sum_weights(
        pairs.base, pairs.ptr, pairs.node, pairs.label, copies.weight, copies.weight_of_graph, copies.copies_of_graph,
        copies.graph_of_node, number,
    )  # fmt: skip


def _first_level(pairs: Pairs, number: int, copies: Copies) -> Level:
    weight, count = _weigh(pairs, number, copies)
    none, states = np.empty(0, np.int32), np.arange(number, dtype=np.int32)
    no_edges = np.zeros(number + 1, np.int32)
    return Level(pairs, states, np.zeros(number, np.int32), no_edges, none, none, weight, count, silent=False)


def _initial_colours(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    """The colour of every node by its features, and a node that has each colour."""
    if graph.x.requires_grad:
        nodes = np.arange(graph.num_nodes, dtype=np.int32)
        return nodes, nodes
    return compiled.colour_rows(words(graph.x))


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


def _nobody(graph: Graph) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros(graph.num_nodes + 1, np.int32), np.empty(0, np.int32)


def _first_of_each(ptr: np.ndarray, many: np.ndarray) -> np.ndarray:
    """The first ``many[c]`` positions of each block ``ptr[c] : ptr[c + 1]``."""
    ends = np.cumsum(many)
    return np.repeat(ptr[:-1] - (ends - many), many) + np.arange(many.sum())
