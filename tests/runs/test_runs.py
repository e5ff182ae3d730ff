"""`Runs` is a value: immutable, printable, divisible."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest
import torch

from dropgnn import Bernoulli, Exhaustive, InvalidArgument, Runs
from tests.conftest import awkward_batch, generator


def test_it_says_what_it_is() -> None:
    runs = Runs.of([[(), (2, 0)], [(0,)]], items_per_graph=[3, 1])
    assert str(runs) == (
        "3 copies of 2 graphs, 3 nodes dropped\n  graph 0: nothing (0.5), {0, 2} (0.5)\n  graph 1: {0} (1)"
    )
    many = Runs.of([[()] * 10] * 10, items_per_graph=[1] * 10)
    assert "... 2 more graphs" in str(many)
    assert "... 2 more\n" in str(many)


def test_it_cannot_be_changed() -> None:
    runs = Runs.of([[()]], items_per_graph=[1])
    with pytest.raises(FrozenInstanceError):
        runs.items = "links"  # type: ignore[misc]


@pytest.mark.parametrize("local", [False, True])
@pytest.mark.parametrize("copies", [1, 2, 3, 100])
def test_parts_add_up_to_the_whole(copies: int, local: bool) -> None:
    graph = awkward_batch()
    scope = {"scope": "neighborhood", "hops": 1} if local else {}
    runs = Exhaustive(0.2, k=2, **scope)(graph)  # type: ignore[arg-type]
    parts = list(runs.split(copies))
    assert max(int(part.copies_per_graph.max()) for part in parts) <= copies
    rejoined = [[s for part in parts for s in part.as_sets()[number]] for number in range(4)]
    assert rejoined == runs.as_sets()
    node = torch.arange(graph.num_nodes)
    for number in range(4):
        mine = node[graph.batch == number]
        whole = runs.row_weights(
            mine.repeat_interleave(runs.num_copies), torch.arange(runs.num_copies).repeat(len(mine))
        ).sum()
        split = sum(
            part.row_weights(
                mine.repeat_interleave(part.num_copies), torch.arange(part.num_copies).repeat(len(mine))
            ).sum()
            for part in parts
        )
        torch.testing.assert_close(torch.as_tensor(split), whole)


def test_the_runs_of_one_graph_can_be_taken_out() -> None:
    runs = Bernoulli(0.4, r=3)(awkward_batch(), generator=generator())
    assert [runs.of_graph(number).as_sets()[0] for number in range(4)] == runs.as_sets()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dropped": [[(3,)]], "items_per_graph": [3]}, r"'dropped' must name nodes of their graph \(got \[3\]\)"),
        ({"dropped": [[(-1,)]], "items_per_graph": [3]}, r"'dropped' must name nodes of their graph \(got \[-1\]\)"),
        ({"dropped": [[]], "items_per_graph": [3]}, r"'dropped' must give every graph a copy \(got none for graph 0\)"),
        ({"dropped": [[()]], "items_per_graph": [3, 3]}, r"'dropped' must list 2 graphs \(got 1\)"),
        ({"dropped": [[(), ()]], "items_per_graph": [3], "weight": [[0.5, 0.6]]}, r"'weight' must sum to 1 over the copies"),
        ({"dropped": [[(), ()]], "items_per_graph": [3], "weight": [[1.5, -0.5]]}, r"'weight' must be 2 non-negative"),
        ({"dropped": [[()]], "items_per_graph": [3], "items": "edges"}, r"'items' must be one of nodes, links \(got 'edges'\)"),
    ],
)  # fmt: skip
def test_bad_runs_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidArgument, match=message):
        Runs.of(**arguments)  # type: ignore[arg-type]


def test_a_graph_of_too_many_items_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="'items_per_graph' must be at most 2,147,483,647"):
        Runs.of([[()]], items_per_graph=[2**70])
