"""GIN layers as one function: the same numbers as module by module, and never in a module's way."""

from __future__ import annotations

import copy
import gc

import pytest
import torch

from dropgnn import GIN, GINE, Bernoulli, DropGNN
from dropgnn.engine import shared as shared_engine
from dropgnn.engine.compiled.stack import MULTIPLICATIONS
from dropgnn.engine.fused import run_fused
from dropgnn.engine.layers import as_layered
from dropgnn.graph import Graph
from dropgnn.nn import LayerReadout
from tests.conftest import awkward_batch, generator

shared_module = __import__("sys").modules[shared_engine.__module__]


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
    monkeypatch.setattr(shared_module, "run_fused", lambda layers, x, plan, graph: None)
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


@pytest.mark.parametrize("edge_dim", [None, 2])
def test_fused_in_blocks(edge_dim: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """More rows than a block has, and not a multiple: what blocks say about the norms is put together."""
    chance, nodes = generator(5), 60
    edge_index = torch.randint(nodes, (2, 150), generator=chance)
    attr = None if edge_dim is None else torch.randn(150, edge_dim, generator=chance).double()
    graph = Graph.of(torch.randn(nodes, 3, generator=chance).double(), edge_index, attr)
    model = gin_model(hidden=96) if edge_dim is None else gine_model(hidden=96, edge_dim=edge_dim)
    plan = model.plan(graph.x, graph.edge_index, graph.edge_attr, generator=generator(3))
    block = MULTIPLICATIONS // 96**2
    assert all(states > 2 * block and states % block for states in plan.states[1:])
    assert_fused_is_module_by_module(model, graph, monkeypatch)


def is_fused(model: DropGNN, graph: Graph | None = None) -> bool:
    graph = awkward_batch() if graph is None else graph
    layered = as_layered(model.encoder)
    assert layered is not None
    plan = model.plan(graph.x, graph.edge_index, graph.edge_attr, batch=graph.batch, generator=generator())
    return run_fused(layered.layers(), graph.x[plan.source.clamp(min=0)], plan, plan.graph) is not None


def test_what_is_fused() -> None:
    assert is_fused(gin_model())
    assert not is_fused(gin_model(aggr="max"))
    assert not is_fused(gine_model(aggr="max"), awkward_batch(edge_dim=2))
    assert not is_fused(
        gin_model(hidden=130)
    )  # where products are most of the work, torch may have several threads for them
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
    gc.collect()
    gc.disable()
    try:
        before = live_tensors()
        for _ in range(3):
            model(graph.x, graph.edge_index, batch=graph.batch, runs=runs)
        assert live_tensors() == before
    finally:
        gc.enable()
