"""Making plans: which computations are the same. ``plan.py`` says what a plan is.

Colours are refined first, on integers and without weights. Planning is pure: the same graph, runs and mode give the same
plan. It runs where the data is: in compiled loops on the CPU, in tensor operations on other devices.
"""

from __future__ import annotations

from types import ModuleType

import torch
from torch import Tensor

from dropgnn.engine.incidence import Edges, dropped_items, heard_edges, hearing_less, shares_of, words
from dropgnn.engine.loops import loops_for
from dropgnn.engine.plan import ABSENT, Level, Pairs, SharedPlan
from dropgnn.graph import Graph
from dropgnn.runs.modes import DropEdges, Mode, ReceiveOnly, RemoveNodes, ZeroInputs, ZeroLayers
from dropgnn.runs.runs import Runs

MODES = (ZeroInputs, ZeroLayers, RemoveNodes, DropEdges, ReceiveOnly)


def make_plan(
    graph: Graph, runs: Runs, mode: Mode, layers: int, *, degrees: bool = False, loops: ModuleType | None = None
) -> SharedPlan:
    """Refine colours over all pairs. Nodes with equal features are one colour, unless gradients of x are wanted.

    Args:
        graph: The batch.
        runs: Which items are dropped in which copy.
        mode: What dropping does.
        layers: How many layers the encoder has.
        degrees: Whether layers look at the degrees after dropping (GCN): they are part of the initial colour then.
        loops: ``compiled`` or ``vectorised``; by default what suits the device.
    """
    loops = loops or loops_for(graph.x)
    refine = _Refine(graph, runs, mode, loops)
    colour, source = _initial_colours(graph, loops)
    pairs, source = _before_the_first_layer(mode, colour, source, refine.ptr, refine.dropped)
    if degrees:
        level = refine.count_edges(pairs)
        source = source[level.own]
    else:
        level = refine.without_edges(pairs, source.numel())
    levels = [level]
    for _ in range(layers):
        levels.append(refine(levels[-1].pairs))
    return SharedPlan(graph, runs, tuple(levels), source, mode, degrees, refine.edges.alike)


class _Refine:
    """Rounds of colour refinement on one batch."""

    def __init__(self, graph: Graph, runs: Runs, mode: Mode, loops: ModuleType) -> None:
        self.graph, self.runs, self.loops = graph, runs, loops
        self.edges: Edges = heard_edges(graph, runs, mode, loops)
        self.ptr, self.dropped = dropped_items(runs)
        self.extra = hearing_less(graph, mode, self.ptr, self.dropped, loops)
        self.sizes = graph.nodes_per_graph[runs.graph]
        self.shares = shares_of(graph, runs)
        self.cuts = isinstance(mode, (RemoveNodes, DropEdges, ReceiveOnly))
        self.removes = isinstance(mode, RemoveNodes)
        self.silences = isinstance(mode, ZeroLayers) and self.dropped.numel() > 0

    def __call__(self, below: Pairs) -> Level:
        """The states one layer later."""
        return self._level(below, (self.edges.out_ptr, self.edges.out_node), own_only=False)

    def count_edges(self, pairs: Pairs) -> Level:
        """The states before the first layer where these know their degree."""
        nobody = torch.zeros_like(self.edges.out_ptr), self.edges.out_node[:0]
        return self._level(pairs, nobody, own_only=True)

    def without_edges(self, pairs: Pairs, number: int) -> Level:
        """The states before the first layer: ``number`` colours."""
        none, states = pairs.node[:0], torch.arange(number, dtype=torch.int32, device=pairs.node.device)
        pairs, weight, count = self._weighed(pairs.base, pairs.ptr, pairs.node, pairs.label, number)
        return Level(pairs, states, states * 0, states.new_zeros(number + 1), none, none, weight, count)

    def _level(self, below: Pairs, hearers: tuple[Tensor, Tensor], *, own_only: bool) -> Level:
        edges = self.edges
        ptr, node = self.loops.spread_effect(
            below.ptr, below.node, *self.extra, *hearers, self.sizes, self.graph.num_nodes
        )
        base, label, own, degree, edge_ptr, sender, position = self.loops.label_layer(
            below.base, below.ptr, below.node, below.label, ptr, node, self.ptr, self.dropped,
            edges.in_ptr, edges.in_node, edges.in_colour, edges.in_item, self.cuts, self.removes, own_only, edges.num_items,
        )  # fmt: skip
        pairs, weight, count = self._weighed(base, ptr, node, label, own.numel())
        silenced = None
        if self.silences and not own_only:  # computed like any other row, since batch norm counts it
            dropped = pairs.of_dropped(self.ptr)
            silenced, pairs = label[dropped], pairs.labelled(dropped, own.new_tensor(own.numel()))
        return Level(pairs, own, degree, edge_ptr, sender, edges.in_edge[position], weight, count, silenced)

    def _weighed(
        self, base: Tensor, ptr: Tensor, node: Tensor, label: Tensor, states: int
    ) -> tuple[Pairs, Tensor, Tensor]:
        """Pairs with their shares, and weight and number of the pairs of each state."""
        weight, count, share, rest = self.loops.weigh(
            base, ptr, node, label, self.runs.weight, self.runs.graph, self.graph.batch, *self.shares, states
        )
        return Pairs(base, ptr, node, label, share, rest), weight, count


def _initial_colours(graph: Graph, loops: ModuleType) -> tuple[Tensor, Tensor]:
    """The colour of every node by its features, and a node that has each colour."""
    if graph.x.requires_grad:
        nodes = torch.arange(graph.num_nodes, dtype=torch.int32, device=graph.x.device)
        return nodes, nodes
    return loops.colour_rows(words(graph.x))


def _before_the_first_layer(
    mode: Mode, colour: Tensor, source: Tensor, ptr: Tensor, dropped: Tensor
) -> tuple[Pairs, Tensor]:
    """Pairs that look different before any layer: dropped nodes, zeroed or absent."""
    nothing = source.new_empty(0, dtype=torch.float64)
    if isinstance(mode, (ZeroInputs, ZeroLayers)):
        label = torch.full_like(dropped, source.numel())
        return Pairs(colour, ptr, dropped, label, nothing, nothing), torch.cat([source, source.new_tensor([-1])])
    if isinstance(mode, RemoveNodes):
        return Pairs(colour, ptr, dropped, torch.full_like(dropped, ABSENT), nothing, nothing), source
    return Pairs(colour, torch.zeros_like(ptr), dropped[:0], dropped[:0], nothing, nothing), source
