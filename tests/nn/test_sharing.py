"""What a model says of its sharing, and layers that nobody knows."""

from __future__ import annotations

import pytest
import torch
import torch_geometric.nn as pyg
from torch import Tensor
from torch_geometric.utils import degree

from dropgnn import GIN, Bernoulli, DropGNN, Exhaustive, InvalidArgument
from dropgnn.engine.rules.rule import RULES
from dropgnn.errors import NotShared
from dropgnn.nn import share_layer
from dropgnn.testing import assert_engines_agree, assert_layer_looks_only_at_its_edges
from tests.conftest import awkward_batch, generator


class Doubled(pyg.MessagePassing):
    """Twice what arrives, and the own row."""

    def __init__(self) -> None:
        super().__init__(aggr="sum")

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return x + 2 * self.propagate(edge_index, x=x)


class Normalised(pyg.MessagePassing):
    """PyG's tutorial GCN: over the square roots of both degrees."""

    def __init__(self) -> None:
        super().__init__(aggr="sum")

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        sender, receiver = edge_index
        scale = (1 + degree(receiver, x.size(0), dtype=x.dtype)).rsqrt()
        return self.propagate(edge_index, x=x, norm=scale[sender] * scale[receiver])

    def message(self, x_j: Tensor, norm: Tensor) -> Tensor:
        return norm.view(-1, 1) * x_j


class Around(torch.nn.Module):
    def __init__(self, layer: torch.nn.Module) -> None:
        super().__init__()
        self.first, self.layer, self.last = torch.nn.Linear(3, 4), layer, pyg.SAGEConv(4, 4)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.last(self.layer(self.first(x), edge_index).relu(), edge_index)


def wrapped(encoder: torch.nn.Module) -> DropGNN:
    torch.manual_seed(0)
    return DropGNN(encoder, Bernoulli(0.3, 5), generator=generator()).double()


def said(model: DropGNN) -> str:
    graph = awkward_batch()
    with pytest.warns(NotShared) as warned:
        model(graph.x, graph.edge_index, batch=graph.batch)
    (only,) = warned
    return str(only.message)


def test_a_layer_that_nobody_knows_is_tried_and_can_be_registered() -> None:
    model = wrapped(Around(Doubled()))
    remark = said(model)
    assert "Around computes equal rows once, but only as far as no rule says what Doubled looks at" in remark
    assert "on small random graphs it looks only at its in-edges" in remark
    assert "dropgnn.nn.share_layer(Doubled)" in remark
    assert "test_sharing.py:" in remark
    graph = awkward_batch()
    before = model.sharing(graph.x, graph.edge_index, batch=graph.batch)
    share_layer(Doubled)
    try:
        after = model.sharing(graph.x, graph.edge_index, batch=graph.batch)
        assert_engines_agree(wrapped(Around(Doubled())), graph, generator=generator(), engines=("batched", "shared"))
    finally:
        del RULES[Doubled]
    assert before.endings
    assert before.hint == "the line named there"
    assert not after.endings
    assert len(after.distinct) == 3


def test_a_rule_that_lies_is_caught() -> None:
    assert_layer_looks_only_at_its_edges(Doubled())
    with pytest.raises(AssertionError, match="Normalised looks at more than its in-edges"):
        assert_layer_looks_only_at_its_edges(Normalised())
    assert_layer_looks_only_at_its_edges(Normalised(), degrees=True)
    with pytest.raises(AssertionError, match="TAGConv looks at more"):
        assert_layer_looks_only_at_its_edges(pyg.TAGConv(3, 4, K=2), hops=2)
    assert_layer_looks_only_at_its_edges(pyg.TAGConv(3, 4, K=2), hops=2, degrees=True)
    assert_layer_looks_only_at_its_edges(
        pyg.GINEConv(torch.nn.Linear(3, 3), edge_dim=3), lambda layer, x, edges, attr: layer(x, edges, attr)
    )
    assert Doubled not in RULES
    assert "it looks at more than its in-edges" in said(wrapped(Around(Normalised())))


def test_a_class_of_its_own_needs_a_rule_of_its_own() -> None:
    class Derived(pyg.SAGEConv):
        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            return super().forward(x, edge_index) + x.mean(dim=0)

    assert "Derived looks at; tried on small random graphs, it looks at more" in said(wrapped(Around(Derived(4, 4))))


def test_reports() -> None:
    graph = awkward_batch()
    found = wrapped(GIN(3, 4, 2)).sharing(graph.x, graph.edge_index, batch=graph.batch)
    assert not found.endings
    assert "shared to the end" in str(found)
    regularised = wrapped(pyg.GCN(3, 4, 2, dropout=0.5))
    training = regularised.sharing(graph.x, graph.edge_index, batch=graph.batch)
    assert "dropout while training" in str(training)
    assert "what would keep it: evaluation, or training without feature dropout" in str(training)
    assert not regularised.eval().sharing(graph.x, graph.edge_index, batch=graph.batch).endings
    exact = DropGNN(pyg.GCN(3, 4, 2, dropout=0.5), Exhaustive(0.1, k=1), "zero-layers").double().eval()
    assert exact.sharing(graph.x, graph.edge_index, batch=graph.batch).endings == ()


def test_registration_is_checked() -> None:
    with pytest.raises(InvalidArgument, match=r"'kind' must be a class of torch\.nn\.Module"):
        share_layer(Doubled())
    with pytest.raises(InvalidArgument, match="'hops' must be a whole number of at least 1"):
        share_layer(Doubled, hops=0)
