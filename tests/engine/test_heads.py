"""Auxiliary heads that look at more than one row, or do more than their class: called as they want to be."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from dropgnn import GIN, Bernoulli, DropGNN
from dropgnn.nn import Pooled
from dropgnn.testing import assert_engines_agree
from tests.conftest import awkward_batch, generator

RUNS = Bernoulli(p=0.3, r=4)


@pytest.mark.parametrize("level", ["node", "graph"])
def test_an_auxiliary_head_that_looks_at_all_rows(level: str) -> None:
    torch.manual_seed(0)
    gin = GIN(3, 4, 2)
    aux: torch.nn.Module = torch.nn.Sequential(torch.nn.Linear(11, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 2))
    head: torch.nn.Module = torch.nn.Linear(11, 2)
    if level == "graph":
        aux, head = Pooled(aux), Pooled(head)
    model = DropGNN(gin, RUNS, head=head, auxiliary=aux).double()
    assert_engines_agree(model, awkward_batch(), generator=generator(), inputs=False)


class Doubled(Pooled):
    def forward(self, x: Tensor, batch: Tensor, num_graphs: int) -> Tensor:
        return 2 * super().forward(x, batch, num_graphs)


def test_heads_of_ones_own_are_called() -> None:
    gin = GIN(3, 4, 2)
    model = DropGNN(gin, RUNS, head=Pooled(torch.nn.Linear(11, 2)), auxiliary=Doubled(torch.nn.Linear(11, 2))).double()
    assert_engines_agree(model, awkward_batch(), generator=generator(), inputs=False)


class CentredLinear(torch.nn.Linear):
    """Looks at all rows, and says so."""

    row_by_row = False

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x - x.mean(dim=0))


def test_a_head_may_say_that_it_looks_at_all_rows() -> None:
    model = DropGNN(GIN(3, 4, 2), RUNS, head=torch.nn.Linear(11, 2), auxiliary=CentredLinear(11, 2)).double()
    assert_engines_agree(model, awkward_batch(), generator=generator(), inputs=False)
