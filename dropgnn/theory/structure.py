"""A graph as theory sees it: whom each node hears, and what nodes and edges look like."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dropgnn.errors import InvalidArgument
from dropgnn.theory.checks import number_of_nodes, shown, whole_numbers


@dataclass(frozen=True, eq=False)
class Structure:
    """A graph with coloured nodes and edges, as theory sees it.

    Shapes:
        ptr ``[n + 1]``, neighbor ``[E]``: whom each node hears; colour ``[n]``; kind ``[E]``: the colours of the edges, by
        default all alike.
    """

    ptr: np.ndarray
    neighbor: np.ndarray
    colour: np.ndarray
    kind: np.ndarray | None = None

    def __post_init__(self) -> None:
        kind = np.zeros(np.size(self.neighbor), np.int64) if self.kind is None else self.kind
        for name, values in (("ptr", self.ptr), ("neighbor", self.neighbor), ("colour", self.colour), ("kind", kind)):
            array = whole_numbers(name, values, "must be a list of whole numbers", ndim=1)
            object.__setattr__(self, name, np.ascontiguousarray(array))
        self.check()

    def check(self) -> None:
        """Refuse arrays that do not fit together; compiled loops do not look at bounds."""
        nodes, edges = self.num_nodes, self.neighbor.size
        if not (
            self.ptr.shape == (nodes + 1,)
            and self.ptr[0] == 0
            and self.ptr[-1] == edges
            and (np.diff(self.ptr) >= 0).all()
        ):
            raise InvalidArgument("ptr", f"must rise from 0 to {edges} in {nodes + 1} numbers", got=shown(self.ptr))
        _check_nodes("neighbor", self.neighbor, nodes)
        if (self.colour < 0).any():
            raise InvalidArgument("colour", "must be numbers from 0", got=int(self.colour.min()))
        if self.kinds.shape != (edges,) or (self.kinds < 0).any():
            raise InvalidArgument("kind", f"must be a number from 0 for each of {edges} edges", got=shown(self.kinds))

    @classmethod
    def of(
        cls,
        edge_index: np.ndarray | Sequence[Sequence[int]],
        num_nodes: int,
        colour: Sequence[int] | np.ndarray | None = None,
        kind: Sequence[int] | np.ndarray | None = None,
    ) -> Structure:
        """From edges ``[2, E]``, sender to receiver, and the colours of nodes ``[num_nodes]`` and edges ``[E]``, numbers from
        0; without, all look alike."""
        num_nodes = number_of_nodes(num_nodes)
        rule = "must be whole numbers of shape [2, E], senders and receivers"
        edges = whole_numbers("edge_index", edge_index, rule, ndim=2)
        if len(edges) != 2:
            hint = "transpose it" if edges.shape[1] == 2 else ""
            raise InvalidArgument("edge_index", rule, got=f"shape {list(edges.shape)}", hint=hint)
        _check_nodes("edge_index", edges, num_nodes)
        rule = f"must be a number from 0 for each of {num_nodes} nodes"
        colours = whole_numbers("colour", np.zeros(num_nodes, np.int64) if colour is None else colour, rule, ndim=1)
        if colours.shape != (num_nodes,) or (colours < 0).any():
            raise InvalidArgument("colour", rule, got=colours.tolist()[:10])
        rule = f"must be a number from 0 for each of {edges.shape[1]} edges"
        kinds = whole_numbers("kind", np.zeros(edges.shape[1], np.int64) if kind is None else kind, rule, ndim=1)
        if kinds.shape != (edges.shape[1],) or (kinds < 0).any():
            raise InvalidArgument("kind", rule, got=kinds.tolist()[:10])
        order = np.argsort(edges[1], kind="stable")
        ptr = np.concatenate([[0], np.cumsum(np.bincount(edges[1], minlength=num_nodes))])
        return cls(ptr, edges[0][order], colours, kinds[order])

    @classmethod
    def undirected(
        cls,
        edges: Sequence[tuple[int, int]],
        num_nodes: int,
        colour: Sequence[int] | None = None,
        kind: Sequence[int] | None = None,
    ) -> Structure:
        """From edges that are heard in both directions, and of the same kind in both."""
        rule = "must be a list of pairs of whole numbers, shape [E, 2]"
        nothing = isinstance(edges, Sequence) and not edges
        pairs = whole_numbers("edges", np.empty((0, 2), np.int64) if nothing else edges, rule, ndim=2)
        if pairs.shape[1] != 2:
            raise InvalidArgument("edges", rule, got=f"shape {list(pairs.shape)}")
        one, apart = pairs.T, pairs[:, 0] != pairs[:, 1]
        if kind is not None:
            rule = f"must be a number from 0 for each of {len(pairs)} edges"
            kinds = whole_numbers("kind", kind, rule, ndim=1)
            if kinds.shape != (len(pairs),):
                raise InvalidArgument("kind", rule, got=f"{kinds.size} numbers")
            kind = np.concatenate([kinds, kinds[apart]])  # type: ignore[assignment]
        return cls.of(np.concatenate([one, one[::-1][:, apart]], axis=1), num_nodes, colour, kind)

    @property
    def kinds(self) -> np.ndarray:
        """The colours of the edges."""
        assert self.kind is not None
        return self.kind

    @property
    def has_kinds(self) -> bool:
        """Whether edges are of more than one colour."""
        return bool((self.kinds != 0).any())

    @property
    def has_colours(self) -> bool:
        """Whether nodes are of more than one colour."""
        return bool((self.colour != 0).any())

    def plain(self) -> Structure:
        """The same graph without colours."""
        return Structure(self.ptr, self.neighbor, np.zeros_like(self.colour))

    @property
    def num_nodes(self) -> int:
        return self.colour.size

    @cached_property
    def is_undirected(self) -> bool:
        """Whether every edge is heard in both directions, as often."""
        there, back = (first * self.num_nodes + second for first, second in (self._ends, self._ends[::-1]))
        return np.array_equal(np.sort(there), np.sort(back))

    @cached_property
    def is_simple(self) -> bool:
        """Whether no edge is there twice."""
        receiver, sender = self._ends
        return np.unique(receiver * self.num_nodes + sender).size == sender.size

    @cached_property
    def has_loops(self) -> bool:
        receiver, sender = self._ends
        return bool((receiver == sender).any())

    @property
    def _ends(self) -> tuple[np.ndarray, np.ndarray]:
        """Receivers and senders of all edges."""
        receiver = np.repeat(np.arange(self.num_nodes, dtype=np.int64), np.diff(self.ptr))
        return receiver, self.neighbor.astype(np.int64)

    def padded(self, num_nodes: int) -> Structure:
        """The same graph with isolated nodes behind its own, so many in all; nobody hears them."""
        more = num_nodes - self.num_nodes
        ptr, colour = np.pad(self.ptr, (0, more), mode="edge"), np.pad(self.colour, (0, more))
        return Structure(ptr, self.neighbor, colour, self.kind)


def _check_nodes(argument: str, nodes: np.ndarray, num_nodes: int) -> None:
    wrong = (nodes < 0) | (nodes >= num_nodes)
    if wrong.any():
        rule = f"must name nodes from 0 to {num_nodes - 1}" if num_nodes else "must be empty where there are no nodes"
        raise InvalidArgument(argument, rule, got=int(nodes[wrong][0]), hint="count from 0")


def a_structure(argument: str, graph: Any) -> Structure:
    """The graph, if it is one whose arrays fit together."""
    if not isinstance(graph, Structure):
        raise InvalidArgument(
            argument, "must be a Structure", got=type(graph).__name__, hint="see Structure.undirected"
        )
    graph.check()
    return graph
