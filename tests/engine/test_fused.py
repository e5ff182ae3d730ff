"""GIN layers as one function: the same numbers as module by module, and never in a module's way."""

from __future__ import annotations

import copy
import gc

import pytest
import torch
from torch_geometric.nn import GINEConv

from dropgnn import GIN, GINE, Bernoulli, DropGNN
from dropgnn.engine.rules.rule import RULES
from dropgnn.engine.shared import share
from dropgnn.graph import Graph
from dropgnn.nn import LayerReadout, WeightedBatchNorm
from dropgnn.nn.gin import IsomorphismStack
from dropgnn.ops.kernels.blocks import MULTIPLICATIONS
from tests.conftest import awkward_batch, generator


def outcome(model: DropGNN, graph: Graph) -> dict[str, torch.Tensor]:
    model = copy.deepcopy(model)
    x = graph.x.clone().requires_grad_()
    attr = None if graph.edge_attr is None else graph.edge_attr.clone().requires_grad_()
    out = model(x, graph.edge_index, attr, batch=graph.batch, generator=generator(3))
    (out * torch.linspace(-1, 1, out.numel(), dtype=out.dtype).view_as(out)).sum().backward()
    found = {"out": out.detach(), "x": x.grad}
    if attr is not None:
        found["edge_attr"] = attr.grad
    found |= {name: weight.grad for name, weight in model.named_parameters()}
    return found | {name: buffer.double() for name, buffer in model.named_buffers()}


def gin_model(*, hidden: int = 4, aggr: str = "sum", eps: float = 0.0) -> DropGNN:
    torch.manual_seed(1)
    gin = GIN(3, hidden, 3, aggr=aggr, eps=eps)
    return DropGNN(gin, Bernoulli(0.3, r=5), head=LayerReadout(gin.channels, 2), engine="shared").double()


def gine_model(*, hidden: int = 4, aggr: str = "sum", edge_dim: int = 2) -> DropGNN:
    torch.manual_seed(1)
    gine = GINE(3, hidden, 3, edge_dim=edge_dim, aggr=aggr)
    return DropGNN(gine, Bernoulli(0.3, r=5), head=LayerReadout(gine.channels, 2), engine="shared").double()


