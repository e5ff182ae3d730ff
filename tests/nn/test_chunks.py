"""Chunked runs mean the same and bound the memory."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor

from dropgnn import GIN, Bernoulli, DropGNN
from dropgnn.nn import LayerReadout, Pooled
from tests.conftest import awkward_batch, generator
from tests.engine.test_agreement import SAMPLERS, build
from tests.nn.test_model import observe, predict


@pytest.mark.parametrize("aggregator", ["mean", "sum", "max", "transform-sum"])
@pytest.mark.parametrize("mode", ["zero", "remove"])
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_chunks_change_nothing_in_evaluation(aggregator: str, mode: str, sampler: str) -> None:
    torch.manual_seed(0)
    encoder = GIN(3, 4, 2)
    heads = [Pooled(LayerReadout(encoder.channels, 2)) for _ in range(2)]
    whole = DropGNN(encoder, SAMPLERS[sampler], mode, aggregator, heads[0], auxiliary=heads[1]).double().eval()
    graph = awkward_batch()
    runs = whole.draw(graph, generator=generator())
    expected = observe(whole, graph, runs=runs)
    chunked = copy.deepcopy(whole)
    chunked.chunk = 2
    for grad in (False, True):
        with torch.set_grad_enabled(grad):
            observed = observe(chunked, graph, runs=runs)
        torch.testing.assert_close(observed.prediction, expected.prediction, rtol=1e-9, atol=1e-9)
        target = torch.tensor([0, 1, 0, 1])
        torch.testing.assert_close(observed.loss(target), expected.loss(target), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("aggregator", ["mean", "sum", "transform-sum"])
@pytest.mark.parametrize("encoder", ["pyg-gat", "pyg-pna"])
def test_chunks_give_the_same_gradients_where_there_is_no_batch_norm(encoder: str, aggregator: str) -> None:
    model, graph = build(encoder, "zero", "exhaustive-2", aggregator=aggregator)
    runs = model.draw(graph)
    gradients = []
    for chunk in (None, 3):
        model.zero_grad()
        model.chunk = chunk
        predict(model, graph, runs=runs).square().sum().backward()
        gradients.append([weight.grad.clone() for weight in model.parameters() if weight.grad is not None])
    for a, b in zip(*gradients, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9)


def test_chunks_bound_the_rows_an_encoder_sees() -> None:
    seen = []

    class Watched(torch.nn.Module):
        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            seen.append(x.size(0))
            return x

    model = DropGNN(Watched(), Bernoulli(0.1, r=50), chunk=4, generator=generator())
    model(torch.ones(10, 1), torch.empty(2, 0, dtype=torch.long))
    assert max(seen) == 40
    assert len(seen) == 13
