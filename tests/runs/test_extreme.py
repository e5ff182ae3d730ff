"""Samplers at the ends of what floats and memory hold."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
import torch

from dropgnn import Bernoulli, Exhaustive, Graph, InvalidArgument, Stratified
from dropgnn.runs.exhaustive import _overflows, _scaled_odds
from dropgnn.runs.runs import Runs
from dropgnn.theory.enumerate import BUDGET, enumerate_dropouts
from tests.conftest import awkward_batch, generator
from tests.runs.test_samplers import path

ANY_ODDS = 10**304
"""A budget for which the odds of any p above 1/2 might overflow: the law is then computed as for p close to 1."""


def weights(runs: Runs) -> dict[frozenset[int], float]:
    return dict(zip(runs.as_sets()[0], runs.weight.tolist(), strict=True))


@pytest.mark.parametrize("p", [0.01, 0.05, 0.1, 0.25, 1 / 3, 0.5, 0.9, 1 - 1e-6])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_law_is_computed_as_ever_where_nothing_overflows(p: float, k: int) -> None:
    """To the bit: results that were published depend on it."""
    graph = path(9)
    runs, odds = Exhaustive(p, k)(graph), torch.tensor(p, dtype=torch.float64) / (1 - p)
    product = torch.stack(
        [odds.new_ones(1)[0] if not s else torch.stack([odds] * len(s)).prod() for s in runs.as_sets()[0]]
    )
    assert torch.equal(runs.weight, product / product.sum())


def test_odds_beyond_floats() -> None:
    """Nothing, ten, nineteen or all of 20 items dropped with p = 1 - 1e-16: each drop is 9e15 times as likely as none."""
    sets = torch.tensor([[item if item < size else -1 for item in range(20)] for size in (0, 10, 19, 20)])
    p = torch.full((20,), 1 - 1e-16, dtype=torch.float64)
    odds = _scaled_odds(sets, p, torch.zeros(4, dtype=torch.long), 1).tolist()
    assert _overflows(1 - 1e-16, 20, BUDGET)
    assert odds == pytest.approx([0.0, 2.0**-530, 2.0**-53, 1.0], rel=1e-12, abs=1e-300)
    assert not _overflows(1 - 1e-6, 20, BUDGET)


@pytest.mark.heavy
def test_p_next_to_1() -> None:
    """Of 20 items with p = 1 - 1e-16 all are dropped, but for 20 * 1.1e-16."""
    runs = Exhaustive(1 - 1e-16, 20)(path(20))
    runs.check()
    assert float(runs.weight.max()) == pytest.approx(1 - 20 * 2**-53, abs=1e-15)
    full = int(runs.weight.argmax())
    assert int((runs.dropped[0] == full).sum()) == 20


@pytest.mark.parametrize("k", [1, 3, 5])
def test_odds_that_might_overflow_have_the_same_law(k: int) -> None:
    p = [Fraction(numerator, 8) for numerator in (0, 1, 4, 6, 7)]
    values = torch.tensor([float(value) for value in p], dtype=torch.float64)
    exact = {frozenset(items): float(weight) for items, weight in enumerate_dropouts(p, k) if weight}
    assert weights(Exhaustive(values, k, budget=ANY_ODDS)(path(5))) == pytest.approx(exact)


@pytest.mark.parametrize("items", ["nodes", "links"])
def test_odds_that_might_overflow_have_the_same_law_in_neighborhoods(items: str) -> None:
    graph = awkward_batch()
    plain, scaled = (
        Exhaustive(0.7, 2, scope="neighborhood", hops=1, budget=budget)(graph, items=items)
        for budget in (10**6, ANY_ODDS)
    )
    assert plain.as_sets() == scaled.as_sets()
    torch.testing.assert_close(scaled.weight, plain.weight)
    assert plain.shares is not None
    assert scaled.shares is not None
    torch.testing.assert_close(scaled.shares.weight, plain.shares.weight)
    scaled.check()


@pytest.mark.parametrize("scope", [{}, {"scope": "neighborhood", "hops": 10**12}])
def test_k_and_hops_beyond_the_graph(scope: dict[str, Any]) -> None:
    all_sets = Exhaustive(0.3, 2**62, **scope)(path(4))
    assert len(all_sets.as_sets()[0]) == 2**4


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "r of 2**63": (lambda: Bernoulli(0.1, 2**63), r"'r' must be at most 33,554,432"),
    "r of 10**7 on five nodes": (
        lambda: Bernoulli(0.1, 10**7)(path(5), generator=generator()),
        r"'r' must keep runs times nodes, or times graphs, within the budget of 33,554,432 .*reduce r, .*or raise budget=",
    ),
    "a budget of 10": (
        lambda: Stratified(0.1, 4, budget=10)(path(3), generator=generator()), r"'r' must keep .*up to 4 runs of 1 graphs with 3",
    ),
    "p too large for a float": (lambda: Bernoulli(10**400, 2), r"'p' must lie in \[0, 1\]"),
    "p with gradients": (lambda: Exhaustive(torch.tensor(0.1).requires_grad_()), r"'p' must be .*with gradients\)"),
    "complex p": (lambda: Exhaustive(torch.tensor(0.1j)), r"'p' must be a dense tensor of real numbers"),
    "a rule for a rule": (
        lambda: Exhaustive(lambda graph, items: len)(path(3)), r"'p' must be a number, a tensor or a rule",  # type: ignore
    ),
    "a rule without r": (
        lambda: Bernoulli(0.1, lambda graph: None)(path(3), generator=generator()), r"'r' must give a whole number",  # type: ignore
    ),
    "a seed as generator": (lambda: Bernoulli(0.1, 2)(path(3), generator=0), r"'generator' must be a Generator"),  # type: ignore
    "features as graph": (lambda: Exhaustive(0.1)(torch.ones(3, 1)), r"'graph' must be a Graph \(got tensor"),  # type: ignore
    "a graph that breaks its promises": (
        lambda: Exhaustive(0.1)(Graph(torch.ones(2, 1), torch.tensor([[0], [9]]), None, torch.zeros(2).long(), 1)),
        r"'edge_index' must point at the 2 rows of x",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case: str) -> None:
    call, message = REFUSED[case]
    with pytest.raises(InvalidArgument, match=message):
        call()


def test_a_budget_can_be_raised() -> None:
    assert Bernoulli(0.5, 4, budget=12)(path(3), generator=generator()).num_copies == 4
    assert repr(Bernoulli(0.5, 4, budget=12)) == "Bernoulli(p=0.5, r=4, budget=12)"
