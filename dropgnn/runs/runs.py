"""``Runs``: which nodes are dropped in which copy of which graph. The value all pieces share.

Samplers draw it, engines execute it, aggregators read its weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from dropgnn.errors import of_kind, one_of, whole_number
from dropgnn.graph import ITEMS, MAX_ITEMS, offsets
from dropgnn.runs.promises import check_runs, listed, written_sets, written_weights


@dataclass(frozen=True, eq=False)
class Shares:
    """How much a copy counts for a node, where that is not the same for all nodes of a graph.

    A pair that is not listed counts nothing. The weights of one node sum to 1.

    Shapes:
        nodes_per_graph ``[G]``; node, copy, weight ``[K]`` each, sorted by node, then by copy.
    """

    nodes_per_graph: Tensor
    node: Tensor
    copy: Tensor
    weight: Tensor


@dataclass(frozen=True, eq=False)
class Runs:
    """Perturbed copies of graphs. Copies belong to graphs, so graphs may have different numbers of them.

    Args:
        items: What is dropped, ``"nodes"`` or ``"links"`` (undirected edges).
        items_per_graph: How many of them each graph has.
        graph: The graph each copy is a copy of, non-decreasing.
        weight: How much each copy counts; the copies of one graph sum to 1.
        dropped: Pairs (copy, item), the item counted within its graph, sorted by copy, then by item.
        shares: Weights per node and copy instead of per copy, for runs of scope ``neighborhood``.

    Shapes:
        items_per_graph ``[G]``, graph ``[C]``, weight ``[C]`` (float64), dropped ``[2, D]``.

    >>> print(Runs.of([[(), (1,)], [(0, 2)]], items_per_graph=[2, 3]))
    3 copies of 2 graphs, 3 nodes dropped
      graph 0: nothing (0.5), {1} (0.5)
      graph 1: {0, 2} (1)
    """

    items: str
    items_per_graph: Tensor
    graph: Tensor
    weight: Tensor
    dropped: Tensor
    shares: Shares | None = None

    @classmethod
    def of(
        cls,
        dropped: Sequence[Sequence[Sequence[int]]],
        items_per_graph: Sequence[int],
        *,
        items: str = "nodes",
        weight: Sequence[Sequence[float]] | None = None,
    ) -> Runs:
        """Runs written down by hand: for each graph its copies, for each copy the dropped items.

        Without ``weight`` the copies of a graph count alike.
        """
        one_of("items", items, ITEMS)
        flat, copies = written_sets(dropped, listed("items_per_graph", items_per_graph), items)
        pairs = [(copy, item) for copy, chosen in enumerate(flat) for item in chosen]
        sizes = torch.tensor(copies, dtype=torch.long)
        runs = cls(
            items,
            torch.tensor(
                [whole_number("items_per_graph", size, least=0, most=MAX_ITEMS) for size in items_per_graph],
                dtype=torch.long,
            ),
            torch.repeat_interleave(torch.arange(len(copies)), sizes),
            torch.tensor(written_weights(weight, copies), dtype=torch.float64),
            torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).t(),
        )
        runs.check()
        return runs

    def check(self) -> None:
        """Raise unless this is what a ``Runs`` promises to be. For runs that a user hands us."""
        check_runs(self)

    @property
    def num_graphs(self) -> int:
        return self.items_per_graph.numel()

    @property
    def num_copies(self) -> int:
        return self.graph.numel()

    @cached_property
    def copies_per_graph(self) -> Tensor:
        """Shape ``[G]``."""
        return torch.bincount(self.graph, minlength=self.num_graphs)

    @cached_property
    def equally_weighted(self) -> bool:
        """Whether every copy in the batch counts the same."""
        return self.weight.numel() < 2 or bool((self.weight == self.weight[0]).all())

    def mask(self) -> Tensor:
        """The items of all copies laid end to end, ``True`` where dropped."""
        starts = offsets(self.items_per_graph[self.graph])
        mask = torch.zeros(int(self.items_per_graph[self.graph].sum()), dtype=torch.bool, device=self.graph.device)
        mask[starts[self.dropped[0]] + self.dropped[1]] = True
        return mask

    def row_weights(self, node: Tensor, copy: Tensor) -> Tensor:
        """How much copy ``copy[i]`` counts for node ``node[i]`` (counted over the batch), shape of ``node``."""
        if self.shares is None:
            return self.weight[copy]
        keys = self.shares.node * self.num_copies + self.shares.copy  # sorted, as promised
        wanted = node * self.num_copies + copy
        at = torch.searchsorted(keys, wanted).clamp(max=max(keys.numel() - 1, 0))
        found = keys[at] == wanted if keys.numel() else torch.zeros_like(wanted, dtype=torch.bool)
        return torch.where(found, self.shares.weight[at], torch.zeros_like(wanted, dtype=self.weight.dtype))

    def copies_averaged(self, nodes_per_graph: Tensor) -> Tensor:
        """r of each node: over how many copies of positive weight it averages, dropped or not, shape ``[N]``."""
        if self.shares is not None:
            counts = torch.zeros(int(nodes_per_graph.sum()), dtype=torch.long, device=self.graph.device)
            return counts.index_add_(0, self.shares.node, (self.shares.weight > 0).long())
        positive = torch.bincount(self.graph[self.weight > 0], minlength=self.num_graphs)
        return torch.repeat_interleave(positive, nodes_per_graph)

    def split(self, copies: int) -> Iterator[Runs]:
        """The same runs in parts of at most ``copies`` copies per graph; weights stay as they are."""
        copies = whole_number("copies", copies, least=1, most=MAX_ITEMS)
        position = torch.arange(self.num_copies, device=self.graph.device) - offsets(self.copies_per_graph)[self.graph]
        part = torch.div(position, copies, rounding_mode="floor")
        for number in range(int(part.max()) + 1 if part.numel() else 0):
            yield self._take(part == number)

    def of_graph(self, number: int) -> Runs:
        """The runs of one graph by themselves."""
        number = whole_number("number", number, least=0, most=self.num_graphs - 1)
        taken = self._take(self.graph == number)
        shares = taken.shares
        if shares is not None:
            first = int(shares.nodes_per_graph[:number].sum())
            size = shares.nodes_per_graph[number : number + 1]
            shares = replace(shares, nodes_per_graph=size, node=shares.node - first)
        return replace(
            taken,
            items_per_graph=self.items_per_graph[number : number + 1],
            graph=torch.zeros_like(taken.graph),
            shares=shares,
        )

    def _take(self, keep: Tensor) -> Runs:
        renumber = keep.cumsum(0) - 1
        pairs = self.dropped[:, keep[self.dropped[0]]]
        shares = self.shares
        if shares is not None:
            of = keep[shares.copy]
            shares = replace(shares, node=shares.node[of], copy=renumber[shares.copy[of]], weight=shares.weight[of])
        return replace(
            self,
            graph=self.graph[keep],
            weight=self.weight[keep],
            dropped=torch.stack([renumber[pairs[0]], pairs[1]]),
            shares=shares,
        )

    def to(self, device: torch.device) -> Runs:
        of_kind("device", device, torch.device, "e.g. torch.device('cpu')")
        if self.graph.device == device:
            return self
        shares = self.shares
        if shares is not None:
            shares = Shares(*(getattr(shares, name).to(device) for name in Shares.__dataclass_fields__))
        return Runs(
            self.items,
            self.items_per_graph.to(device),
            self.graph.to(device),
            self.weight.to(device),
            self.dropped.to(device),
            shares,
        )

    def as_sets(self) -> list[list[frozenset[int]]]:
        """For each graph the dropped set of each of its copies."""
        sets: list[set[int]] = [set() for _ in range(self.num_copies)]
        for copy, item in self.dropped.t().tolist():
            sets[copy].add(item)
        nested: list[list[frozenset[int]]] = [[] for _ in range(self.num_graphs)]
        for graph, items in zip(self.graph.tolist(), sets, strict=True):
            nested[graph].append(frozenset(items))
        return nested

    def __repr__(self) -> str:
        graphs = "1 graph" if self.num_graphs == 1 else f"{self.num_graphs} graphs"
        scope = ", weighted per node" if self.shares is not None else ""
        return f"{self.num_copies} copies of {graphs}, {self.dropped.size(1)} {self.items} dropped{scope}"

    def __str__(self) -> str:
        lines, weights = [repr(self)], iter(self.weight.tolist())
        for graph, copies in enumerate(self.as_sets()):
            named = [f"{_name(items)} ({next(weights):.3g})" for items in copies]
            more = f", ... {len(named) - 8} more" if len(named) > 8 else ""
            lines.append(f"  graph {graph}: {', '.join(named[:8])}{more}")
            if graph == 7 and self.num_graphs > 8:
                lines.append(f"  ... {self.num_graphs - 8} more graphs")
                break
        return "\n".join(lines)


def _name(items: frozenset[int]) -> str:
    return "{" + ", ".join(map(str, sorted(items))) + "}" if items else "nothing"
