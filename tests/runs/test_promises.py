"""What a compiled loop takes for granted of ``Runs`` is asked before, cheaply, however large the graphs are said to be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from dropgnn import Exhaustive, InvalidArgument, Runs
from dropgnn.testing import peak_megabytes
from tests.conftest import awkward_batch


def local() -> Runs:
    return Exhaustive(0.2, k=1, scope="neighborhood", hops=1)(awkward_batch())


def test_what_samplers_draw_is_what_runs_promise() -> None:
    local().check()
    Runs.of([], []).check()
    Runs.of([[()]], [0]).check()
    Runs.of([[(0,)]], [3], items="links").check()


def test_a_huge_graph_is_cheap_to_check() -> None:
    assert peak_megabytes(lambda: Runs.of([[(50_000_000,)]], [100_000_000]).check()) < 50


def changed(**fields: Any) -> Callable[[], None]:
    return lambda: replace(Runs.of([[(), (1,)], [(0, 2)]], [2, 3]), **fields).check()


def share(**fields: Any) -> Callable[[], None]:
    def check() -> None:
        runs = local()
        shares: Any = runs.shares
        replace(
            runs, shares=replace(shares, **{name: change(getattr(shares, name)) for name, change in fields.items()})
        ).check()

    return check


def first(value: float) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda tensor: torch.cat([torch.tensor([value], dtype=tensor.dtype), tensor[1:]])


def last(value: int) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda tensor: torch.cat([tensor[:-1], torch.tensor([value])])


def foreign(copy: torch.Tensor) -> torch.Tensor:
    """The last node in copies of the first graph."""
    return torch.cat([copy[:-2], torch.tensor([0, 1])])


BROKEN = {
    "items": (changed(items="edges"), r"'items' must be one of nodes, links"),
    "copies of no graph": (changed(graph=torch.tensor([0, 0, 7])), r"'graph' must name graphs from 0 to 1 \(got \[0, 7\]\)"),
    "copies of graph -1": (changed(graph=torch.tensor([-1, 0, 1])), r"'graph' must name graphs from 0 to 1"),
    "copies in disorder": (changed(graph=torch.tensor([1, 0, 1])), r"'graph' must be sorted"),
    "a graph without copies": (changed(graph=torch.zeros(3).long()), r"'dropped' must name nodes of their graph"),
    "graph of int32": (changed(graph=torch.tensor([0, 0, 1]).int()), r"'graph' must be a dense tensor, torch.int64"),
    "graph on another device": (changed(weight=torch.ones(3, device="meta").double()), r"'weight' must be 3 non-negative"),
    "sizes of -1": (changed(items_per_graph=torch.tensor([-1, 3])), r"'items_per_graph' must be sizes of at least 0"),
    "sizes of 2**40": (changed(items_per_graph=torch.tensor([2**40, 3])), r"at most 2,147,483,647 in all"),
    "sizes in a list": (changed(items_per_graph=[2, 3]), r"'items_per_graph' must be a dense tensor.* \(got list\)"),
    "dropped in no copy": (changed(dropped=torch.tensor([[9], [0]])), r"'dropped' must name copies from 0 to 2 \(got \[9, 9\]\)"),
    "dropped twice": (changed(dropped=torch.tensor([[1, 1], [1, 1]])), r"'dropped' must be sorted by copy, then by item"),
    "dropped as rows": (changed(dropped=torch.tensor([[1, 1]])), r"'dropped' must be pairs \[2, D\]"),
    "dropped as floats": (changed(dropped=torch.ones(2, 1)), r"'dropped' must be a dense tensor, torch.int64 \[2, D\]"),
    "infinite weight": (changed(weight=torch.tensor([torch.inf, 0, 1]).double()), r"'weight' must be 3 non-negative"),
    "weights in single precision": (changed(weight=torch.tensor([0.5, 0.5, 1])), r"'weight' must be 3 non-negative.*float64"),
    "too few weights": (changed(weight=torch.ones(2).double()), r"'weight' must be 3 non-negative"),
    "weights with gradients": (
        changed(weight=torch.tensor([0.5, 0.5, 1]).double().requires_grad_()), r"'weight' must not require gradients",
    ),
    "shares of half a graph": (share(nodes_per_graph=lambda sizes: sizes[:1]), r"'shares' must have nodes_per_graph of 4 graphs"),
    "shares of node -1": (share(node=first(-1)), r"'shares.node' must name nodes from 0 to 9"),
    "shares of node 99": (share(node=last(99)), r"'shares.node' must name nodes from 0 to 9"),
    "shares in copy 99": (share(copy=last(99)), r"'shares.copy' must name copies"),
    "shares in disorder": (share(node=lambda node: node.flip(0)), r"'shares' must be sorted by node, then by copy"),
    "shares in another graph": (share(copy=foreign), r"'shares' must be of nodes and copies of one graph"),
    "shares of NaN": (share(weight=first(torch.nan)), r"'shares.weight' must be \d+ non-negative numbers, all finite"),
    "shares of 2": (share(weight=first(2.0)), r"'shares.weight' must sum to 1 over the copies of each node"),
    "shares for a node too few": (
        share(**{name: lambda tensor: tensor[:-2] for name in ("node", "copy", "weight")}), r"'shares.weight' must sum to 1",
    ),
    "written in a string": (lambda: Runs.of("ab", [1, 1]), r"'dropped' must list graphs"),  # type: ignore[arg-type]
    "written sizes of 2.7": (lambda: Runs.of([[()]], [2.7]), r"'items_per_graph' must be a whole number"),  # type: ignore[list-item]
    "written item of 2**70": (lambda: Runs.of([[(2**70,)]], [3]), r"'dropped' must name nodes of their graph"),
    "written weight of text": (
        lambda: Runs.of([[()]], [3], weight=[["a"]]), r"'weight' must be a finite number",  # type: ignore[list-item]
    ),
    "written nothing": (lambda: Runs.of(None, [3]), r"'dropped' must list graphs"),  # type: ignore[arg-type]
    "chunks of 0": (lambda: list(Runs.of([[()]], [3]).split(0)), r"'copies' must be a whole number of at least 1"),
    "graph 1 of 1": (lambda: Runs.of([[()]], [3]).of_graph(1), r"'number' must be at most 0"),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_broken_runs_are_refused(case: str) -> None:
    call, message = BROKEN[case]
    with pytest.raises(InvalidArgument, match=message):
        call()
