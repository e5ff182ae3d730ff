r"""All dropouts of up to k items, described without randomness.

The weight of a set S is proportional to its odds :math:`\prod_{v \in S} p_v / (1 - p_v)`, since the factor
:math:`\prod_v (1 - p_v)` is common to all sets. ``theory/enumerate.py`` has the same law in exact arithmetic.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import chain, combinations

import numpy as np
import torch
from torch import Tensor

from dropgnn.errors import InvalidArgument
from dropgnn.graph import Graph, enumerate_blocks, offsets
from dropgnn.runs.runs import Runs, Shares
from dropgnn.theory.enumerate import check_budget, count_dropouts
from dropgnn.theory.numbers import neighborhoods

LARGEST = 700.0
"""The logarithm of the largest odds that we compute as they are, a little below that of the largest float."""


def enumerate_globally(graph: Graph, items: str, p: Tensor, largest: float, k: int, budget: int) -> Runs:
    """Every set of at most k items of each graph, where ``largest`` is the largest p."""
    sizes = graph.items_per_graph(items)
    width = min(k, int(sizes.max())) if sizes.numel() else 0
    scaled = _overflows(largest, width, budget)
    blocks = []
    for number, start in zip(sizes.tolist(), offsets(sizes).tolist(), strict=True):
        check_budget(number, k, budget, hint="reduce k, use scope='neighborhood', or raise budget=")
        sets = _subsets(number, k).to(p.device)
        mine = p[start : start + number]
        odds = _scaled_odds(sets, mine, torch.zeros_like(sets[:, 0]), 1) if scaled else _odds(sets, mine)
        keep = odds > 0
        blocks.append((sets[keep], odds[keep] / odds.sum()))
    sets = torch.cat([_widen(block, width) for block, _ in blocks]) if blocks else p.new_empty(0, 0, dtype=torch.long)
    weight = torch.cat([weight for _, weight in blocks]) if blocks else p.new_empty(0)
    copies = torch.tensor([len(weight) for _, weight in blocks], dtype=torch.long, device=p.device)
    graph_of_copy = torch.repeat_interleave(torch.arange(graph.num_graphs, device=p.device), copies)
    return Runs(items, sizes, graph_of_copy, weight, _pairs(sets))


def enumerate_locally(graph: Graph, items: str, p: Tensor, largest: float, k: int, hops: int, budget: int) -> Runs:
    """Every set of at most k items inside some node's ``hops``-hop neighbourhood, weighted for each node by the law
    restricted to its own neighbourhood."""
    sizes = graph.items_per_graph(items)
    node, sets = _local_subsets(graph, items, hops, k, budget)
    scaled = _overflows(largest, sets.size(1), budget)
    odds = _scaled_odds(sets, p, node, graph.num_nodes) if scaled else _odds(sets, p)
    node, sets, odds = node[odds > 0], sets[odds > 0], odds[odds > 0]

    # Copies are ordered by graph, then by set. Every graph keeps its copy without a drop, even one without nodes.
    nothing = torch.full((graph.num_graphs, sets.size(1)), -1, dtype=torch.long, device=p.device)
    everyone = torch.arange(graph.num_graphs, device=p.device)
    rows = torch.cat([torch.cat([everyone, graph.batch[node]]).unsqueeze(1), torch.cat([nothing, sets])], dim=1)
    copies, copy_of = torch.unique(rows, dim=0, return_inverse=True)
    graph_of_copy, sets = copies[:, 0], copies[:, 1:]
    copy_of = copy_of[graph.num_graphs :]

    mass = _scaled_odds(sets, p, graph_of_copy, graph.num_graphs) if scaled else _odds(sets, p)
    total = torch.zeros(graph.num_graphs, dtype=mass.dtype, device=p.device).index_add_(0, graph_of_copy, mass)
    around = torch.zeros(graph.num_nodes, dtype=odds.dtype, device=p.device).index_add_(0, node, odds)
    order = (node * max(len(copies), 1) + copy_of).argsort()
    shares = Shares(graph.nodes_per_graph, node[order], copy_of[order], (odds / around[node])[order])
    local = torch.where(sets >= 0, sets - offsets(sizes)[graph_of_copy].unsqueeze(1), sets)
    return Runs(items, sizes, graph_of_copy, mass / total[graph_of_copy], _pairs(local), shares)


def _subsets(number: int, k: int) -> Tensor:
    """All sets; the small tables, which come again with every batch, are kept."""
    return _kept_subsets(number, k) if count_dropouts(number, k) <= 10_000 else _list_subsets(number, k)


def _list_subsets(number: int, k: int) -> Tensor:
    """Rows of at most k items out of ``number``, padded with -1 behind, small sets first; shape ``[C, min(k, number)]``."""
    width = min(k, number)
    parts = [torch.full((1, width), -1)]
    for size in range(1, width + 1):
        flat = np.fromiter(chain.from_iterable(combinations(range(number), size)), np.int64)
        parts.append(_widen(torch.from_numpy(flat).reshape(-1, size), width))
    return torch.cat(parts)


_kept_subsets = lru_cache(maxsize=256)(_list_subsets)


def _widen(sets: Tensor, width: int) -> Tensor:
    return torch.nn.functional.pad(sets, (0, width - sets.size(1)), value=-1)


def _odds(sets: Tensor, p: Tensor) -> Tensor:
    """The odds of each row of items, shape ``[C]``."""
    padded = torch.cat([p / (1.0 - p), p.new_ones(1)])  # -1 points at the last entry: a factor of one
    return padded[sets].prod(dim=1)


def _overflows(largest: float, k: int, budget: int) -> bool:
    """Whether the odds of k items, or the sum of ``budget`` of them, may leave the range of floats."""
    return k > 0 and largest > 0.5 and k * math.log(largest / (1.0 - largest)) + math.log(budget) > LARGEST


def _scaled_odds(sets: Tensor, p: Tensor, group: Tensor, groups: int) -> Tensor:
    """The odds of each row over the largest odds of its group, ``group[C]``: the same law, and no power too large for a float.
    Sets with less than 1e-320 of the largest odds have none."""
    logs = torch.cat([p.log() - (-p).log1p(), p.new_zeros(1)])[sets].sum(dim=1)
    top = p.new_zeros(groups).scatter_reduce(0, group, logs, "amax")  # the empty set has 0, so no top is lower
    return (logs - top[group]).exp()


def _pairs(sets: Tensor) -> Tensor:
    """(copy, item) of each entry that is not padding, sorted by copy, then by item; shape ``[2, D]``."""
    copy, position = (sets >= 0).nonzero(as_tuple=True)
    return torch.stack([copy, sets[copy, position]])


def _local_subsets(graph: Graph, items: str, hops: int, k: int, budget: int) -> tuple[Tensor, Tensor]:
    """For every node every set of at most k items in its neighbourhood: node ``[K]``, sets ``[K, k]`` padded with -1."""
    first, heard, many = _local_items(graph, items, min(hops, 2 * graph.num_nodes + 1))
    k = min(k, int(many.max()) if many.numel() else 0)
    owner = torch.arange(graph.num_nodes, device=first.device)
    sets = torch.full((graph.num_nodes, k), -1, dtype=torch.long, device=first.device)
    nodes, rows = [owner], [sets]
    end = first + many
    after = first  # where in its owner's list the next item of each set may be found
    pairs = graph.nodes_per_graph.clone()
    for size in range(k):
        choices = end[owner] - after
        pairs.index_add_(0, graph.batch[owner], choices)
        if pairs.numel() and int(pairs.max()) > budget:
            raise InvalidArgument(
                "k",
                f"must keep the number of (node, dropped set) pairs of a graph within the budget of {budget:,}",
                got=f"k={k} with hops={hops}",
                hint="reduce k or hops, or raise budget=",
            )
        position, parent = enumerate_blocks(after, choices)
        owner, sets = owner[parent], sets[parent].clone()
        sets[:, size] = heard[position]
        after = position + 1
        nodes.append(owner)
        rows.append(sets)
    return torch.cat(nodes), torch.cat(rows)


def _local_items(graph: Graph, items: str, hops: int) -> tuple[Tensor, Tensor, Tensor]:
    """The items each node can notice: its list begins at ``first[u]`` in ``heard`` and has ``many[u]`` entries, sorted.

    A node notices the nodes within ``hops`` steps and itself, and the links whose receiver is within ``hops - 1``
    steps: an edge between two nodes at distance ``hops`` never reaches it.
    """
    device = graph.batch.device
    edges = graph.edge_index.cpu().numpy()
    reach = neighborhoods(edges, graph.num_nodes, hops if items == "nodes" else hops - 1)
    first = torch.from_numpy(reach.indptr[:-1].astype("int64")).to(device)
    many = torch.from_numpy(reach.indptr[1:].astype("int64")).to(device) - first
    heard = torch.from_numpy(reach.indices.astype("int64")).to(device)
    if items == "nodes":
        return first, heard, many
    by_receiver = graph.edge_index[1].argsort(stable=True)
    degree = torch.bincount(graph.edge_index[1], minlength=graph.num_nodes)
    watcher = torch.repeat_interleave(torch.arange(graph.num_nodes, device=device), many)
    position, pair = enumerate_blocks(offsets(degree)[heard], degree[heard])
    noticed = torch.stack([watcher[pair], graph.links.of_edge[by_receiver[position]]])
    node, link = torch.unique(noticed, dim=1)
    many = torch.bincount(node, minlength=graph.num_nodes)
    return offsets(many), link, many
