"""What DropGNN promises around any encoder."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch_geometric.nn as pyg
from torch import Tensor

from dropgnn import GIN, GINE, Bernoulli, DropGNN, Exhaustive, Graph, Runs, Stratified
from dropgnn.data.ports import with_ids, with_random_feature
from dropgnn.data.synthetic import task
from dropgnn.engine.embedded import maxima
from dropgnn.nn import LayerReadout, Outcome, Pooled, Set2SetReadout
from dropgnn.runs.modes import MODES
from dropgnn.runs.samplers import Sampler
from dropgnn.testing import assert_batch_mates_irrelevant, assert_node_order_irrelevant
from dropgnn.training.loop import inputs
from tests.conftest import awkward_batch, generator
from tests.engine.test_agreement import ENCODERS, SAMPLERS, build


def predict(model: DropGNN, graph: Graph, **arguments: Any) -> Tensor:
    return model(graph.x, graph.edge_index, graph.edge_attr, graph.batch, graph.num_graphs, **arguments)


def observe(model: DropGNN, graph: Graph, **arguments: Any) -> Outcome:
    return model(
        graph.x, graph.edge_index, graph.edge_attr, graph.batch, graph.num_graphs, return_outcome=True, **arguments
    )


@pytest.mark.parametrize("sampler", [Bernoulli(0.0, 5), Stratified(0.0, 3), Exhaustive(0.0, 2), Exhaustive(0.3, 0)])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("encoder", ENCODERS)
def test_without_drops_it_is_the_base_gnn(encoder: str, mode: str, sampler: Sampler) -> None:
    model, graph = build(encoder, mode, "bernoulli")
    model.sampler = sampler
    model.eval()
    extra = {} if graph.edge_attr is None else {"edge_attr": graph.edge_attr}
    if "batch" in model.encoder.forward.__code__.co_varnames:
        extra["batch"] = graph.batch
    base = model.encoder(graph.x, graph.edge_index, **extra)
    torch.testing.assert_close(predict(model, graph, generator=generator()), base, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("encoder", ENCODERS)
def test_node_order_does_not_matter(encoder: str, mode: str, sampler: str) -> None:
    model, graph = build(encoder, mode, sampler)
    for training in (False, True):
        assert_node_order_irrelevant(model.train(training), graph, generator=generator(4))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("encoder", ["gin-sum", "gine", "pyg-gcn", "pyg-pna"])
def test_batch_mates_do_not_matter_in_evaluation(encoder: str, mode: str, sampler: str) -> None:
    model, graph = build(encoder, mode, sampler)
    assert_batch_mates_irrelevant(model.eval(), graph, generator=generator(4))


class _LooksAtOrder(torch.nn.Module):
    """Not a GNN: the first row is special."""

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return torch.cat([x[:1] * 2, x[1:]])


def test_the_property_assertions_catch_a_broken_encoder() -> None:
    graph = awkward_batch()
    model = DropGNN(_LooksAtOrder(), Bernoulli(0.2, 3)).eval()
    with pytest.raises(AssertionError, match="prediction after permuting the nodes differs"):
        assert_node_order_irrelevant(model, graph, generator=generator(4))
    with pytest.raises(AssertionError, match="prediction for graph 1 by itself differs"):
        assert_batch_mates_irrelevant(model, graph, generator=generator(4))


def test_same_seed_same_prediction_and_the_global_state_is_left_alone() -> None:
    model, graph = build("gin-sum", "zero", "bernoulli")
    model.eval()
    state = torch.random.get_rng_state()
    first, again, other = (predict(model, graph, generator=generator(seed)) for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert torch.equal(torch.random.get_rng_state(), state)


def test_dropping_happens_in_evaluation_too_and_may_use_another_sampler() -> None:
    model, graph = build("gin-sum", "zero", "bernoulli", eval_sampler=Exhaustive(0.3, k=1))
    checked = Graph.of(graph.x, graph.edge_index, None, graph.batch)
    assert model.train().draw(checked, generator=generator()).copies_per_graph.tolist() == [4, 4, 4, 4]
    assert model.eval().draw(checked).copies_per_graph.tolist() == [6, 2, 4, 2]


def test_the_aggregators_by_hand() -> None:
    """An encoder that returns its input, two nodes, three weighted copies: node 1 is dropped in copy 1 and 2."""

    class Same(torch.nn.Module):
        out_channels = 1

        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            return x

    runs = Runs.of([[(), (1,), (0, 1)]], items_per_graph=[2], weight=[[0.5, 0.25, 0.25]])
    x, edges = torch.tensor([[4.0], [-8.0]]), torch.empty(2, 0, dtype=torch.long)
    expected = {
        ("mean", "zero"): [3.0, -4.0],
        ("sum", "zero"): [9.0, -12.0],
        ("max", "zero"): [4.0, 0.0],
        ("mean", "remove"): [4.0, -8.0],
        ("sum", "remove"): [12.0, -24.0],
        ("max", "remove"): [4.0, -8.0],
    }
    for (aggregator, mode), values in expected.items():
        model = DropGNN(Same(), Bernoulli(0.5, 1), mode, aggregator)
        assert model(x, edges, runs=runs).flatten().tolist() == values

    model = DropGNN(Same(), Bernoulli(0.5, 1), aggregator="transform-sum")
    w, b = model.aggregator.linear.weight.item(), model.aggregator.linear.bias.item()  # type: ignore[union-attr, operator]
    kept, gone = (torch.sigmoid(torch.tensor(w * value + b)) for value in (4.0, 0.0))
    assert model(x, edges, runs=runs)[0].item() == pytest.approx(3 * float(0.75 * kept + 0.25 * gone))


def test_a_node_present_in_no_copy_gets_zeros() -> None:
    runs = Runs.of([[(0,), (0,)]], items_per_graph=[2])
    for aggregator in ("mean", "sum", "max"):
        model = DropGNN(GIN(1, 4, 2), Bernoulli(0.5, 1), "remove", aggregator)
        out = model(torch.ones(2, 1), torch.tensor([[0, 1], [1, 0]]), runs=runs)
        assert torch.equal(out[0], torch.zeros(9))
        assert not torch.equal(out[1], torch.zeros(9))


def test_max_ignores_copies_of_zero_weight() -> None:
    runs = Runs.of([[(), (0,)]], items_per_graph=[1], weight=[[0.0, 1.0]])
    model = DropGNN(GIN(1, 4, 1), Bernoulli(0.5, 1), aggregator="max").eval()
    out = model(torch.ones(1, 1), torch.empty(2, 0, dtype=torch.long), runs=runs)
    assert out[0, 0] == 0


@pytest.mark.parametrize("head", ["layer", "set2set", "pooled-encoder"])
def test_graph_level_predictions(head: str) -> None:
    class PoolsItself(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.gcn = pyg.GCN(3, 4, 2)

        def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
            return pyg.global_add_pool(self.gcn(x, edge_index), batch, int(batch.max()) + 1)

    torch.manual_seed(0)
    if head == "pooled-encoder":
        model = DropGNN(PoolsItself(), Bernoulli(0.2, 4), pooled=True, auxiliary=torch.nn.Linear(4, 4)).double()
    else:
        gin = GIN(3, 4, 2)
        made = {
            "layer": lambda: Pooled(LayerReadout(gin.channels, 2)),
            "set2set": lambda: Set2SetReadout(gin.out_channels, torch.nn.Linear(2 * gin.out_channels, 2)),
        }[head]
        model = DropGNN(gin, Bernoulli(0.2, 4), head=made(), auxiliary=made()).double()
    graph = awkward_batch()
    outcome = observe(model, graph, generator=generator())
    assert outcome.prediction.size(0) == 4
    assert outcome.auxiliary is not None
    assert outcome.auxiliary.size(0) == 16
    assert model.predicts_graphs
    assert_batch_mates_irrelevant(model.eval(), graph, generator=generator())
    assert_node_order_irrelevant(model, graph, generator=generator())


def test_the_loss_weighs_single_runs() -> None:
    model, graph = build("gin-sum", "remove", "exhaustive-1")
    model.head, model.auxiliary = torch.nn.Linear(15, 2).double(), torch.nn.Linear(15, 2).double()
    outcome = observe(model, graph)
    assert outcome.auxiliary is not None
    assert outcome.owner is not None
    assert outcome.weight is not None
    target = torch.randint(0, 2, (10,), generator=generator())
    mask = torch.arange(10) < 6
    single = torch.nn.functional.cross_entropy(outcome.auxiliary, target[outcome.owner], reduction="none")
    counted = mask[outcome.owner]
    auxiliary = (outcome.weight * single)[counted].sum() / outcome.weight[counted].sum()
    main = torch.nn.functional.cross_entropy(outcome.prediction[mask], target[mask])
    torch.testing.assert_close(outcome.loss(target, mask=mask), main * 2 / 3 + auxiliary / 3)
    torch.testing.assert_close(outcome.loss(target, mask=mask, auxiliary_share=0.0), main)
    squares = outcome.loss(torch.zeros(10, 2).double(), torch.nn.functional.mse_loss, auxiliary_share=1.0)
    spread = (outcome.weight.unsqueeze(1) * outcome.auxiliary.square()).sum() / (2 * outcome.weight.sum())
    torch.testing.assert_close(squares, spread)


def test_ports_ids_and_random_features_combine_with_dropouts() -> None:
    batch = task("lcc", 0).batch()
    augmented = with_random_feature(with_ids(batch, generator(0)), generator(1))
    gine = GINE(augmented.x.size(1), 8, 2, edge_dim=1)
    model = DropGNN(gine, Bernoulli(0.1, 5), head=LayerReadout(gine.channels, 3), generator=generator())
    assert model(*inputs(augmented)).shape == (60, 3)
    assert batch.x.size(1) == 1


def test_the_planned_constructor_takes_p_and_r_from_the_graphs() -> None:
    model = DropGNN.planned(pyg.GCN(1, 8, 2), task("triangles", 0).graphs, seed=0)
    assert model.sampler.p == pytest.approx(1 / 10, abs=0.02)  # type: ignore[attr-defined]
    assert model(*inputs(task("triangles", 0).batch())[:2]).shape == (60, 8)


def test_a_basic_gnn_with_a_forward_of_its_own_is_taken_whole() -> None:
    class Mine(pyg.GCN):
        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            return 2 * super().forward(x, edge_index)

    torch.manual_seed(0)
    mine, graph = Mine(3, 4, 2).double(), awkward_batch()
    model = DropGNN(mine, Exhaustive(0.0, k=0)).eval()
    torch.testing.assert_close(predict(model, graph), mine(graph.x, graph.edge_index))


def test_heads_of_others_are_called_by_what_they_ask_for() -> None:
    class SumThenLinear(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(4, 2)

        def forward(self, x: Tensor, batch: Tensor, batch_size: int) -> Tensor:
            return self.linear(pyg.global_add_pool(x, batch, batch_size))

    graph = awkward_batch()
    model = DropGNN(pyg.GCN(3, 4, 2), Exhaustive(0.1), head=SumThenLinear(), auxiliary=SumThenLinear()).double()
    assert predict(model, graph).shape == (4, 2)
    mlp = [pyg.MLP([4, 4, 2], norm=None) for _ in range(2)]  # has an optional batch: a head for rows
    model = DropGNN(pyg.GCN(3, 4, 2), Exhaustive(0.1), head=mlp[0], auxiliary=mlp[1]).double()
    observe(model, graph).loss(torch.zeros(10, dtype=torch.long)).backward()


def test_many_small_sets_are_enumerated_quickly() -> None:
    runs = Exhaustive(0.1, k=12)(Graph.of(torch.ones(12, 1), torch.empty(2, 0, dtype=torch.long)))
    assert runs.num_copies == 2**12


def test_wrapping_keeps_parameters_and_state_dict_of_the_encoder() -> None:
    gin = pyg.GIN(3, 4, 2, norm="batch_norm")
    names, weights = list(gin.state_dict()), list(gin.parameters())
    model = DropGNN(gin, Bernoulli(0.1, 3))
    assert list(model.encoder.state_dict()) == names
    assert [id(weight) for weight in model.encoder.parameters()] == [id(weight) for weight in weights]
    assert list(model.state_dict()) == [f"encoder.{name}" for name in names]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="this machine has no GPU")
def test_on_a_gpu() -> None:
    model, graph = build("gin-sum", "zero", "bernoulli")
    runs = model.draw(graph, generator=generator())
    here = predict(model.eval(), graph, runs=runs)
    model.cuda()
    there = model(graph.x.cuda(), graph.edge_index.cuda(), batch=graph.batch.cuda(), runs=runs)
    torch.testing.assert_close(there.cpu(), here)


def test_ties_are_a_matter_of_rounding() -> None:
    """Copies of a node that differ are not equal because a node beside them has large numbers, up to what those round."""
    x = torch.tensor([[0.2], [0.05], [1e5]], requires_grad=True)
    maxima(x, torch.tensor([0, 0, 1]), 2).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [[1.0], [0.0], [1.0]]
    near = torch.tensor([[0.2], [0.2 + 1e-8], [0.1]], requires_grad=True, dtype=torch.float32)
    maxima(near, torch.tensor([0, 0, 1]), 2).sum().backward()
    assert near.grad is not None
    assert near.grad.tolist() == [[0.5], [0.5], [1.0]]