def assert_fused_is_module_by_module(model: DropGNN, graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    assert is_fused(model, graph)
    fused = outcome(model, graph)
    monkeypatch.delitem(RULES, type(model.encoder))
    for name, value in outcome(model, graph).items():
        torch.testing.assert_close(fused[name], value, rtol=1e-10, atol=1e-10, msg=name)


@pytest.mark.parametrize(("aggr", "eps"), [("sum", 0.0), ("sum", 0.3), ("mean", 0.0)])
def test_fused_is_module_by_module(aggr: str, eps: float, monkeypatch: pytest.MonkeyPatch) -> None:
    assert_fused_is_module_by_module(gin_model(aggr=aggr, eps=eps), awkward_batch(), monkeypatch)


@pytest.mark.parametrize("aggr", ["sum", "mean"])
@pytest.mark.parametrize("width", [2, 3])
def test_fused_with_features_on_edges(aggr: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = awkward_batch(edge_dim=width)
    assert_fused_is_module_by_module(gine_model(aggr=aggr, edge_dim=width), graph, monkeypatch)


@pytest.mark.parametrize("nodes", [15, 16, 17, 32, 33])
@pytest.mark.parametrize("edge_dim", [None, 2])
def test_fused_in_blocks(nodes: int, edge_dim: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of 16 rows, full and not: what they say about the norms is put together."""
    chance, hidden = generator(5), 128
    assert MULTIPLICATIONS // hidden**2 == 16
    edge_index = torch.randint(nodes, (2, 3 * nodes), generator=chance)
    attr = None if edge_dim is None else torch.randn(3 * nodes, edge_dim, generator=chance).double()
    graph = Graph.of(torch.randn(nodes, 3, generator=chance).double(), edge_index, attr)
    model = gin_model(hidden=hidden) if edge_dim is None else gine_model(hidden=hidden, edge_dim=edge_dim)
    model.sampler = Bernoulli(0.0, r=1)
    plan = model.plan(graph.x, graph.edge_index, graph.edge_attr, generator=generator())
    assert plan.states[1:] == [nodes] * 3
    assert_fused_is_module_by_module(model, graph, monkeypatch)


@pytest.mark.parametrize("in_channels", [1, 40])
def test_fused_maps_before_or_after_hearing(in_channels: int, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(1)
    gin = GIN(in_channels, 8, 2)
    model = DropGNN(gin, Bernoulli(0.3, r=5), head=LayerReadout(gin.channels, 2), engine="shared").double()
    assert_fused_is_module_by_module(model, awkward_batch(features=in_channels), monkeypatch)


def test_fused_in_single_precision() -> None:
    """Many rows far from zero in narrow layers: sums over them must not be long ones in single precision."""
    nodes, chance = 20_000, generator(1)
    x, edge_index = torch.randn(nodes, 3, generator=chance) + 5, torch.randint(nodes, (2, 2 * nodes), generator=chance)
    direction = torch.rand(nodes, 15, generator=chance)
    torch.manual_seed(1)
    gin = GIN(3, 4, 3)
    found = []
    for dtype in (torch.float32, torch.float64):
        model = DropGNN(copy.deepcopy(gin).to(dtype), Bernoulli(0.0, r=1), engine="shared", generator=generator())
        out = model(x.to(dtype), edge_index)
        (out * direction.to(dtype)).sum().backward()
        weights = {name: weight.grad for name, weight in model.named_parameters() if name.endswith("weight")}
        running = {name: buffer for name, buffer in model.named_buffers() if "running" in name}
        found.append({"out": out.detach()} | weights | running)
    for name, exact in found[1].items():
        error = float((found[0][name].double() - exact).abs().max() / exact.abs().max())
        assert error < 1e-5, f"{name} differs by {error}"


def is_fused(model: DropGNN, graph: Graph | None = None) -> bool:
    """Whether the stack's own function is in the history of what the encoder returns."""
    graph = awkward_batch() if graph is None else graph
    out, sharing = share(copy.deepcopy(model.encoder), model.mode, graph, model.draw(graph, generator=generator()))
    assert not sharing.ended
    waiting, names = [out.sums().grad_fn], set()
    while waiting:
        node = waiting.pop()
        if node is not None and node not in names:
            names.add(node)
            waiting += [below for below, _ in node.next_functions]
    return any(node.name() == "_StackBackward" for node in names)


def test_what_is_fused() -> None:
    assert is_fused(gin_model())
    assert not is_fused(gin_model(aggr="max"))
    assert not is_fused(gine_model(aggr="max"), awkward_batch(edge_dim=2))
    assert not is_fused(gin_model(hidden=130))  # products are most of the work, and torch may have threads for them
    assert not is_fused(gin_model().eval())  # running statistics instead of batch statistics
    learned = gin_model()
    assert isinstance(learned.encoder, GIN)
    learned.encoder.convs[0].eps = torch.nn.Parameter(torch.zeros(1).double())
    assert not is_fused(learned)
    frozen = gin_model()
    assert isinstance(frozen.encoder, GIN)
    frozen.encoder.norms[1].eval()
    assert not is_fused(frozen)


def live_tensors() -> int:
    return sum(issubclass(type(thing), torch.Tensor) for thing in gc.get_objects())


def test_nothing_keeps_itself_alive() -> None:
    """A function that held its own outputs would be freed only now and then, and memory would grow meanwhile."""
    model, graph = gin_model(), awkward_batch()
    runs = model.draw(graph, generator=generator())
    model(graph.x, graph.edge_index, batch=graph.batch, runs=runs)  # the runs keep what is worked out from them
    gc.collect()
    gc.disable()
    try:
        before = live_tensors()
        for _ in range(3):
            model(graph.x, graph.edge_index, batch=graph.batch, runs=runs)
        assert live_tensors() == before
    finally:
        gc.enable()


class BareFeatures(IsomorphismStack):
    """GINE layers that add features of edges to rows as they are, where they may."""

    def __init__(self, *edge_dims: int | None) -> None:
        convs = [GINEConv(mlp(width), edge_dim=edge_dim) for width, edge_dim in zip((3, 4), edge_dims, strict=True)]
        super().__init__(3, 4, convs)
        self.edge_dim = 4


def mlp(width: int) -> torch.nn.Sequential:
    return torch.nn.Sequential(torch.nn.Linear(width, 4), WeightedBatchNorm(4, relu=True), torch.nn.Linear(4, 4))


def test_features_on_edges_are_as_wide_as_the_rows_of_their_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four features fit the rows of the second layer, and not those of the first."""
    monkeypatch.setitem(RULES, BareFeatures, RULES[GINE]._replace(module=BareFeatures))
    model = DropGNN(BareFeatures(4, None), Bernoulli(0.3, r=5), engine="shared").double()
    graph = awkward_batch(edge_dim=4)
    assert_fused_is_module_by_module(model, graph, monkeypatch)
    wrong = DropGNN(BareFeatures(None, 4), Bernoulli(0.3, r=5), engine="shared").double()
    with pytest.raises(ValueError, match="Node and edge feature dimensionalities do not match"):
        outcome(wrong, graph)
