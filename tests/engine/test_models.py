"""Models as people write them, and random programs: on distinct rows as copy by copy, in training and in evaluation."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
import torch_geometric.nn as pyg
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from dropgnn import Bernoulli, DropGNN, Exhaustive, Graph, compiling
from dropgnn.nn import Pooled
from tests.conftest import awkward_batch, generator

WIDTH = 4


class Model(nn.Module):
    """Parts by name, and a forward that uses them."""

    def __init__(self, forward: Callable[..., Tensor], **parts: nn.Module) -> None:
        super().__init__()
        for name, part in parts.items():
            self.add_module(name, part)
        self.program = forward

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor | None = None) -> Tensor:
        return self.program(self, x, edge_index, batch)


def convs(kind: Any, number: int = 2) -> nn.ModuleList:
    return nn.ModuleList([kind(3, WIDTH), *[kind(WIDTH, WIDTH) for _ in range(number - 1)]])


def residual(m: Any, x: Tensor, e: Tensor, b: Tensor) -> Tensor:
    x = m.embed(x)
    for conv, norm in zip(m.convs, m.norms, strict=True):
        x = x + norm(conv(x, e)).relu()
    return x


def jumping(m: Any, x: Tensor, e: Tensor, b: Tensor) -> Tensor:
    xs = []
    for conv in m.convs:
        x = conv(x, e).relu()
        xs.append(x)
    return m.jk(xs)


def two_streams(m: Any, x: Tensor, e: Tensor, b: Tensor) -> Tensor:
    return torch.cat([m.one(x, e).relu(), m.other(x, e).tanh()], dim=-1) * m.gate(x).sigmoid()


def repeated(m: Any, x: Tensor, e: Tensor, b: Tensor) -> Tensor:
    x = m.embed(x)
    for _ in range(3):
        x = F.elu(m.conv(x, e)) + x
    return x


def gated(m: Any, x: Tensor, e: Tensor, b: Tensor) -> Tensor:
    h = m.embed(x)
    for _ in range(2):
        h = m.gru(m.conv(h, e), h)
    return h


def by_names(m: Any, x: Tensor, e: Tensor, b: Tensor) -> Tensor:
    return m.parts["second"](m.parts["first"](x, e).relu(), e)


def functional(m: Any, x: Tensor, e: Tensor, b: Tensor) -> Tensor:
    x = F.dropout(F.relu(m.one(x, e)), p=0.5, training=False)
    return F.normalize(F.layer_norm(m.other(x, e), (WIDTH,)), dim=-1)


def pooled_mean(m: Any, x: Tensor, e: Tensor, b: Tensor) -> Tensor:
    return m.lin(pyg.global_mean_pool(m.conv(x, e).relu(), b))


def pooled_max(m: Any, x: Tensor, e: Tensor, b: Tensor) -> Tensor:
    return m.lin(pyg.global_max_pool(m.conv(x, e).tanh(), b))


def pooled_by_modules(m: Any, x: Tensor, e: Tensor, b: Tensor) -> Tensor:
    return m.lin(m.pool(m.conv(x, e).tanh(), b))


def pooled_layers(m: Any, x: Tensor, e: Tensor, b: Tensor) -> Tensor:
    total = 0
    for conv, lin in zip(m.convs, m.lins, strict=True):
        x = conv(x, e).relu()
        total = total + lin(pyg.global_add_pool(x, b))
    assert isinstance(total, Tensor)
    return total


def virtual_node(m: Any, x: Tensor, e: Tensor, b: Tensor) -> Tensor:
    x = m.conv(x, e).relu()
    return x + m.lin(pyg.global_mean_pool(x, b))[b]


def shared_weights(m: Any, x: Tensor, e: Tensor, b: Tensor) -> Tensor:
    left, right = m.conv(x, e), m.conv(x * 2, e)
    return torch.where(left > right, left, right)


def edge_mlp(m: Any, x: Tensor, e: Tensor, b: Tensor) -> Tensor:
    sender, receiver = e
    message = m.message(torch.cat([x[sender], x[receiver]], dim=-1)).relu()
    return m.update(torch.cat([x, x.new_zeros(x.size(0), WIDTH).index_add(0, receiver, message)], dim=-1))


def attention(m: Any, x: Tensor, e: Tensor, b: Tensor) -> Tensor:
    x = m.conv(x, e)
    return m.norm(x + m.att(x, x, x, need_weights=False)[0])


def gin_mlp(norm: bool = False) -> nn.Module:
    return nn.Sequential(
        nn.Linear(3, WIDTH),
        nn.BatchNorm1d(WIDTH) if norm else nn.Identity(),
        nn.ReLU(inplace=True),
        nn.Linear(WIDTH, WIDTH),
    )


NODES: dict[str, Callable[[], nn.Module]] = {
    "residual GraphConv": lambda: Model(
        residual, embed=nn.Linear(3, WIDTH), convs=nn.ModuleList([pyg.GraphConv(WIDTH, WIDTH) for _ in range(3)]),
        norms=nn.ModuleList([nn.BatchNorm1d(WIDTH) for _ in range(3)]),
    ),
    "residual with PyG's norms": lambda: Model(
        residual, embed=nn.Linear(3, WIDTH), convs=nn.ModuleList([pyg.SAGEConv(WIDTH, WIDTH) for _ in range(2)]),
        norms=nn.ModuleList([pyg.BatchNorm(WIDTH), pyg.LayerNorm(WIDTH, mode="node")]),
    ),
    "jumping knowledge, cat": lambda: Model(jumping, convs=convs(pyg.GATv2Conv), jk=pyg.JumpingKnowledge("cat")),
    "jumping knowledge, max": lambda: Model(jumping, convs=convs(pyg.TransformerConv), jk=pyg.JumpingKnowledge("max")),
    "jumping knowledge, lstm": lambda: Model(jumping, convs=convs(pyg.GCNConv), jk=pyg.JumpingKnowledge("lstm", WIDTH, 2)),
    "two streams": lambda: Model(two_streams, one=pyg.GATConv(3, 2), other=pyg.ResGatedGraphConv(3, 2), gate=nn.Linear(3, WIDTH)),
    "a layer again and again": lambda: Model(repeated, embed=nn.Linear(3, WIDTH), conv=pyg.GENConv(WIDTH, WIDTH)),
    "gated": lambda: Model(gated, embed=nn.Linear(3, WIDTH), conv=pyg.GraphConv(WIDTH, WIDTH), gru=nn.GRUCell(WIDTH, WIDTH)),
    "a dictionary of modules": lambda: Model(
        by_names, parts=nn.ModuleDict({"first": pyg.GATConv(3, 2, heads=2), "second": pyg.GCNConv(WIDTH, WIDTH)})
    ),
    "functional": lambda: Model(functional, one=pyg.SAGEConv(3, WIDTH), other=pyg.GraphConv(WIDTH, WIDTH, aggr="mean")),
    "shared weights": lambda: Model(shared_weights, conv=pyg.GINConv(gin_mlp(norm=True))),
    "Sequential": lambda: pyg.Sequential(
        "x, edge_index",
        [(pyg.GCNConv(3, WIDTH), "x, edge_index -> x"), nn.ReLU(inplace=True), (pyg.GATConv(WIDTH, WIDTH), "x, edge_index -> x")],
    ),
    "PyG's GCN": lambda: pyg.GCN(3, WIDTH, 2, jk="cat", norm="batch_norm"),
    "PyG's GIN": lambda: pyg.GIN(3, WIDTH, 2, norm="batch_norm", act="elu"),
    "PyG's GAT": lambda: pyg.GAT(3, WIDTH, 2, heads=2, v2=True, norm="layer_norm"),
    "PyG's EdgeCNN": lambda: pyg.EdgeCNN(3, WIDTH, 2, jk="max"),
    "PyG's DeepGCN layers": lambda: Model(
        lambda m, x, e, b: m.deep(m.embed(x), e), embed=nn.Linear(3, WIDTH),
        deep=pyg.DeepGCNLayer(pyg.GENConv(WIDTH, WIDTH), nn.LayerNorm(WIDTH), nn.ReLU(inplace=True), block="res+", dropout=0.0),
    ),
    "PyG's MLP": lambda: Model(
        lambda m, x, e, b: m.mlp(m.conv(x, e)), conv=pyg.APPNP(2, 0.1), mlp=pyg.MLP([3, WIDTH, WIDTH], dropout=0.0)
    ),
    "virtual node": lambda: Model(virtual_node, conv=pyg.GraphConv(3, WIDTH), lin=nn.Linear(WIDTH, WIDTH)),
    "messages by hand": lambda: Model(edge_mlp, message=nn.Linear(6, WIDTH), update=nn.Linear(3 + WIDTH, WIDTH)),
    "attention over all nodes": lambda: Model(
        attention, conv=pyg.GraphConv(3, WIDTH), att=nn.MultiheadAttention(WIDTH, 2, batch_first=True), norm=nn.LayerNorm(WIDTH)
    ),
    "GraphNorm in the middle": lambda: Model(
        lambda m, x, e, b: m.last(m.norm(m.conv(x, e), b).tanh(), e), conv=pyg.GCNConv(3, WIDTH), norm=pyg.GraphNorm(WIDTH),
        last=pyg.SAGEConv(WIDTH, WIDTH),
    ),
}  # fmt: skip


def pooling(pool: nn.Module, width: int = WIDTH) -> nn.Module:
    return Model(pooled_by_modules, conv=pyg.SAGEConv(3, WIDTH), pool=pool, lin=nn.Linear(width, 2))


GRAPHS: dict[str, Callable[[], nn.Module]] = {
    "mean": lambda: Model(pooled_mean, conv=pyg.GraphConv(3, WIDTH), lin=nn.Linear(WIDTH, 2)),
    "max": lambda: Model(pooled_max, conv=pyg.GATv2Conv(3, WIDTH), lin=nn.Linear(WIDTH, 2)),
    "layer by layer": lambda: Model(
        pooled_layers, convs=convs(pyg.GCNConv), lins=nn.ModuleList([nn.Linear(WIDTH, 2) for _ in range(2)])
    ),
    "sum module": lambda: pooling(pyg.SumAggregation()),
    "several": lambda: pooling(pyg.MultiAggregation(["mean", "max"]), 2 * WIDTH),
    "Set2Set": lambda: pooling(pyg.Set2Set(WIDTH, 2), 2 * WIDTH),
    "attentional": lambda: pooling(pyg.AttentionalAggregation(nn.Linear(WIDTH, 1))),
    "sort": lambda: pooling(pyg.SortAggregation(2), 2 * WIDTH),
}  # fmt: skip

SETTINGS = [
    ("zero", Bernoulli(0.3, 4), True), ("remove", Exhaustive(0.2, k=1), True), ("edges", Bernoulli(0.3, 4), False),
]  # fmt: skip


def two_rings() -> Graph:
    """Graphs that keep a node whatever is dropped: a model that pools without sizes loses a last one without nodes."""
    one, other = torch.arange(6), torch.arange(6, 11)
    forth = torch.cat([torch.stack([one, one.roll(1)]), torch.stack([other, other.roll(1)])], dim=1)
    x = torch.randint(3, (11, 3), generator=torch.Generator().manual_seed(0)).double()
    return Graph.of(x, torch.cat([forth, forth.flip(0)], dim=1), batch=torch.tensor([0] * 6 + [1] * 5))


def seen(
    encoder: nn.Module, engine: str, mode: str, sampler: Any, training: bool, **arguments: Any
) -> dict[str, Tensor]:
    torch.manual_seed(5)
    model = DropGNN(copy.deepcopy(encoder), sampler, mode, engine=engine, **arguments).double().train(training)
    graph = two_rings() if arguments.get("pooled") else awkward_batch(alike=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = model(graph.x, graph.edge_index, graph.batch, generator=generator(3), return_outcome=True)
    direction = torch.randn(out.prediction.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    (out.prediction * direction).sum().backward()
    found = {"prediction": out.prediction.detach()}
    found |= {name: torch.zeros_like(p) if p.grad is None else p.grad for name, p in model.named_parameters()}
    return found | dict(model.named_buffers())


def assert_the_same(encoder: nn.Module, mode: str, sampler: Any, training: bool, **arguments: Any) -> None:
    expected = seen(encoder, "batched", mode, sampler, training, **arguments)
    found = seen(encoder, "auto", mode, sampler, training, **arguments)
    for name, value in expected.items():
        torch.testing.assert_close(
            found[name], value, rtol=1e-8, atol=1e-8, msg=f"{name}: {mode}, {sampler}, {training}"
        )


@pytest.mark.parametrize(("mode", "sampler", "training"), SETTINGS, ids=["zero", "remove", "edges"])
@pytest.mark.parametrize("name", NODES)
def test_models_of_nodes(name: str, mode: str, sampler: Any, training: bool) -> None:
    torch.manual_seed(0)
    assert_the_same(NODES[name](), mode, sampler, training, head=Pooled(nn.LazyLinear(2)) if mode == "edges" else None)


@pytest.mark.parametrize("name", NODES)
def test_models_without_compiled_loops(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "SMALL", 10**18)
    torch.manual_seed(0)
    assert_the_same(NODES[name](), *SETTINGS[1])


@pytest.mark.parametrize(("mode", "sampler", "training"), SETTINGS, ids=["zero", "remove", "edges"])
@pytest.mark.parametrize("name", GRAPHS)
def test_models_that_pool(name: str, mode: str, sampler: Any, training: bool) -> None:
    torch.manual_seed(0)
    assert_the_same(GRAPHS[name](), mode, sampler, training, pooled=True)


STEPS: dict[str, Callable[[Any, Tensor, Tensor, Tensor], Tensor]] = {
    "linear": lambda m, x, y, e: m.lin(x),
    "conv": lambda m, x, y, e: m.conv(x, e).tanh(),
    "attention": lambda m, x, y, e: m.gat(x, e),
    "add": lambda m, x, y, e: x + y,
    "product": lambda m, x, y, e: x * y.sigmoid(),
    "add in place": lambda m, x, y, e: (x * 1).add_(y),
    "relu in place": lambda m, x, y, e: F.relu((x + 0.1) * 1, inplace=True),
    "halves": lambda m, x, y, e: torch.cat([x[:, :2], y[:, 2:]], dim=1),
    "heads": lambda m, x, y, e: (x.view(-1, 2, 2) * y.view(-1, 2, 2).sum(-1, keepdim=True)).flatten(1),
    "norm": lambda m, x, y, e: m.norm(x),
    "softmax": lambda m, x, y, e: x.softmax(dim=-1) + y,
    "sort": lambda m, x, y, e: (x + m.kinks).sort(dim=1)[0],
    "gru": lambda m, x, y, e: m.gru(x, y),
    "matrix": lambda m, x, y, e: x @ m.lin.weight,
    "detach": lambda m, x, y, e: x.detach() * 0.5 + y,
    "mean of all": lambda m, x, y, e: x + y.mean(),
    "shifted": lambda m, x, y, e: x + torch.arange(x.size(0)).unsqueeze(1) * 0.01,
    "scatter": lambda m, x, y, e: x.index_add(0, e[1], y[e[0]]),
}


@settings(max_examples=25, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(sorted(STEPS)), min_size=2, max_size=6), st.sampled_from(SETTINGS))
def test_random_programs(steps: list[str], setting: tuple[str, Any, bool]) -> None:
    def run(m: Any, x: Tensor, e: Tensor, b: Tensor) -> Tensor:
        x, before = m.embed(x), m.embed(x).tanh()
        for step in steps:
            x, before = STEPS[step](m, x, before, e), x
        return x

    torch.manual_seed(0)
    parts = {
        "embed": nn.Linear(3, WIDTH), "lin": nn.Linear(WIDTH, WIDTH), "conv": pyg.GraphConv(WIDTH, WIDTH),
        "gat": pyg.GATv2Conv(WIDTH, WIDTH), "norm": nn.BatchNorm1d(WIDTH), "gru": nn.GRUCell(WIDTH, WIDTH),
    }  # fmt: skip
    model = Model(run, **parts)
    model.register_buffer("kinks", torch.tensor([0.0, 0.3, 0.7, 1.3]))
    assert_the_same(model, *setting)
