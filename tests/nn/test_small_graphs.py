"""No node, one node, no edges, an isolated last node, an empty batch: all of them work."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
import torch

from dropgnn import GIN, Bernoulli
from dropgnn.nn import LayerReadout, Pooled
from tests.nn.test_refusals import EDGES, NONE, X, model

SMALL = {
    "no node": (0, NONE),
    "one node": (1, NONE),
    "no edges": (3, NONE),
    "isolated last node": (3, torch.tensor([[0, 1], [1, 0]])),
}


@pytest.mark.parametrize("mode", ["zero", "zero-layers", "remove", "edges", "receive-only"])
@pytest.mark.parametrize("engine", ["reference", "batched", "shared"])
def test_small_graphs_work(engine: str, mode: str) -> None:
    gin = GIN(1, 4, 2)
    readout = Pooled(LayerReadout(gin.channels, 2))
    for (name, (nodes, edges)), p in product(SMALL.items(), (0.0, 0.5, 1.0)):
        for training in (True, False):
            drop = model(gin, sampler=Bernoulli(p, 3), mode=mode, head=readout, engine=engine).train(training)
            assert drop(torch.ones(nodes, 1), edges, num_graphs=1).shape == (1, 2), (name, p, training)
        drop = model(gin, sampler=Bernoulli(p, 1), mode=mode, engine=engine).eval()
        assert drop(torch.ones(nodes, 1), edges).shape == (nodes, 9), (name, p)


@pytest.mark.parametrize("engine", ["reference", "batched", "shared"])
def test_a_batch_without_graphs_works(engine: str) -> None:
    nobody: dict[str, Any] = {"batch": torch.empty(0, dtype=torch.long), "num_graphs": 0}
    drop = model(head=Pooled(LayerReadout((1, 4, 4), 2)), engine=engine)
    assert drop(torch.ones(0, 1), NONE, **nobody).shape == (0, 2)
    assert model(engine=engine)(torch.ones(0, 1), NONE, **nobody).shape == (0, 9)


def test_trailing_graphs_without_nodes_are_kept() -> None:
    drop = model(head=Pooled(LayerReadout((1, 4, 4), 2)))
    assert drop(X, EDGES, batch=torch.zeros(3, dtype=torch.long), num_graphs=3).shape == (3, 2)
