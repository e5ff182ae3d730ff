"""A plan made once for a whole dataset, of which every batch takes its part.

Runs that are not random are the same in every epoch, and states are the same whoever is in the batch: a state of a graph
hears only states of that graph. So a batch keeps the states that occur in its graphs, and gives them new numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from threading import Lock

import torch
from torch import Tensor

from dropgnn.engine.incidence import Weights, pointers
from dropgnn.engine.plan import Level, Pairs, SharedPlan, same_content
from dropgnn.errors import Unsupported, of_kind
from dropgnn.graph import Graph, enumerate_blocks, numbers_of, offsets
from dropgnn.ops import ops_for
from dropgnn.runs.runs import Runs


class Parts:
    """Plans for batches, cut out of one plan.

    Args:
        plan: What ``model.plan`` made for all graphs of the dataset as one batch.

    >>> import torch
    >>> from dropgnn import GIN, DropGNN, Exhaustive
    >>> model = DropGNN(GIN(1, 4, 2), Exhaustive(0.1, k=1))
    >>> path, edge = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), torch.tensor([[3, 4], [4, 3]])
    >>> both = model.plan(torch.ones(5, 1), torch.cat([path, edge], dim=1), batch=torch.tensor([0, 0, 0, 1, 1]))
    >>> print(Parts(both).take([1]))
    6 rows per layer; distinct, layer by layer: 2, 3, 3 (2.2 times fewer)
    """

    def __init__(self, plan: SharedPlan) -> None:
        graph = of_kind("plan", plan, SharedPlan, "made by model.plan(...)").graph
        if plan.origin is not None:
            raise Unsupported("a plan that is a part of another's cannot be cut; take the graphs from the whole plan")
        if any(tensor.requires_grad for tensor in graph.tensors.values()):
            raise Unsupported(
                "a plan kept for a dataset has no gradients of x and edge_attr; plan each batch by itself"
            )
        self.plan = plan
        self.node_ptr = _ends(graph.nodes_per_graph)
        self.copy_ptr = _ends(plan.runs.copies_per_graph)
        of_edge = graph.batch[graph.edge_index[0]]
        self._by_graph = of_edge.argsort(stable=True)
        self._edges_per_graph = torch.bincount(of_edge, minlength=graph.num_graphs)
        self._loops = ops_for(graph.batch, graph.num_nodes * plan.runs.num_copies)
        with torch.inference_mode(False):  # they are written on whenever a part is taken
            self._numbers = [
                torch.full((level.num_states,), -1, dtype=torch.int32, device=graph.x.device) for level in plan.levels
            ]
        self._busy = Lock()  # the numbers are written on

    def take(self, graphs: Sequence[int] | Tensor) -> SharedPlan:
        """The plan for the batch of these graphs, in this order; a graph may come more than once."""
        chosen = numbers_of(graphs, self.plan.graph.num_graphs, argument="graphs").to(self.plan.source.device)
        with torch.inference_mode(False), self._busy:  # the part may be needed for training later
            graph, runs = self._graph(self.plan.content, chosen), self._runs(chosen)
            if not same_content(graph, self._graph(self.plan.graph, chosen)):
                raise Unsupported(
                    "tensors of the dataset were written to since it was planned; make its plan and Parts again"
                )
            try:
                levels, used = self._levels(chosen, graph, runs)
            except BaseException:  # interrupted: whatever was numbered must not be taken for known
                for numbers in self._numbers:
                    numbers.fill_(-1)
                raise
            whole, source = self.plan, self.plan.source[used]
        return SharedPlan(graph, runs, levels, source, whole.mode, whole.degrees, whole.edge_colour, whole.content)

    def _levels(self, chosen: Tensor, graph: Graph, runs: Runs) -> tuple[list[Level], Tensor]:
        """The levels of a batch, and the states of the dataset that are its states before the first layer."""
        weights, levels, taken = self._loops.native(Weights.of(graph, runs)), [], []
        below = self._numbers[0]
        for level, numbers in zip(self.plan.levels, self._numbers, strict=True):
            pairs = level.pairs
            used, base, ptr, node, label = self._loops.cut_pairs(
                chosen, self.node_ptr, self.copy_ptr, pairs.base, pairs.ptr, pairs.node, pairs.label, numbers
            )
            taken.append(used)
            own, degree, edge_ptr, sender, edge = self._loops.cut_states(
                used, below, level.own, level.degree, level.edge_ptr, level.sender, level.edge
            )
            weight, count, share, rest = self._loops.weigh(base, ptr, node, label, weights, used.numel())
            cut = Pairs(base, ptr, node, label, share, rest)
            levels.append(Level(cut, own, degree, edge_ptr, sender, edge, weight, count))
            below = numbers
        for used, numbers in zip(taken, self._numbers, strict=True):
            numbers[used] = -1
        return levels, taken[0]

    def _graph(self, whole: Graph, chosen: Tensor) -> Graph:
        """The batch of the chosen graphs out of the dataset, as it is or as it was."""
        node, batch = enumerate_blocks(self.node_ptr[chosen], whole.nodes_per_graph[chosen])
        position, owner = enumerate_blocks(offsets(self._edges_per_graph)[chosen], self._edges_per_graph[chosen])
        edge = self._by_graph[position]
        shift = offsets(whole.nodes_per_graph[chosen]) - self.node_ptr[chosen]
        attr = None if whole.edge_attr is None else whole.edge_attr[edge]
        extra = whole.take_extra(node, edge)
        return Graph(whole.x[node], whole.edge_index[:, edge] + shift[owner], attr, batch, chosen.numel(), extra)

    def _runs(self, chosen: Tensor) -> Runs:
        runs = self.plan.runs
        copy, owner = enumerate_blocks(self.copy_ptr[chosen], runs.copies_per_graph[chosen])
        ptr = pointers(runs.dropped[0], runs.num_copies)
        position, copy_of_drop = enumerate_blocks(ptr[copy], ptr.diff()[copy])
        dropped = torch.stack([copy_of_drop, runs.dropped[1][position]])
        shares = runs.shares
        if shares is not None:
            sizes = shares.nodes_per_graph[chosen]
            node, block = enumerate_blocks(self.node_ptr[chosen], sizes)
            first = pointers(shares.node, self.plan.graph.num_nodes)
            position, of_node = enumerate_blocks(first[node], first.diff()[node])
            shift = (offsets(runs.copies_per_graph[chosen]) - self.copy_ptr[chosen])[block[of_node]]
            shares = replace(
                shares,
                nodes_per_graph=sizes,
                node=of_node,
                copy=shares.copy[position] + shift,
                weight=shares.weight[position],
            )
        return Runs(runs.items, runs.items_per_graph[chosen], owner, runs.weight[copy], dropped, shares)


def _ends(sizes: Tensor) -> Tensor:
    return torch.nn.functional.pad(sizes.cumsum(0), (1, 0))
