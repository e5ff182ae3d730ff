"""Copies that add up to the same are predicted once, and only where that is the same."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Batch, Data

from dropgnn import GIN, DropGNN, Exhaustive
from dropgnn.data.synthetic import task
from dropgnn.engine.pooling import alike_copies
from dropgnn.engine.shared_rows import SharedRows
from dropgnn.nn import LayerReadout, Pooled
from dropgnn.runs.samplers import Bernoulli, Sampler
from dropgnn.training.loop import inputs
from tests.conftest import generator


def rings(*sizes: int) -> Batch:
    graphs = []
    for size in sizes:
        one_way = torch.stack([torch.arange(size), (torch.arange(size) + 1) % size])
        graphs.append(
            Data(
                x=torch.ones(size, 1, dtype=torch.float64),
                edge_index=torch.cat([one_way, one_way.flip(0)], 1),
                num_nodes=size,
            )
        )
    return Batch.from_data_list(graphs)


def build(sampler: Sampler, *, mode: str = "zero", dropout: float = 0.0, layers: int = 3) -> DropGNN:
    torch.manual_seed(0)
    gin = GIN(1, 8, layers)
    head, auxiliary = (Pooled(LayerReadout(gin.channels, 2, dropout=dropout)) for _ in range(2))
    return DropGNN(gin, sampler, mode=mode, head=head, auxiliary=auxiliary).double()


@pytest.mark.parametrize("mode", ["zero", "zero-layers", "remove"])
def test_all_nodes_of_a_ring_are_alike(mode: str) -> None:
    """Nothing dropped, or any one node: two kinds of copies each for rings of 5, 9 and again 5 nodes, 4 in all."""
    batch, model = rings(5, 9, 5), build(Exhaustive(0.2, k=1), mode=mode)
    plan = model.plan(*inputs(batch))
    copies = alike_copies(plan.levels[-1].pairs, plan.runs, batch.batch)
    assert copies.kind.numel() == 6 + 10 + 6
    assert copies.chosen.numel() == 4
    left = [0] + [int(mode == "remove")] * 9  # nothing is dropped in the first copy, and one node in the others
    sizes = [size - one for size in (5, 9, 5) for one in left[: size + 1]]
    assert copies.size[copies.kind.long()].tolist() == sizes


def test_skip_circles_have_eleven_kinds_of_copies() -> None:
    """One for each circle that lacks a node, and one for all circles that lack none: 1-WL cannot tell those apart."""
    batch, model = task("skip_circles", 0).batch(), build(Exhaustive(0.05, k=1), layers=9).float()
    plan = model.plan(batch.x, batch.edge_index, None, batch.batch, batch.num_graphs)
    copies = alike_copies(plan.levels[-1].pairs, plan.runs, batch.batch)
    assert (copies.kind.numel(), copies.chosen.numel()) == (420, 11)


@pytest.mark.parametrize("sampler", [Exhaustive(0.2, k=2), Bernoulli(0.2, 20)])
@pytest.mark.parametrize("mode", ["zero", "remove"])
def test_predictions_and_gradients_are_those_of_every_copy(sampler: Sampler, mode: str) -> None:
    batch, found = rings(5, 9, 5), []
    for engine in ("shared", "reference"):
        model = build(sampler, mode=mode)
        model.engine = engine
        outcome = model(*inputs(batch), generator=generator(0), return_outcome=True)
        outcome.loss(torch.tensor([0, 1, 0]), auxiliary_share=0.5).backward()
        assert outcome.auxiliary is not None
        said = [outcome.prediction.detach(), outcome.embedding.detach(), outcome.auxiliary.detach()]
        found.append([*said, *(parameter.grad for parameter in model.parameters())])
    for shared, reference in zip(*found, strict=True):
        torch.testing.assert_close(shared, reference, rtol=1e-8, atol=1e-8)


def test_mean_embeddings_are_not_worked_out_where_nobody_needs_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Linear heads pool the copies; asked for later, the embeddings are there, with their gradients."""
    asked: list[SharedRows] = []
    sums = SharedRows.sums

    def spied(self: SharedRows) -> torch.Tensor:
        asked.append(self)
        return sums(self)

    monkeypatch.setattr(SharedRows, "sums", spied)
    batch, model = rings(5, 9), build(Exhaustive(0.2, k=1))
    outcome = model(*inputs(batch), return_outcome=True)
    outcome.loss(torch.tensor([0, 1])).backward(retain_graph=True)
    assert not asked
    assert model.head is not None
    head = model.head(outcome.embedding, batch.batch, 2)
    torch.testing.assert_close(head, outcome.prediction, rtol=1e-10, atol=1e-10)
    assert len(asked) == 1
    assert head.requires_grad


def test_dropout_behind_the_pooling_is_drawn_for_every_copy() -> None:
    """Five copies of a ring that lack a node add up to the same, yet each has ordinary dropout of its own."""
    batch, model = rings(5), build(Exhaustive(0.2, k=1), dropout=0.5)
    outcome = model(*inputs(batch), return_outcome=True)
    assert outcome.auxiliary is not None
    assert outcome.auxiliary[1:].unique(dim=0).size(0) > 1
