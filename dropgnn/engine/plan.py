r"""What the ``shared`` engine knows about a batch before it computes: a value, printable, without weights.

After layer l the row of node v in copy c depends only on what was dropped within l hops of v, and only through the
1-WL colour of the pair (v, c). So

* a *pair* is a node in a copy; only pairs that notice a drop are listed, all others look like the undropped graph;
* a *state* is a colour of pairs after l layers; each state is computed once;
* a *level* says, for every state, its own state below and those of the neighbours it hears.

``planning.py`` makes plans, ``shared.py`` follows them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Lock
from typing import Any

import torch
from torch import Tensor

from dropgnn.graph import Graph
from dropgnn.runs.modes import Effect, Mode
from dropgnn.runs.runs import Runs

Edits = list[int]


@dataclass(frozen=True, eq=False)
class Pairs:
    """The pairs that notice a drop, listed copy by copy, and the state of every pair.

    Shapes:
        base ``[N]``: state of every node in the undropped graph, ``ABSENT`` where every copy lists the node; ptr ``[C + 1]``;
        node, label ``[P]``: the listed pairs and their states (``ABSENT`` where the node is removed); share ``[P]``: how much the
        copy counts for the node, or ``[0]`` where that is the copy's own weight; rest ``[N]``: how much the copies count that do
        not list the node.
    """

    base: Tensor
    ptr: Tensor
    node: Tensor
    label: Tensor
    share: Tensor
    rest: Tensor

    @property
    def work(self) -> int:
        """Nodes times copies, by which it is decided whether loops are worth compiling."""
        return self.base.numel() * (self.ptr.numel() - 1)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        """All of it, as the operations of ``ops`` take it."""
        return self.base, self.ptr, self.node, self.label, self.share, self.rest

    @property
    def copy(self) -> Tensor:
        """The copy each pair is in, ``[P]``."""
        return torch.repeat_interleave(self.ptr.diff())


@dataclass(frozen=True, eq=False)
class Level:
    """The states after one layer.

    Shapes:
        own, degree ``[S]``: for each state its own state below and its degree, itself included;
        edge_ptr ``[S + 1]``, sender, edge ``[K]``: the states below that it hears, and by which edge of the graph;
        weight, count ``[S]``: how much its pairs count together, and how many they are.
    """

    pairs: Pairs
    own: Tensor
    degree: Tensor
    edge_ptr: Tensor
    sender: Tensor
    edge: Tensor
    weight: Tensor
    count: Tensor

    @property
    def num_states(self) -> int:
        return self.own.numel()

    @cached_property
    def rows(self) -> int:
        """How many rows the states stand for."""
        return int(self.count.sum())

    @property
    def along(self) -> tuple[Tensor, Tensor, Tensor]:
        """How rows are heard: each state's own one below, and those that arrive."""
        return self.own, self.edge_ptr, self.sender

    @property
    def receiver(self) -> Tensor:
        """The state that hears each edge, shape ``[K]``."""
        return torch.repeat_interleave(self.edge_ptr.diff())


class TooShallow(Exception):
    """A plan that cannot grow has fewer layers than a forward asks for."""


