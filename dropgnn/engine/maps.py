"""The sparse products of a plan, built once and kept with it: what neighbours send, what runs average to, what copies hold."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from dropgnn.engine import compiled_maps
from dropgnn.engine.planning import Level, SharedPlan
from dropgnn.engine.sparse import SparseMap
from dropgnn.graph import Graph

Triples = tuple[np.ndarray, np.ndarray, np.ndarray]


class Maps:
    """Sparse matrices between the states of a plan, its nodes and its copies.

    Args:
        graph: The batch the plan is for.
        plan: The plan.
    """

    def __init__(self, graph: Graph, plan: SharedPlan) -> None:
        self.graph, self.plan = graph, plan
        self._kept: dict[tuple[object, ...], SparseMap] = {}

    def heard(self, number: int, like: Tensor, *, own: float, mean: bool = False) -> SparseMap:
        """``own`` times a state's own row below and the sum (or mean) of the rows it hears, ``[S_l, S_(l-1)]``."""

        def triples() -> Triples:
            level = self.plan.levels[number]
            receiver, value = level.receiver, np.ones(level.sender.size)
            if mean:
                value /= np.maximum(np.diff(level.edge_ptr), 1)[receiver]
            states = np.arange(level.num_states, dtype=np.int32)
            return (
                np.concatenate([states, receiver]),
                np.concatenate([level.own, level.sender]),
                np.concatenate([np.full(level.num_states, own), value]),
            )

        shape = (self.plan.levels[number].num_states, self.plan.levels[number - 1].num_rows)
        return self._keep(("heard", number, own, mean), triples, shape, like)

    def average(self, number: int, like: Tensor) -> SparseMap:
        """The weights with which each node averages over states, ``[N, S_l]``."""
        level = self.plan.levels[number]
        return self._keep(("average", number), lambda: self.shares(level), (self.graph.num_nodes, level.num_rows), like)

    def shares(self, level: Level) -> Triples:
        """(node, state, weight) of everything a node averages over."""
        pairs, copies = level.pairs, self.plan.copies
        return compiled_maps.assign(
            pairs.base, pairs.ptr, pairs.node, pairs.label, copies.weight, copies.weight_of_graph, copies.copies_of_graph,
            copies.graph_of_node, *self.plan.shares,
        )  # fmt: skip

    def pool(self, number: int, y: Tensor) -> Tensor:
        """The sum of the rows y ``[S_l, F]`` over the nodes of each copy, ``[C, F]``."""
        runs = self.plan.runs
        few = self._differ_in_few(number)
        counted = self.occurrences(number, y) @ y
        copies, graphs = counted.split([runs.num_copies, self.graph.num_graphs])
        return copies + graphs[runs.graph] * few.to(y.dtype).unsqueeze(1)

    def copy_sizes(self) -> Tensor:
        """How many nodes each copy has left, ``[C]``."""
        pairs, runs = self.plan.levels[-1].pairs, self.plan.runs
        copy = np.repeat(np.arange(runs.num_copies), np.diff(pairs.ptr))
        absent = np.bincount(copy[pairs.label < 0], minlength=runs.num_copies)
        return self.graph.nodes_per_graph[runs.graph] - torch.from_numpy(absent).to(self.graph.x.device)

    def _differ_in_few(self, number: int) -> Tensor:
        """Which copies are written as their difference to the undropped graph, ``[C]``."""
        listed = np.diff(self.plan.levels[number].pairs.ptr)
        sizes = self.graph.nodes_per_graph[self.plan.runs.graph]
        return 2 * torch.from_numpy(listed).to(sizes.device) <= sizes

    def occurrences(self, number: int, like: Tensor) -> SparseMap:
        """How often each state occurs in each copy and in each undropped graph, ``[C + G, S_l]``."""
        shape = (self.plan.runs.num_copies + self.graph.num_graphs, self.plan.levels[number].num_rows)
        return self._keep(("occurrences", number), lambda: self._count(number), shape, like)

    def _count(self, number: int) -> Triples:
        pairs = self.plan.levels[number].pairs
        sizes = self.graph.nodes_per_graph.cpu().numpy()
        graph_of_copy = self.plan.runs.graph.cpu().numpy()
        return compiled_maps.pool_copies(
            pairs.base, pairs.ptr, pairs.node, pairs.label, graph_of_copy, np.cumsum(sizes) - sizes, sizes
        )

    def _keep(
        self, name: tuple[object, ...], triples: Callable[[], Triples], shape: tuple[int, int], like: Tensor
    ) -> SparseMap:
        key = (*name, like.dtype, like.device)
        if key not in self._kept:
            self._kept[key] = SparseMap.of(triples(), shape, like)
        return self._kept[key]
