"""Batch norm on copies of unequal weight: what it is with copies repeated, and torch's own norm."""

from __future__ import annotations

import copy
import warnings

import pytest
import torch
import torch.nn.functional as F
import torch_geometric.nn as pyg
from torch import Tensor

from dropgnn import DropGNN, Exhaustive, Runs, Unsupported
from tests.conftest import awkward_batch


class Norms(torch.nn.Module):
    """Batch norms of nodes, of messages and of what is functional."""

    def __init__(self, *, mixes: bool) -> None:
        super().__init__()
        message = torch.nn.Sequential(torch.nn.Linear(6, 4), torch.nn.BatchNorm1d(4), torch.nn.ReLU())
        self.first, self.second = pyg.EdgeConv(message, aggr="mean"), pyg.GraphConv(4, 4)
        self.norm, self.mixes = torch.nn.BatchNorm1d(4), mixes

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        x = self.norm(self.first(x, edge_index)).tanh()
        if self.mixes:  # rows must be those of all copies from here on
            x = x + 0.0 * x.cumsum(dim=0)
        x = self.second(x, edge_index)
        return F.batch_norm(x, None, None, training=True)


SETS: list[list[tuple[int, ...]]] = [[(), (0,), (2, 3)], [(), (0,), ()], [(), (1,), (0,)], [(), (), ()]]
WEIGHTS = [[0.5, 0.25, 0.25]] * 4


def repeated() -> Runs:
    """Every copy as often as its weight says."""
    return Runs.of([[one[0], one[0], one[1], one[2]] for one in SETS], [5, 1, 3, 1])


@pytest.mark.parametrize("engine", ["batched", "auto"])
@pytest.mark.parametrize("mode", ["zero", "remove"])
@pytest.mark.parametrize("mixes", [False, True])
def test_weights_are_repetitions(engine: str, mode: str, mixes: bool) -> None:
    torch.manual_seed(0)
    graph = awkward_batch()
    model = DropGNN(Norms(mixes=mixes), Exhaustive(0.2, k=1), mode, engine=engine).double()
    other = copy.deepcopy(model)
    other.engine = "batched"
    outs = []
    for one, runs in ((model, Runs.of(SETS, [5, 1, 3, 1], weight=WEIGHTS)), (other, repeated())):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore" if mixes else "error")
            out = one(graph.x, graph.edge_index, graph.batch, runs=runs)
        out.sin().sum().backward()
        outs.append(out)
    torch.testing.assert_close(*outs, rtol=1e-9, atol=1e-9)
    for (name, parameter), (_, expected) in zip(model.named_parameters(), other.named_parameters(), strict=True):
        torch.testing.assert_close(parameter.grad, expected.grad, rtol=1e-8, atol=1e-8, msg=name)
    for name, buffer in model.named_buffers():
        if name.endswith("running_mean"):
            torch.testing.assert_close(buffer, dict(other.named_buffers())[name], rtol=1e-9, atol=1e-9, msg=name)


class OnlyACall(torch.nn.Module):
    """Takes batch statistics without a module that says so."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = pyg.GraphConv(3, 4)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return F.batch_norm(self.conv(x, edge_index), None, None, training=True)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("mode", ["zero", "remove"])
def test_engines_agree_where_no_module_takes_statistics(mode: str, weighted: bool) -> None:
    torch.manual_seed(0)
    encoder, graph, found = OnlyACall().double(), awkward_batch(), []
    runs = Runs.of(SETS, [5, 1, 3, 1], weight=WEIGHTS) if weighted else repeated()
    for engine in ("reference", "batched", "shared"):
        model = DropGNN(encoder, Exhaustive(0.2, k=1), mode, engine=engine)
        found.append(model(graph.x, graph.edge_index, graph.batch, runs=runs))
    for other in found[1:]:
        torch.testing.assert_close(other, found[0], rtol=1e-9, atol=1e-9)
    expected = DropGNN(encoder, Exhaustive(0.2, k=1), mode, engine="batched")
    torch.testing.assert_close(
        expected(graph.x, graph.edge_index, graph.batch, runs=repeated()), found[0], rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("engine", ["reference", "batched", "shared", "auto"])
def test_chunks_refuse_calls_that_take_statistics(engine: str) -> None:
    graph = awkward_batch()
    model = DropGNN(OnlyACall().double(), Exhaustive(0.2, k=1), engine=engine, chunk=2)
    with pytest.raises(
        Unsupported, match=r"chunk=2 would take the batch statistics of torch\.nn\.functional\.batch_norm"
    ):
        model(graph.x, graph.edge_index, graph.batch)
