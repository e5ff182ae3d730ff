"""Encoders, layers and heads of one's own are computed as they were written, whichever engine computes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
import torch
import torch_geometric.nn as pyg
from torch import Tensor
from torch.nn.modules.module import register_module_forward_hook

from dropgnn import GIN, Bernoulli, DropGNN, Exhaustive, Runs
from dropgnn.engine.parts import Parts
from dropgnn.engine.shared import obstacle_to_rows
from dropgnn.errors import Unsupported
from dropgnn.nn import MPNN, Encoder, OneGNN, Pooled
from dropgnn.runs.modes import MODES
from dropgnn.testing import assert_engines_agree, peak_megabytes
from tests.conftest import awkward_batch, generator
from tests.engine.test_shared import cubic

RUNS = Bernoulli(0.3, r=4)


class LastLayer(GIN):
    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None) -> Tensor:
        return super().forward(x, edge_index).split(self.channels, dim=1)[-1]


class Twice(GIN):
    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None) -> Tensor:
        return 2 * super().forward(x, edge_index)


class Positive(OneGNN):
    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None) -> Tensor:
        return super().forward(x, edge_index, edge_attr).relu()


class AllRounds(MPNN):
    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None) -> Tensor:
        xs = [self.embed(x)]
        for _ in range(self.rounds):
            xs.append(self.gru(self.conv(xs[-1], edge_index, edge_attr).relu(), xs[-1]))
        return torch.cat(xs[1:], dim=1)


class Halved(GIN):
    """Every layer with another update than the one it was made with."""

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor | None = None) -> Tensor:
        xs = [x]
        for conv, norm in zip(self.convs, self.norms, strict=True):
            xs.append(0.5 * norm(conv(xs[-1], edge_index)))
        return torch.cat(xs, dim=1)


OWN: dict[str, Callable[[], Encoder]] = {
    "last layer": lambda: LastLayer(3, 4, 2),
    "twice": lambda: Twice(3, 4, 2),
    "positive": lambda: Positive(3, (4, 4), edge_dim=2, edge_hidden=4),
    "all rounds": lambda: AllRounds(3, 4, edge_dim=2, edge_hidden=4),
    "another update": lambda: Halved(3, 4, 2),
}


@pytest.mark.parametrize("aggregator", ["mean", "max"])
@pytest.mark.parametrize("name", OWN)
def test_what_an_encoder_overrides_counts(name: str, aggregator: str) -> None:
    torch.manual_seed(0)
    encoder = OWN[name]()
    model = DropGNN(encoder, RUNS, aggregator=aggregator, head=None).double()
    graph, engines = awkward_batch(edge_dim=encoder.edge_dim), ("reference", "batched", "shared")
    assert_engines_agree(model, graph, generator=generator(), inputs=False, engines=engines)


@pytest.mark.parametrize("sampler", [RUNS, Exhaustive(0.3, k=1)], ids=str)
@pytest.mark.parametrize("gnn", [pyg.GCN, pyg.GraphSAGE, pyg.GIN], ids=lambda gnn: gnn.__name__)
def test_an_activation_may_write_on_what_the_norm_returned(gnn: type[torch.nn.Module], sampler: Bernoulli) -> None:
    torch.manual_seed(0)
    encoder = gnn(3, 4, 2, norm="batch_norm", act=torch.nn.ReLU(inplace=True))
    model = DropGNN(encoder, sampler).double()
    assert_engines_agree(model, awkward_batch(), generator=generator(), inputs=False)


LOOKING_AROUND: dict[str, Callable[[], torch.nn.Module]] = {
    "norm over the graph": lambda: torch.nn.Sequential(torch.nn.Linear(11, 2), pyg.LayerNorm(2)),
    "pair norm": lambda: torch.nn.Sequential(torch.nn.Linear(11, 2), pyg.PairNorm()),
    "softmax over rows": lambda: torch.nn.Sequential(torch.nn.Linear(11, 2), torch.nn.Softmax(dim=0)),
}


@pytest.mark.parametrize("name", LOOKING_AROUND)
def test_a_head_that_looks_around_sees_all_rows(name: str) -> None:
    torch.manual_seed(0)
    auxiliary = LOOKING_AROUND[name]()
    model = DropGNN(GIN(3, 4, 2), RUNS, head=torch.nn.Linear(11, 2), auxiliary=auxiliary).double()
    assert_engines_agree(model, awkward_batch(), generator=generator(), inputs=False)


def test_what_is_random_in_a_head_is_so_for_every_row() -> None:
    """An MLP drops features by a function, not by a module that one could find in it."""
    auxiliary = pyg.MLP([9, 8, 2], norm=None, dropout=0.5)
    model = DropGNN(
        GIN(1, 4, 2), Bernoulli(0.1, r=20), head=torch.nn.Linear(9, 2), auxiliary=auxiliary, engine="shared"
    )
    ring = torch.arange(10)
    edges = torch.cat([torch.stack([ring, ring.roll(1)]), torch.stack([ring.roll(1), ring])], dim=1)
    outcome = model(torch.ones(10, 1), edges, generator=generator(), return_outcome=True)
    assert not isinstance(outcome, Tensor)
    assert outcome.auxiliary is not None
    assert outcome.auxiliary.unique(dim=0).size(0) > 20  # one mask for each of the few states would leave fewer


def deep_head(width: int) -> Pooled:
    layers = (torch.nn.Linear(width, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    return Pooled(torch.nn.Sequential(*layers), pool="mean")


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_heads_that_are_not_linear_behind_the_pooling(dropout: float) -> None:
    torch.manual_seed(0)
    head, auxiliary = deep_head(11), deep_head(11)
    model = DropGNN(GIN(3, 4, 2), RUNS, head=head, auxiliary=auxiliary).double()
    assert_engines_agree(model, awkward_batch(), generator=generator())
    auxiliary.head.append(torch.nn.Dropout(dropout))  # type: ignore[operator]
    outcome = model(*_inputs(), generator=generator(), return_outcome=True)
    assert not isinstance(outcome, Tensor)
    assert outcome.auxiliary is not None
    zeros = (outcome.auxiliary == 0).any(dim=1)
    assert bool(zeros.any()) == (dropout > 0)  # drawn copy by copy


def test_such_heads_do_not_list_all_pairs() -> None:
    """2,000 nodes have four million (node, copy) pairs; a row of 9 numbers for each would take 144 megabytes."""
    graph = cubic(2_000)
    model = DropGNN(GIN(1, 4, 2), Exhaustive(0.1, k=1), head=deep_head(9), auxiliary=deep_head(9))

    def step() -> None:
        outcome = model(graph.x, graph.edge_index, batch=graph.batch, num_graphs=1, return_outcome=True)
        outcome.loss(torch.zeros(1, dtype=torch.long)).backward()

    step()
    assert peak_megabytes(step) < 50


@pytest.mark.parametrize("outer", [False, True])
def test_a_forward_of_a_heads_own_is_called(outer: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    head = Pooled(torch.nn.Linear(11, 2))
    if outer:
        monkeypatch.setattr(head, "forward", lambda x, batch, num_graphs: x.new_ones(num_graphs, 2))
    else:
        monkeypatch.setattr(head.head, "forward", lambda x: x.new_ones(x.size(0), 2))
    model = DropGNN(GIN(3, 4, 2), RUNS, head=head, engine="shared").double()
    assert torch.equal(model(*_inputs(), generator=generator()), torch.ones(4, 2, dtype=torch.float64))


@pytest.mark.parametrize("scope", ["graph", "neighborhood"])
def test_ties_of_a_maximum_are_shared_by_copies(scope: str) -> None:
    """Copies that do not list a node are one entry, and as many copies. GCN's degrees after dropping make copies equal up to
    rounding only."""
    torch.manual_seed(0)
    graph = awkward_batch()
    graph = replace(graph, x=torch.ones_like(graph.x))
    local = {"scope": scope, "hops": 1} if scope == "neighborhood" else {}
    for mode in ("zero-layers", "receive-only", "remove"):
        for sampler in (Bernoulli(0.5, r=6), Exhaustive(0.3, k=1, **local)):  # type: ignore[arg-type]
            for gnn in (pyg.GraphSAGE(3, 4, 1), pyg.GCN(3, 4, 2)):
                model = DropGNN(gnn, sampler, mode, "max").double()
                assert_engines_agree(model, graph, generator=generator(), inputs=False)
                assert_engines_agree(model, graph, generator=generator())


def test_ties_by_hand() -> None:
    """Node 0 hears 1 and 2; in the third copy 1 does not speak. All embeddings of 0 are 1: three copies share the gradient."""
    x = torch.ones(3, 1, dtype=torch.float64, requires_grad=True)
    conv = pyg.GraphConv(1, 1, aggr="mean", bias=False)
    torch.nn.init.ones_(conv.lin_rel.weight)
    torch.nn.init.zeros_(conv.lin_root.weight)
    encoder = pyg.GraphSAGE(1, 1, 1)
    encoder.convs[0] = conv
    model = DropGNN(encoder, RUNS, "receive-only", "max", engine="shared").double()
    edges = torch.tensor([[1, 2], [0, 0]])
    runs = Runs.of([[(), (), (1,)]], [3])
    model(x, edges, runs=runs)[0].sum().backward()
    torch.testing.assert_close(x.grad, torch.tensor([[0.0], [1 / 3], [2 / 3]], dtype=torch.float64))


class Bare(Encoder):
    """GINE without a map for its edge features."""

    def __init__(self, edge_dim: int) -> None:
        super().__init__()
        self.in_channels, self.out_channels, self.edge_dim = 3, 4, edge_dim
        self.conv = pyg.GINEConv(torch.nn.Linear(3, 4))

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:
        return self.conv(x, edge_index, edge_attr)


def test_edge_features_must_fit_the_rows_they_are_added_to() -> None:
    graph = awkward_batch(edge_dim=3)
    assert_engines_agree(DropGNN(Bare(3), RUNS).double(), graph, generator=generator(), inputs=False)
    for width in (1, 2, 5):
        model = DropGNN(Bare(width), RUNS, engine="shared").double()
        given = awkward_batch(edge_dim=width)
        with pytest.raises(ValueError, match="Node and edge feature dimensionalities do not match"):
            model(given.x, given.edge_index, given.edge_attr, given.batch, 4, generator=generator())


def test_a_dataset_that_was_written_to_is_planned_again() -> None:
    model = DropGNN(GIN(3, 4, 2), Exhaustive(0.2, k=1)).double()
    graph = awkward_batch()
    parts = Parts(model.plan(graph.x, graph.edge_index, None, graph.batch, 4))
    taken = parts.take([0])
    before = taken.graph
    graph.x[0] = 5.0
    with pytest.raises(Unsupported, match="written to since it was planned"):
        parts.take([0])
    # What was taken before is a plan for the batch as it was then, and still right.
    assert torch.equal(
        model.eval()(before.x, before.edge_index, None, before.batch, 1, plan=taken),
        model(before.x, before.edge_index, None, before.batch, 1, runs=taken.runs),
    )


@pytest.mark.parametrize("kept", [False, True])
def test_a_plan_made_in_inference_mode_can_train(kept: bool) -> None:
    torch.manual_seed(0)
    model = DropGNN(pyg.GCN(3, 4, 2), Exhaustive(0.2, k=1)).double()
    graph = awkward_batch()
    given = (graph.x, graph.edge_index, None, graph.batch, 4)
    with torch.inference_mode():
        plan = model.plan(*given)
        plan = Parts(plan).take(range(4)) if kept else plan
    model(*given, plan=plan).sum().backward()
    assert all(weight.grad is not None for weight in model.parameters())


@pytest.fixture
def watched_everywhere() -> Iterator[None]:
    handle = register_module_forward_hook(lambda module, given, out: None)
    yield
    handle.remove()


@pytest.mark.usefixtures("watched_everywhere")
def test_hooks_on_all_modules_are_seen() -> None:
    assert "hooks on all modules" in str(obstacle_to_rows(GIN(3, 4, 2), MODES["zero"]()))


def _inputs() -> tuple[Tensor, Tensor, None, Tensor, int]:
    graph = awkward_batch()
    return graph.x, graph.edge_index, None, graph.batch, 4
