"""What must not be shared is not, whatever it looks like; and what is shared beside the layers is right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch_geometric.nn as pyg
from torch import Tensor

from dropgnn import GIN, GINE, Bernoulli, DropGNN, Exhaustive, Graph, Runs, Unsupported
from dropgnn.data.synthetic import task
from dropgnn.engine.planning import make_plan
from dropgnn.engine.shared import share
from dropgnn.nn import Encoder, LayerReadout, Pooled
from dropgnn.ops import torch_ops
from dropgnn.runs.modes import MODES
from dropgnn.testing import assert_engines_agree
from dropgnn.training.ahead import ahead
from dropgnn.training.batches import PlannedBatches
from tests.conftest import awkward_batch, generator

RUNS = Bernoulli(0.3, r=4)


class Own(Encoder):
    """One convolution, called as given, and what else an encoder may have."""

    def __init__(
        self,
        conv: torch.nn.Module,
        call: Callable[..., Tensor] | None = None,
        *,
        edge_dim: int | None = None,
        entry: torch.nn.Module | None = None,
        behind: torch.nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.in_channels, self.out_channels, self.edge_dim = 3, 3, edge_dim
        self.conv, self.before, self.last = conv, entry, behind
        self.call = call or (lambda conv, x, edge_index, edge_attr: conv(x, edge_index))

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None) -> Tensor:
        x = x if self.before is None else self.before(x)
        x = self.call(self.conv, x, edge_index, edge_attr).tanh()
        x = x if self.last is None else self.last(x)
        return x[0] if isinstance(x, tuple) else x


def hooked() -> torch.nn.Module:
    gcn = pyg.GCN(3, 4, 2)
    gcn.convs[0].register_forward_hook(lambda module, given, out: 2 * out)
    return gcn


def propagating() -> torch.nn.Module:
    gin = GIN(3, 4, 2)
    conv = next(module for module in gin.modules() if isinstance(module, pyg.GINConv))
    conv.register_propagate_forward_hook(lambda module, given, out: 2 * out)
    return gin


def watched(encoder: torch.nn.Module, kind: type[torch.nn.Module]) -> torch.nn.Module:
    """Someone adds noise to what a module inside says."""
    module = next(module for module in encoder.modules() if isinstance(module, kind))
    module.register_forward_hook(lambda module, given, out: noisy(out))
    return encoder


def noisy(out: Any) -> Any:
    return (noisy(out[0]), *out[1:]) if isinstance(out, tuple) else out + torch.rand_like(out)


def forwarded(encoder: torch.nn.Module) -> torch.nn.Module:
    linear = next(module for module in encoder.modules() if isinstance(module, torch.nn.Linear))
    vars(linear)["forward"] = lambda x: x @ linear.weight.t() + torch.rand(1)
    return encoder


class Noisy(pyg.MLP):
    def forward(self, x: Tensor, *given: Any, **named: Any) -> Tensor:
        return super().forward(x, *given, **named) + torch.rand(1)


class Centred(pyg.LayerNorm):
    def forward(self, x: Tensor, *given: Any) -> Tensor:
        return x - x.mean(dim=0)


def last_mlp(mlp: torch.nn.Module) -> torch.nn.Module:
    gin = pyg.GIN(3, 4, 1)
    gin.convs[0].nn = mlp
    return gin


COPY_BY_COPY: dict[str, tuple[Callable[[], torch.nn.Module], str]] = {
    "dropout behind": (lambda: Own(pyg.GraphConv(3, 3), behind=torch.nn.Dropout(0.5)), "dropout while training"),
    "hook": (hooked, "GCNConv has hooks"),
    "propagate hook": (propagating, "GINConv has hooks"),
    "hook on a linear map": (lambda: watched(GIN(3, 4, 2), torch.nn.Linear), "Linear has hooks"),
    "hook inside a convolution": (lambda: watched(pyg.GCN(3, 4, 2), pyg.Linear), "Linear has hooks"),
    "hook inside jumping knowledge": (lambda: watched(pyg.GCN(3, 4, 2, jk="lstm"), torch.nn.LSTM), "rand_like"),
    "another forward": (lambda: forwarded(GIN(3, 4, 2)), "Linear has a forward of its own"),
    "hook on a norm": (
        lambda: watched(pyg.GCN(3, 4, 2, norm="layer_norm", norm_kwargs={"mode": "node"}), pyg.LayerNorm), "rand_like",
    ),
    "function inside an MLP": (
        lambda: last_mlp(pyg.MLP([3, 4, 4], act=lambda x: torch.dropout(x, 0.5, True), norm=None)), "dropout",
    ),
    "a norm over all rows": (
        lambda: last_mlp(torch.nn.Sequential(torch.nn.Linear(3, 4), Centred(4, mode="node"))), "mean",
    ),
    "LSTM over nodes": (lambda: Own(pyg.GraphConv(3, 3), behind=torch.nn.LSTM(3, 3)), "lstm"),
    "function": (lambda: pyg.GCN(3, 4, 2, act=lambda x: torch.dropout(x, 0.5, True)), "dropout"),
}  # fmt: skip

SHARED: dict[str, Callable[[], torch.nn.Module]] = {
    "no loops": lambda: pyg.GCN(3, 4, 2, add_self_loops=False),
    "mean of GCN": lambda: pyg.GCN(3, 4, 2, aggr="mean"),
    "whole GIN": lambda: Own(pyg.GINConv(torch.nn.Linear(3, 3))),
    "edge weights": lambda: Own(pyg.GraphConv(3, 3), lambda conv, x, e, a: conv(x, e, a.squeeze(1)), edge_dim=1),
    "norm behind": lambda: Own(pyg.GraphConv(3, 3), behind=torch.nn.BatchNorm1d(3)),
    "norm before": lambda: Own(pyg.GraphConv(3, 3), entry=torch.nn.BatchNorm1d(3)),
    "loops filled": lambda: pyg.GAT(3, 4, 2, edge_dim=2, fill_value="add"),
    "network": lambda: Own(
        pyg.NNConv(3, 3, lambda a: a @ torch.ones(2, 9).double(), aggr="add"),
        lambda conv, x, e, a: conv(x, e, a),
        edge_dim=2,
    ),
    "single element": lambda: pyg.GraphSAGE(3, 4, 2, norm="batch_norm", norm_kwargs={"allow_single_element": True}),
    "known function as activation": lambda: pyg.GCN(3, 4, 2, act=torch.tanh),
}


def shared_as_far_as(encoder: torch.nn.Module) -> list[str]:
    """Where sharing ends."""
    graph = awkward_batch(edge_dim=edge_dim_of(encoder))
    _, sharing = share(encoder.double(), MODES["zero"](), graph, RUNS(graph, generator=generator()))
    return list(map(str, sharing.ended))


def edge_dim_of(encoder: torch.nn.Module) -> int | None:
    return encoder.convs[0].edge_dim if isinstance(encoder, pyg.GAT) else getattr(encoder, "edge_dim", None)


@pytest.mark.parametrize("name", COPY_BY_COPY)
def test_run_copy_by_copy(name: str) -> None:
    encoder, reason = COPY_BY_COPY[name]
    DropGNN(encoder(), RUNS)
    assert any(reason in ending for ending in shared_as_far_as(encoder()))


@pytest.mark.parametrize("name", SHARED)
def test_shared(name: str) -> None:
    torch.manual_seed(0)
    encoder = SHARED[name]()
    model = DropGNN(encoder, RUNS).double()
    assert not shared_as_far_as(encoder)
    assert_engines_agree(
        model, awkward_batch(edge_dim=edge_dim_of(encoder)), generator=generator(), engines=("batched", "shared")
    )


@pytest.mark.parametrize("mode", ["zero", "remove"])
@pytest.mark.parametrize("aggregator", ["mean", "sum", "max"])
def test_copies_of_no_weight(mode: str, aggregator: str) -> None:
    """A copy that does not count must not come back as rounding."""
    x, edges = torch.eye(2, 3, dtype=torch.float64), torch.tensor([[0, 1], [1, 0]])
    runs = Runs.of([[(0,), (0,), (0,), ()]], [2], weight=[[0.1, 0.3, 0.6, 0.0]])
    model = DropGNN(pyg.GraphSAGE(3, 4, 2), RUNS, mode, aggregator).double()
    found = []
    for model.engine in ("reference", "shared"):
        found.append(model(x, edges, runs=runs))
    torch.testing.assert_close(*found, rtol=1e-9, atol=1e-9)


def test_gradients_of_gradients_are_refused() -> None:
    graph = awkward_batch()
    x = graph.x.clone().requires_grad_()
    model = DropGNN(pyg.GraphSAGE(3, 4, 2, norm="batch_norm"), RUNS, engine="shared", generator=generator()).double()
    out = model(x, graph.edge_index, batch=graph.batch).square().sum()
    (gradient,) = torch.autograd.grad(out, x, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


def test_gradients_must_be_wanted_before_planning() -> None:
    """A plan merges equal rows; whoever then wants their gradients, on the same tensor, would get those of all in one."""
    x, edge_index = torch.ones(4, 1), torch.tensor([[0, 1, 2, 3], [1, 0, 3, 2]])
    model = DropGNN(GIN(1, 4, 1), RUNS, generator=generator())
    plan = model.plan(x, edge_index)
    x.requires_grad_()
    with pytest.raises(ValueError, match="'plan' must be for this very batch"):
        model(x, edge_index, plan=plan)


def test_a_plan_of_another_model_is_refused() -> None:
    graph = awkward_batch(edge_dim=2)
    given = (graph.x, graph.edge_index, graph.edge_attr, graph.batch)
    assert graph.edge_attr is not None
    gine = GINE(3, 4, 2, edge_dim=2)
    plan = DropGNN(gine, RUNS, generator=generator()).double().plan(*given)
    with pytest.raises(ValueError, match="'plan' must be made by this model"):
        DropGNN(gine, RUNS, "remove").double()(*given, plan=plan)
    deeper = DropGNN(GINE(3, 4, 3, edge_dim=2), RUNS).double()  # for which the plan grows
    assert torch.equal(deeper(*given, plan=plan), deeper(*given, runs=plan.runs))
    with pytest.raises(ValueError, match="'plan' must be for this very batch"):
        DropGNN(gine, RUNS).double()(graph.x, graph.edge_index, 2 * graph.edge_attr, graph.batch, plan=plan)
    graph.x[0, 0] += 1.0
    with pytest.raises(ValueError, match="'plan' must be for this very batch"):
        DropGNN(gine, RUNS).double()(*given, plan=plan)
    wanted = graph.edge_attr.clone().requires_grad_()
    with pytest.raises(ValueError, match="'plan' must be for this very batch"):
        DropGNN(gine, RUNS).double()(graph.x, graph.edge_index, wanted, graph.batch, plan=plan)
    plain = awkward_batch()
    without = (
        DropGNN(GIN(3, 4, 2), RUNS, generator=generator()).double().plan(plain.x, plain.edge_index, batch=plain.batch)
    )
    with pytest.raises(ValueError, match="'plan' must be made by this model"):
        DropGNN(pyg.GCN(3, 4, 2), RUNS).double()(plain.x, plain.edge_index, batch=plain.batch, plan=without)


def test_a_plan_does_not_get_around_the_list() -> None:
    graph = awkward_batch()
    model = DropGNN(pyg.GCN(3, 4, 2, dropout=0.5), Exhaustive(0.2, k=1), engine="shared").double().eval()
    plan = model.plan(graph.x, graph.edge_index, batch=graph.batch)
    model(graph.x, graph.edge_index, batch=graph.batch, plan=plan)
    with pytest.raises(Unsupported, match="would not be exact: dropout while training"):
        model.train()(graph.x, graph.edge_index, batch=graph.batch, plan=plan)


def four_cycles() -> list[Any]:
    graphs = list(task("four_cycles", 0).graphs)[:6]
    for graph in graphs:
        graph.edge_attr = None
    return graphs


def test_evaluating_between_steps_does_not_change_the_draw() -> None:
    model = DropGNN(GIN(1, 4, 2), Bernoulli(0.1, r=4), eval_sampler=Bernoulli(0.1, r=9)).train()
    batches = [task("four_cycles", seed).batch() for seed in range(4)]
    for batch in batches:
        batch.edge_attr = None
    for _, arguments in ahead(model, batches, generator=generator()):
        model.eval()
        assert set(arguments["plan"].runs.copies_per_graph.tolist()) == {4}
        model.train()
    planned = PlannedBatches(model, four_cycles())
    model.eval()
    with pytest.raises(
        Unsupported, match=r"planned for Bernoulli\(p=0.1, r=4\), and the model now draws from Bernoulli\(p=0.1, r=9\)"
    ):
        list(planned([[0]]))


def test_mixed_precision_runs() -> None:
    graph = awkward_batch()
    for encoder in (GIN(3, 4, 2), pyg.GCN(3, 4, 2, norm="batch_norm")):
        aux = Pooled(LayerReadout(encoder.channels, 2) if isinstance(encoder, GIN) else torch.nn.Linear(4, 2))
        model = DropGNN(encoder, RUNS, auxiliary=aux, head=aux, engine="shared", generator=generator())
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = model(graph.x.float(), graph.edge_index, batch=graph.batch, return_outcome=True)
            out.prediction.float().sum().backward()
        assert bool(torch.isfinite(out.prediction).all())


def test_keys_of_pairs_need_more_than_32_bits() -> None:
    nodes = 50_000
    ring = torch.arange(nodes)
    edges = torch.stack([torch.cat([ring, ring.roll(1)]), torch.cat([ring.roll(1), ring])])
    graph = Graph.of(torch.ones(nodes, 1), edges)
    plan = make_plan(graph, Exhaustive(0.1, k=1)(graph), MODES["zero"](), 1, loops=torch_ops)
    assert plan.states == [2, 3]  # a node, the dropped one, one that hears it: zeros, and two that hear
