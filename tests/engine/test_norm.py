"""Weighted batch norm against its definition: a row of weight three is three rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from dropgnn import GIN, Bernoulli, DropGNN, InvalidArgument, Runs
from dropgnn.nn.norm import (
    RowWeights,
    WeightedBatchNorm,
    row_weights,
    takes_batch_statistics,
    use_weighted_batch_norm,
)
from dropgnn.ops import numba_ops, torch_ops
from tests.conftest import generator

X = torch.randn(5, 3, generator=generator(), dtype=torch.float64)
TIMES = torch.tensor([3, 1, 2, 1, 4])


@pytest.mark.parametrize("momentum", [0.1, None])
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("relu", [True, False])
def test_weights_are_repetitions(relu: bool, affine: bool, momentum: float | None) -> None:
    plain = torch.nn.BatchNorm1d(3, affine=affine, momentum=momentum).double()
    weighted = WeightedBatchNorm(3, relu=relu, affine=affine, momentum=momentum).double()
    if affine:
        torch.nn.init.normal_(plain.weight, generator=generator(1))
        torch.nn.init.normal_(plain.bias, generator=generator(2))
        weighted.load_state_dict(plain.state_dict())
    direction = torch.randn(5, 3, generator=generator(3), dtype=torch.float64)
    rows = torch.repeat_interleave(torch.arange(5), TIMES)
    for _ in range(3):
        a, b = X.clone().requires_grad_(), X.clone().requires_grad_()
        repeated = plain(a[rows]).relu() if relu else plain(a[rows])
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


@pytest.mark.parametrize("relu", [True, False])
@pytest.mark.parametrize("norm", [torch_ops.batch_norm, numba_ops.batch_norm])
def test_the_closed_form_backward_pass(norm: Callable[..., Any], relu: bool) -> None:
    gain, bias = torch.tensor([1.5, -0.5, 1.0]).double(), torch.tensor([0.1, 0.0, -0.2]).double()
    inputs = [tensor.clone().requires_grad_() for tensor in (X, gain, bias)]
    assert torch.autograd.gradcheck(lambda x, g, b: norm(x, TIMES.double(), g, b, 1e-5, relu)[0], inputs)


@pytest.mark.parametrize("rows", [1, 127, 128, 129, 500])
@pytest.mark.parametrize("relu", [True, False])
def test_compiled_and_torch_agree(rows: int, relu: bool) -> None:
    x = torch.randn(rows, 7, generator=generator(1), dtype=torch.float64) * 3 + 5
    arguments = (
        torch.rand(rows, generator=generator(2), dtype=torch.float64),
        torch.ones(7).double(),
        torch.zeros(7).double(),
    )
    for a, b in zip(
        torch_ops.batch_norm(x, *arguments, 1e-5, relu), numba_ops.batch_norm(x, *arguments, 1e-5, relu), strict=True
    ):
        torch.testing.assert_close(a, b, rtol=1e-10, atol=1e-10)


def test_single_precision_is_as_good_as_torchs() -> None:
    """Many rows far from zero: the error stays that of rounding the input."""
    x = torch.randn(100_000, 4, generator=generator(3)) + 100
    weight, gain, bias = torch.ones(100_000), torch.ones(4), torch.zeros(4)
    exact = numba_ops.batch_norm(x.double(), weight.double(), gain.double(), bias.double(), 1e-5, False)
    single = numba_ops.batch_norm(x, weight, gain, bias, 1e-5, False)
    plain = torch.nn.functional.batch_norm(x, None, None, gain, bias, training=True, eps=1e-5)
    error, torchs = ((out.double() - exact[0]).abs().max() for out in (single[0], plain))
    assert float(error) <= max(2 * float(torchs), 1e-4)


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


def test_only_plain_norms_change() -> None:
    class Own(torch.nn.BatchNorm1d):
        pass

    module = torch.nn.Sequential(torch.nn.BatchNorm1d(3), torch.nn.Sequential(Own(3)))
    use_weighted_batch_norm(module)
    assert type(module[0]) is WeightedBatchNorm
    assert type(module[1][0]) is Own  # type: ignore[index]


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
