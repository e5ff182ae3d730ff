"""What a ``Runs`` promises, asked of runs that a user hands us: compiled loops take it for granted."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from dropgnn.errors import InvalidArgument, one_of, real_number
from dropgnn.graph import ITEMS, MAX_ITEMS

if TYPE_CHECKING:
    from dropgnn.runs.runs import Runs, Shares

ROUNDING = 1e-9
"""How far weights may sum to something else than 1."""


def check_runs(runs: Runs) -> None:
    """A few passes over the tensors; no memory by the number of items, however many there are said to be."""
    one_of("items", runs.items, ITEMS)
    device = runs.graph.device if isinstance(runs.graph, Tensor) else torch.device("cpu")
    _check_tensor("items_per_graph", runs.items_per_graph, torch.long, device)
    _check_tensor("graph", runs.graph, torch.long, device)
    _check_tensor("weight", runs.weight, torch.float64, device, f"must be {runs.num_copies} non-negative numbers")
    _check_tensor("dropped", runs.dropped, torch.long, device, shape="[2, D]")
    _check_sizes("items_per_graph", runs.items_per_graph)
    if bool((runs.graph[1:] < runs.graph[:-1]).any()):
        raise InvalidArgument("graph", "must be sorted", got=runs.graph.tolist()[:10])
    _check_ends("graph", runs.graph, runs.num_graphs, "graphs")
    if runs.dropped.size(0) != 2:
        raise InvalidArgument("dropped", "must be pairs [2, D]", got=tuple(runs.dropped.shape))
    copy, item = runs.dropped
    if not _increasing(copy, item):
        pairs = runs.dropped[:, :10].t().tolist()
        raise InvalidArgument("dropped", "must be sorted by copy, then by item, each once", got=pairs)
    _check_ends("dropped", copy, runs.num_copies, "copies")
    if item.numel() and bool(((item < 0) | (item >= runs.items_per_graph[runs.graph[copy]])).any()):
        raise InvalidArgument("dropped", f"must name {runs.items} of their graph", got=item.tolist()[:10])
    _check_weights(runs.weight, runs.graph, runs.num_graphs, "copies of each graph")
    if runs.shares is not None:
        _check_shares(runs.shares, runs, device)


def _check_shares(shares: Shares, runs: Runs, device: torch.device) -> None:
    for name in ("nodes_per_graph", "node", "copy", "weight"):
        kind = torch.float64 if name == "weight" else torch.long
        _check_tensor(f"shares.{name}", getattr(shares, name, None), kind, device)
    sizes = shares.nodes_per_graph
    if sizes.numel() != runs.num_graphs or not shares.node.numel() == shares.copy.numel() == shares.weight.numel():
        got = [sizes.numel(), shares.node.numel(), shares.copy.numel(), shares.weight.numel()]
        rule = f"must have nodes_per_graph of {runs.num_graphs} graphs, and node, copy and weight of one length"
        raise InvalidArgument("shares", rule, got=got)
    _check_sizes("shares.nodes_per_graph", sizes)
    number = int(sizes.sum())
    if not _increasing(shares.node, shares.copy):
        pairs = list(zip(shares.node.tolist()[:10], shares.copy.tolist()[:10], strict=True))
        raise InvalidArgument("shares", "must be sorted by node, then by copy, each once", got=pairs)
    _check_ends("shares.node", shares.node, number, "nodes")
    if shares.copy.numel():
        _check_ends("shares.copy", torch.stack(shares.copy.aminmax()), runs.num_copies, "copies")
    if int(shares.node.unique_consecutive().numel()) != number:
        raise InvalidArgument("shares.weight", "must sum to 1 over the copies of each node", got="nodes without any")
    ends = sizes.cumsum(0)  # the graph of a node is the first that ends behind it
    if not torch.equal(torch.searchsorted(ends, shares.node, right=True), runs.graph[shares.copy]):
        raise InvalidArgument("shares", "must be of nodes and copies of one graph", got=shares.copy.tolist()[:10])
    _check_weights(shares.weight, shares.node, number, "copies of each node", "shares.weight")


def _check_tensor(
    name: str, value: object, dtype: torch.dtype, device: torch.device, rule: str = "", shape: str = "[...]"
) -> None:
    dims = 2 if shape == "[2, D]" else 1
    good = isinstance(value, Tensor) and value.layout == torch.strided and not value.is_meta and value.dim() == dims
    if not good or value.dtype != dtype:  # type: ignore[attr-defined]
        got = f"{value.dtype} of shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
        raise InvalidArgument(name, f"{rule or 'must be a dense tensor'}, {dtype} {shape}", got=got, hint=BY_HAND)
    if value.device != device:  # type: ignore[attr-defined]
        raise InvalidArgument(name, f"must be on {device}, where graph is", got=value.device)  # type: ignore[attr-defined]
    if value.requires_grad:  # type: ignore[attr-defined]
        raise InvalidArgument(name, "must not require gradients: runs are not differentiable", got="one that does")


BY_HAND = "write runs down with Runs.of(...)"


def _check_sizes(name: str, sizes: Tensor) -> None:
    low, high = map(int, sizes.aminmax()) if sizes.numel() else (0, 0)
    if low < 0 or high > MAX_ITEMS or int(sizes.sum()) > MAX_ITEMS:
        raise InvalidArgument(
            name, f"must be sizes of at least 0, at most {MAX_ITEMS:,} in all", got=sizes.tolist()[:10]
        )


def _check_ends(name: str, numbers: Tensor, many: int, what: str) -> None:
    """Sorted numbers are in range if the first and the last are."""
    if numbers.numel() and not 0 <= int(numbers[0]) <= int(numbers[-1]) < many:
        got = [int(numbers[0]), int(numbers[-1])]
        raise InvalidArgument(name, f"must name {what} from 0 to {many - 1}", got=got)


def _increasing(first: Tensor, second: Tensor) -> bool:
    """Whether the pairs are sorted, each once."""
    before, after = first[:-1], first[1:]
    return not bool(((after < before) | ((after == before) & (second[1:] <= second[:-1]))).any())


def _check_weights(weight: Tensor, of: Tensor, many: int, what: str, name: str = "weight") -> None:
    if weight.shape != of.shape or not bool(((weight >= 0) & (weight < torch.inf)).all()):
        raise InvalidArgument(name, f"must be {of.numel()} non-negative numbers, all finite", got=weight.tolist()[:10])
    total = torch.zeros(many, dtype=weight.dtype, device=weight.device).index_add_(0, of, weight)
    if bool(((total - 1).abs() > ROUNDING).any()):
        raise InvalidArgument(name, f"must sum to 1 over the {what}", got=total.tolist()[:10])


def listed(name: str, value: object) -> list[object]:
    """``value`` as a list."""
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return list(value)
    if isinstance(value, Tensor) and value.dim() == 1:
        return value.tolist()
    raise InvalidArgument(name, "must be a list", got=value)


def written_sets(dropped: object, sizes: list[object], items: str) -> tuple[list[list[int]], list[int]]:
    """The dropped items of every copy, sorted, and how many copies every graph has."""
    rule, flat, copies = "must list graphs, in them copies, in them items", [], []
    try:
        nested = [[list(chosen) for chosen in graph] for graph in dropped]  # type: ignore[attr-defined]
        flat = [sorted(set(map(operator.index, chosen))) for graph in nested for chosen in graph]
    except (TypeError, ValueError, RuntimeError):
        raise InvalidArgument("dropped", rule, got=dropped, hint="e.g. [[(), (0,)]]") from None
    if len(nested) != len(sizes):
        raise InvalidArgument("dropped", f"must list {len(sizes)} graphs", got=len(nested))
    copies = [len(graph) for graph in nested]
    if 0 in copies:
        raise InvalidArgument("dropped", "must give every graph a copy", got=f"none for graph {copies.index(0)}")
    outside = [item for chosen in flat for item in chosen if not 0 <= item <= MAX_ITEMS]
    if outside:  # the others are compared with their graphs as tensors
        raise InvalidArgument("dropped", f"must name {items} of their graph", got=outside[:10])
    return flat, copies


def written_weights(weight: object, copies: list[int]) -> list[float]:
    """The weights of all copies; without any, the copies of a graph count alike."""
    if weight is None:
        return [1.0 / many for many in copies for _ in range(many)]
    rows = [listed("weight", row) for row in listed("weight", weight)]
    if [len(row) for row in rows] != copies:
        raise InvalidArgument("weight", f"must have {copies} entries, one per copy", got=weight)
    return [real_number("weight", value) for row in rows for value in row]
