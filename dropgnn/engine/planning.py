"""Making plans: which computations are the same. ``plan.py`` says what a plan is.

Colours are refined first, on integers and without weights. Planning is pure: the same graph, runs and mode give the same
plan. It runs where the data is: in compiled loops on the CPU, in tensor operations on other devices.
"""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType

import torch
from torch import Tensor

from dropgnn.engine.incidence import Setting, alike_edges, words
from dropgnn.engine.plan import Level, Pairs, SharedPlan
from dropgnn.graph import Graph
from dropgnn.ops import ops_for
from dropgnn.ops.kernels import ABSENT
from dropgnn.runs.modes import Effect, Mode
from dropgnn.runs.runs import Runs


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
        loops: ``numba_ops`` or ``torch_ops``; by default what suits the device and the amount of work.
    """
    loops = loops or ops_for(graph.batch, graph.num_nodes * runs.num_copies)
    alike = alike_edges(graph, loops)
    refine = _Refine(Setting.of(graph, runs, mode, alike, loops), mode, loops)
    colour, source = _initial_colours(graph, loops)
    pairs, source = _before_the_first_layer(mode, graph, runs, colour, source, refine.setting, loops)
    if degrees:
        level = refine.count_edges(pairs)
        source = source[level.own]
    else:
        level = refine.without_edges(pairs, source.numel())
    plan = SharedPlan(graph, runs, [level], source, mode, degrees, alike, refine=refine)
    plan.level(layers)
    return plan


def effect_of(mode: Mode) -> Effect:
    """What a mode does; one that does not say cannot be planned."""
    effect = mode.shared_effect
    assert effect is not None  # callers check it first
    return effect


class _Refine:
    """Rounds of colour refinement on one batch."""

    def __init__(self, setting: Setting, mode: Mode, loops: ModuleType) -> None:
        self.setting, self.loops = setting, loops
        self.native = loops.native(setting)
        effect = effect_of(mode)
        self.cuts, self.removes = effect.cuts != "none", effect.removes

    def __call__(self, below: Pairs) -> Level:
        """The states one layer later."""
        return self._level(below, own_only=False)

    def count_edges(self, pairs: Pairs) -> Level:
        """The states before the first layer where these know their degree."""
        return self._level(pairs, own_only=True)

    def without_edges(self, pairs: Pairs, number: int) -> Level:
        """The states before the first layer: ``number`` colours."""
        none, states = pairs.node[:0], torch.arange(number, dtype=torch.int32, device=pairs.node.device)
        weight, count, share, rest = self.loops.weigh(
            pairs.base, pairs.ptr, pairs.node, pairs.label, self.native.weights, number
        )
        pairs = replace(pairs, share=share, rest=rest)
        return Level(pairs, states, states * 0, states.new_zeros(number + 1), none, none, weight, count)

    def _level(self, below: Pairs, *, own_only: bool) -> Level:
        base, ptr, node, label, own, degree, edge_ptr, sender, edge, weight, count, share, rest = self.loops.refine(
            below.base, below.ptr, below.node, below.label, self.native, self.cuts, self.removes, own_only
        )
        return Level(Pairs(base, ptr, node, label, share, rest), own, degree, edge_ptr, sender, edge, weight, count)


def _initial_colours(graph: Graph, loops: ModuleType) -> tuple[Tensor, Tensor]:
    """The colour of every node by its features, and a node that has each colour."""
    extra = [one.value for one in graph.extra if not one.of_edges]
    if any(one.requires_grad for one in (graph.x, *extra)):
        nodes = torch.arange(graph.num_nodes, dtype=torch.int32, device=graph.x.device)
        return nodes, nodes
    return loops.colour_rows(torch.cat([words(one) for one in (graph.x, *extra)], dim=1))


def _zeroed(graph: Graph, dropped: Tensor, loops: ModuleType) -> tuple[Tensor, Tensor]:
    """A node of every kind that there is among those zeroed, and the kind of each dropped one: what is extra stays as it is."""
    extra = [one.value for one in graph.extra if not one.of_edges]
    if not extra:
        return dropped.new_zeros(1), torch.zeros_like(dropped)
    if any(one.requires_grad for one in extra):
        kind, first = torch.arange(graph.num_nodes, dtype=torch.int32, device=graph.x.device), None
        return kind, kind[dropped.long()]
    kind, first = loops.colour_rows(torch.cat([words(one) for one in extra], dim=1))
    return first, kind[dropped.long()]


def _before_the_first_layer(
    mode: Mode, graph: Graph, runs: Runs, colour: Tensor, source: Tensor, setting: Setting, loops: ModuleType
) -> tuple[Pairs, Tensor]:
    """Pairs that look different before any layer: dropped nodes, zeroed or absent."""
    nothing, ptr, dropped = source.new_empty(0, dtype=torch.float64), setting.drop_ptr, setting.drop_item
    first = effect_of(mode).first
    if first != "keep":
        always = torch.bincount(dropped, minlength=graph.num_nodes) == runs.copies_per_graph[graph.batch]
        colour = colour.masked_fill(always, ABSENT)
    if first == "zero":
        zeroed, kind = _zeroed(graph, dropped, loops)
        label = kind + source.numel()
        return Pairs(colour, ptr, dropped, label, nothing, nothing), torch.cat([source, -1 - zeroed])
    if first == "absent":
        return Pairs(colour, ptr, dropped, torch.full_like(dropped, ABSENT), nothing, nothing), source
    return Pairs(colour, torch.zeros_like(ptr), dropped[:0], dropped[:0], nothing, nothing), source
