"""Weighted batch norm against its definition: a row of weight three is three rows."""

from __future__ import annotations

import pytest
import torch

from dropgnn import GIN, Bernoulli, DropGNN, InvalidArgument, Runs
from dropgnn.engine.norm import RowWeights, WeightedBatchNorm, row_weights, takes_batch_statistics, weigh_norms
from tests.conftest import generator

X = torch.randn(5, 3, generator=generator(), dtype=torch.float64)
TIMES = torch.tensor([3, 1, 2, 1, 4])


@pytest.mark.parametrize("momentum", [0.1, None])
@pytest.mark.parametrize("affine", [True, False])
def test_weights_are_repetitions(affine: bool, momentum: float | None) -> None:
    plain = torch.nn.BatchNorm1d(3, affine=affine, momentum=momentum).double()
    weighted = WeightedBatchNorm(3, affine=affine, momentum=momentum).double()
    if affine:
        torch.nn.init.normal_(plain.weight, generator=generator(1))
        torch.nn.init.normal_(plain.bias, generator=generator(2))
        weighted.load_state_dict(plain.state_dict())
    direction = torch.randn(5, 3, generator=generator(3), dtype=torch.float64)
    rows = torch.repeat_interleave(torch.arange(5), TIMES)
    for _ in range(3):
        a, b = X.clone().requires_grad_(), X.clone().requires_grad_()
        repeated = plain(a[rows])
        with row_weights(RowWeights(TIMES.double() / 7, rows=11)):
            once = weighted(b)
        torch.testing.assert_close(once[rows], repeated)
        plain.zero_grad()
        weighted.zero_grad()
        (repeated * direction[rows]).sum().backward()
        (once * direction * TIMES.unsqueeze(1)).sum().backward()
        torch.testing.assert_close(b.grad, a.grad)
        for (name, p), q in zip(plain.named_parameters(), weighted.parameters(), strict=True):
            torch.testing.assert_close(q.grad, p.grad, msg=name)
    for (name, kept), buffer in zip(plain.named_buffers(), weighted.buffers(), strict=True):
        torch.testing.assert_close(buffer, kept, msg=name)


def test_the_closed_form_backward_pass() -> None:
    norm = WeightedBatchNorm(3).double()

    def weighted(x: torch.Tensor) -> torch.Tensor:
        with row_weights(RowWeights(TIMES.double(), rows=11)):
            return norm(x)

    assert torch.autograd.gradcheck(weighted, (X.clone().requires_grad_(),))


def test_outside_of_the_context_and_in_evaluation_it_is_plain_batch_norm() -> None:
    plain, weighted = torch.nn.BatchNorm1d(3).double(), WeightedBatchNorm(3).double()
    torch.testing.assert_close(weighted(X), plain(X))
    with row_weights(RowWeights(TIMES.double(), rows=11)):
        torch.testing.assert_close(weighted.eval()(X), plain.eval()(X))


def test_a_norm_without_running_statistics_always_looks_at_the_batch() -> None:
    norm = WeightedBatchNorm(3, track_running_stats=False).double().eval()
    assert takes_batch_statistics(norm)
    rows = torch.repeat_interleave(torch.arange(5), TIMES)
    with row_weights(RowWeights(TIMES.double(), rows=11)):
        once = norm(X)
    torch.testing.assert_close(once[rows], norm(X[rows]))


def test_weights_for_other_rows_are_refused() -> None:
    with (
        row_weights(RowWeights(torch.ones(4), rows=4)),
        pytest.raises(InvalidArgument, match=r"'row weights' must match the 5 rows that reach the norm \(got 4\)"),
    ):
        WeightedBatchNorm(3).double()(X)


def test_only_plain_norms_outside_of_what_is_left_change() -> None:
    module = torch.nn.Sequential(torch.nn.BatchNorm1d(3), torch.nn.Sequential(torch.nn.BatchNorm1d(3)))
    weigh_norms(module, leave=[module[1]])
    assert type(module[0]) is WeightedBatchNorm
    assert type(module[1][0]) is torch.nn.BatchNorm1d  # type: ignore[index]


@pytest.mark.parametrize("engine", ["reference", "batched", "shared"])
def test_statistics_in_a_model_are_those_of_repeated_copies(engine: str) -> None:
    """Copies of weight 3/4 and 1/4 train like three copies of the one and one of the other."""
    x, edges = torch.randn(4, 2, generator=generator(5), dtype=torch.float64), torch.tensor([[0, 1, 2], [1, 2, 3]])
    weighted = Runs.of([[(1,), (0, 2)]], [4], weight=[[0.75, 0.25]])
    repeated = Runs.of([[(1,), (1,), (1,), (0, 2)]], [4])
    outs = []
    for runs in (weighted, repeated):
        torch.manual_seed(0)
        model = DropGNN(GIN(2, 4, 2), Bernoulli(0.1, 1), engine=engine).double()
        outs.append(model(x, edges, runs=runs))
        outs.append(model.encoder.norms[1].running_mean)  # type: ignore[index, union-attr]
    torch.testing.assert_close(outs[0], outs[2])
    torch.testing.assert_close(outs[1], outs[3])