@dataclass(frozen=True, eq=False)
class SharedPlan:
    """Everything the ``shared`` engine needs to know about a batch before it computes; ``print`` shows the savings.

    Args:
        graph: The batch it is a plan for.
        runs: The runs it is a plan for.
        levels: States before the first layer and after each.
        source: For each state before the first layer the row of x it has, -1 for zeros.
        mode: What dropping does in it.
        degrees: Whether states know their degrees, as GCN needs it.
        edge_colour: A number for each distinct feature of an edge, or ``None`` where edges have none.
        refine: Makes a level from the pairs of the one below; ``None`` where the plan cannot grow.
        origin: The graph whose rows and edges ``source``, ``edge`` and ``edge_colour`` are about, where it is not the batch
            but the dataset that the batch is a part of.
        kept: What was worked out from the plan and will be needed again.
    """

    graph: Graph
    runs: Runs
    levels: list[Level]
    source: Tensor
    mode: Mode
    degrees: bool = False
    edge_colour: Tensor | None = None
    origin: Graph | None = None
    refine: Callable[[Pairs], Level] | None = field(default=None, repr=False)
    busy: Lock = field(default_factory=Lock, repr=False)
    kept: dict[str, Any] = field(default_factory=dict, repr=False)
    content: Graph = field(init=False, repr=False)
    """A copy of what the batch held when it was planned: edits through numpy or ``.data`` leave no other trace."""
    made: list[Edits] = field(init=False, repr=False)
    """How often the tensors of plan and levels had been edited when they were made."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "content", _copied(self.graph))
        object.__setattr__(self, "made", [_edits(self), *map(_edits, self.levels)])

    @property
    def work(self) -> int:
        """Nodes times copies, by which it is decided whether loops are worth compiling."""
        return self.levels[-1].pairs.work

    @property
    def rows(self) -> int:
        """Rows per layer if nothing were shared and nothing removed."""
        return int(self.graph.nodes_per_graph @ self.runs.copies_per_graph)

    def is_for(self, graph: Graph) -> bool:
        """Whether this is the batch, bit by bit, with gradients wanted of the same tensors."""
        return self.content.num_graphs == graph.num_graphs and same_content(self.content, graph)

    def is_untouched(self) -> bool:
        """Whether its numbers are as they were made: compiled loops take them, and do not check them again."""
        levels = zip(self.made[1:], self.levels, strict=False)  # others may be added meanwhile
        return self.made[0] == _edits(self) and all(made == _edits(level) for made, level in levels)

    def level(self, number: int) -> Level:
        """The states after ``number`` layers; levels that are missing are refined now."""
        if number >= len(self.levels):
            with self.busy, torch.inference_mode(False):  # they may be needed for training later
                while number >= len(self.levels):
                    if self.refine is None:
                        raise TooShallow(f"a plan for {len(self.levels) - 1} layers, and {number} are asked for")
                    level = self.refine(self.levels[-1].pairs)
                    self.made.append(_edits(level))
                    self.levels.append(level)
        return self.levels[number]

    @property
    def effect(self) -> Effect:
        """What dropping does in it."""
        effect = self.mode.shared_effect
        assert effect is not None  # or it would not have been planned
        return effect

    @property
    def states(self) -> list[int]:
        return [level.num_states for level in self.levels]

    def __str__(self) -> str:
        shared = ", ".join(f"{states:,}" for states in self.states)
        saved = self.rows * len(self.levels) / max(sum(self.states), 1)
        return f"{self.rows:,} rows per layer; distinct, layer by layer: {shared} ({saved:.1f} times fewer)"


def _edits(made: SharedPlan | Level) -> Edits:
    tensors = [*vars(made).values(), *(vars(made.pairs).values() if isinstance(made, Level) else ())]
    return [one._version for one in tensors if isinstance(one, Tensor) and not one.is_inference()]


def _copied(graph: Graph) -> Graph:
    """The same content in memory of its own, with gradients wanted of the same tensors."""
    with torch.inference_mode(False):
        tensors = {
            name: tensor.detach().clone().requires_grad_(tensor.requires_grad) for name, tensor in graph.tensors.items()
        }
        extra = tuple(one._replace(value=tensors.pop(one.name)) for one in graph.extra)
    return replace(graph, extra=extra, **tensors)  # type: ignore[arg-type]


def same_content(one: Graph, other: Graph) -> bool:
    """Whether two batches hold the same, bit by bit, with gradients wanted of the same tensors."""
    ones, others = one.tensors, other.tensors
    return ones.keys() == others.keys() and all(_same(ones[name], others[name]) for name in ones)


def _same(a: Tensor, b: Tensor) -> bool:
    return a is b or (
        a.requires_grad == b.requires_grad and a.dtype == b.dtype and a.device == b.device and torch.equal(a, b)
    )
