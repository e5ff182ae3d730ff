"""Every class of ``torch_geometric.nn.conv``: shared by a rule that is right, or run copy by copy for a reason that is stated."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch_geometric.nn as pyg
from torch import Tensor
from torch_geometric.nn import conv as namespace

from docs import make_layers
from dropgnn import Bernoulli, Exhaustive
from dropgnn.engine.batched import batched
from dropgnn.engine.intercept import install
from dropgnn.engine.rules.check import some_graphs
from dropgnn.engine.rules.pyg_layers import NOT_SHARED
from dropgnn.engine.rules.rule import RULES
from dropgnn.engine.shared import share
from dropgnn.runs.modes import MODES

WIDTH, EDGE = 8, 3
Layer = Callable[[], torch.nn.Module]


def mlp(below: int, above: int, *, norm: bool = False) -> torch.nn.Sequential:
    norms = [torch.nn.BatchNorm1d(above)] if norm else []
    return torch.nn.Sequential(torch.nn.Linear(below, above), *norms, torch.nn.ReLU(), torch.nn.Linear(above, above))


def degrees() -> Tensor:
    return torch.tensor([1, 4, 6, 3])


PLAIN: dict[str, Layer] = {
    "SimpleConv": lambda: pyg.SimpleConv(),
    "SimpleConv mean": lambda: pyg.SimpleConv(aggr="mean", combine_root="sum"),
    "SimpleConv self_loop": lambda: pyg.SimpleConv(combine_root="self_loop"),
    "GCNConv": lambda: pyg.GCNConv(WIDTH, WIDTH),
    "GCNConv improved": lambda: pyg.GCNConv(WIDTH, WIDTH, improved=True),
    "GCNConv without loops": lambda: pyg.GCNConv(WIDTH, WIDTH, add_self_loops=False),
    "GCNConv without norm": lambda: pyg.GCNConv(WIDTH, WIDTH, normalize=False),
    "GCNConv mean": lambda: pyg.GCNConv(WIDTH, WIDTH, aggr="mean"),
    "ChebConv of one": lambda: pyg.ChebConv(WIDTH, WIDTH, 1),
    "SAGEConv": lambda: pyg.SAGEConv(WIDTH, WIDTH),
    "SAGEConv max": lambda: pyg.SAGEConv(WIDTH, WIDTH, aggr="max", project=True),
    "SAGEConv several": lambda: pyg.SAGEConv(WIDTH, WIDTH, aggr=["mean", "max", "std"]),
    "SAGEConv normalised": lambda: pyg.SAGEConv(WIDTH, WIDTH, aggr="add", normalize=True, root_weight=False),
    "SAGEConv softmax": lambda: pyg.SAGEConv(WIDTH, WIDTH, aggr="softmax"),
    "SAGEConv scaled": lambda: pyg.SAGEConv(
        WIDTH, WIDTH, aggr=pyg.DegreeScalerAggregation("mean", "amplification", degrees())
    ),
    "GraphConv": lambda: pyg.GraphConv(WIDTH, WIDTH),
    "GraphConv mean": lambda: pyg.GraphConv(WIDTH, WIDTH, aggr="mean", bias=False),
    "GraphConv max": lambda: pyg.GraphConv(WIDTH, WIDTH, aggr="max"),
    "GatedGraphConv": lambda: pyg.GatedGraphConv(WIDTH, 1),
    "GatedGraphConv of two": lambda: pyg.GatedGraphConv(WIDTH, 2),
    "ResGatedGraphConv": lambda: pyg.ResGatedGraphConv(WIDTH, WIDTH),
    "GATConv": lambda: pyg.GATConv(WIDTH, WIDTH, heads=2, concat=False),
    "GATConv bare": lambda: pyg.GATConv(WIDTH, WIDTH // 2, heads=2, add_self_loops=False, residual=True),
    "GATv2Conv": lambda: pyg.GATv2Conv(WIDTH, WIDTH // 2, heads=2),
    "GATv2Conv shared": lambda: pyg.GATv2Conv(WIDTH, WIDTH, share_weights=True, residual=True),
    "TransformerConv": lambda: pyg.TransformerConv(WIDTH, WIDTH // 2, heads=2, beta=True),
    "AGNNConv": lambda: pyg.AGNNConv(),
    "TAGConv": lambda: pyg.TAGConv(WIDTH, WIDTH, K=2),
    "TAGConv without norm": lambda: pyg.TAGConv(WIDTH, WIDTH, K=2, normalize=False),
    "GINConv": lambda: pyg.GINConv(mlp(WIDTH, WIDTH)),
    "GINConv learned": lambda: pyg.GINConv(mlp(WIDTH, WIDTH), train_eps=True, aggr="max"),
    "GINConv with norm": lambda: pyg.GINConv(mlp(WIDTH, WIDTH, norm=True)),
    "ARMAConv": lambda: pyg.ARMAConv(WIDTH, WIDTH, num_stacks=2, num_layers=2),
    "SGConv": lambda: pyg.SGConv(WIDTH, WIDTH, K=2),
    "SSGConv": lambda: pyg.SSGConv(WIDTH, WIDTH, alpha=0.1, K=2),
    "APPNP": lambda: pyg.APPNP(K=2, alpha=0.1),
    "APPNP without norm": lambda: pyg.APPNP(K=2, alpha=0.1, normalize=False),
    "MFConv": lambda: pyg.MFConv(WIDTH, WIDTH, max_degree=4),
    "EdgeConv": lambda: pyg.EdgeConv(mlp(2 * WIDTH, WIDTH)),
    "EdgeConv with norm": lambda: pyg.EdgeConv(mlp(2 * WIDTH, WIDTH, norm=True), aggr="mean"),
    "FeaStConv": lambda: pyg.FeaStConv(WIDTH, WIDTH, heads=2),
    "LEConv": lambda: pyg.LEConv(WIDTH, WIDTH),
    "PNAConv": lambda: pyg.PNAConv(WIDTH, WIDTH, ["mean", "max", "std"], ["identity", "amplification"], deg=degrees()),
    "ClusterGCNConv": lambda: pyg.ClusterGCNConv(WIDTH, WIDTH, diag_lambda=0.5),
    "GENConv": lambda: pyg.GENConv(WIDTH, WIDTH, norm="layer"),
    "GENConv with norm": lambda: pyg.GENConv(WIDTH, WIDTH, norm="batch"),
    "FiLMConv": lambda: pyg.FiLMConv(WIDTH, WIDTH),
    "SuperGATConv": lambda: pyg.SuperGATConv(WIDTH, WIDTH, heads=2, concat=False),
    "EGConv": lambda: pyg.EGConv(WIDTH, WIDTH, aggregators=["symnorm", "max"], num_heads=2),
    "EGConv plain": lambda: pyg.EGConv(WIDTH, WIDTH, aggregators=["sum", "std"], num_heads=2, add_self_loops=False),
    "GeneralConv": lambda: pyg.GeneralConv(WIDTH, WIDTH, attention=True, heads=2),
    "LGConv": lambda: pyg.LGConv(),
    "WLConvContinuous": lambda: pyg.WLConvContinuous(),
    "AntiSymmetricConv": lambda: pyg.AntiSymmetricConv(WIDTH, num_iters=2),
    "AntiSymmetricConv of GraphConv": lambda: pyg.AntiSymmetricConv(WIDTH, pyg.GraphConv(WIDTH, WIDTH)),
    "MixHopConv": lambda: pyg.MixHopConv(WIDTH, WIDTH, powers=[0, 1, 2]),
}
"""Called as ``conv(x, edge_index)``."""

WITH_FEATURES: dict[str, Layer] = {
    "GINEConv": lambda: pyg.GINEConv(mlp(WIDTH, WIDTH), edge_dim=EDGE),
    "GINEConv max": lambda: pyg.GINEConv(mlp(WIDTH, WIDTH), edge_dim=EDGE, aggr="max", train_eps=True),
    "GATConv": lambda: pyg.GATConv(WIDTH, WIDTH, edge_dim=EDGE),
    "GATv2Conv": lambda: pyg.GATv2Conv(WIDTH, WIDTH, edge_dim=EDGE, fill_value="add"),
    "TransformerConv": lambda: pyg.TransformerConv(WIDTH, WIDTH, edge_dim=EDGE),
    "ResGatedGraphConv": lambda: pyg.ResGatedGraphConv(WIDTH, WIDTH, edge_dim=EDGE),
    "CGConv": lambda: pyg.CGConv(WIDTH, dim=EDGE, aggr="mean"),
    "CGConv with norm": lambda: pyg.CGConv(WIDTH, dim=EDGE, batch_norm=True),
    "GENConv": lambda: pyg.GENConv(WIDTH, WIDTH, edge_dim=EDGE),
    "GMMConv": lambda: pyg.GMMConv(WIDTH, WIDTH, dim=EDGE, kernel_size=2),
    "NNConv": lambda: pyg.NNConv(WIDTH, WIDTH, torch.nn.Linear(EDGE, WIDTH * WIDTH), aggr="max"),
    "PNAConv": lambda: pyg.PNAConv(WIDTH, WIDTH, ["mean", "min"], ["identity"], deg=degrees(), edge_dim=EDGE),
    "GeneralConv": lambda: pyg.GeneralConv(WIDTH, WIDTH, in_edge_channels=EDGE),
    "PDNConv": lambda: pyg.PDNConv(WIDTH, WIDTH, edge_dim=EDGE, hidden_channels=4),
}
"""Called as ``conv(x, edge_index, edge_attr)``."""


def weighted(conv: Any, x: Tensor, edges: Tensor, attr: Tensor) -> Tensor:
    return conv(x, edges, edge_weight=attr[:, 0].abs() + 0.5)


def typed(conv: Any, x: Tensor, edges: Tensor, attr: Tensor) -> Tensor:
    return conv(x, edges, attr.argmax(dim=1))


def first_rows(conv: Any, x: Tensor, edges: Tensor, attr: Tensor) -> Tensor:
    return conv(x, x * 0.5, edges)


def placed(conv: Any, x: Tensor, edges: Tensor, attr: Tensor) -> Tensor:
    return conv(x, x[:, :3], edges)


def directed(conv: Any, x: Tensor, edges: Tensor, attr: Tensor) -> Tensor:
    place = x.detach()  # angles between equal places have no gradient
    return conv(x, place[:, :3], place[:, 3:6], edges)


OTHERWISE: dict[str, tuple[Layer, Callable[..., Tensor]]] = {
    "GCNConv weighted": (lambda: pyg.GCNConv(WIDTH, WIDTH), weighted),
    "GraphConv weighted": (lambda: pyg.GraphConv(WIDTH, WIDTH), weighted),
    "SGConv weighted": (lambda: pyg.SGConv(WIDTH, WIDTH, K=1), weighted),
    "TAGConv weighted": (lambda: pyg.TAGConv(WIDTH, WIDTH, K=1), weighted),
    "LEConv weighted": (lambda: pyg.LEConv(WIDTH, WIDTH), weighted),
    "RGCNConv": (lambda: pyg.RGCNConv(WIDTH, WIDTH, EDGE, num_bases=2), typed),
    "FastRGCNConv": (lambda: pyg.FastRGCNConv(WIDTH, WIDTH, EDGE), typed),
    "RGATConv": (lambda: pyg.RGATConv(WIDTH, WIDTH, EDGE), typed),
    "GCN2Conv": (lambda: pyg.GCN2Conv(WIDTH, 0.2), first_rows),
    "FAConv": (lambda: pyg.FAConv(WIDTH), first_rows),
    "DNAConv": (lambda: pyg.DNAConv(WIDTH, heads=2), lambda conv, x, e, a: conv(torch.stack([x, x.relu()], 1), e)),
    "PointNetConv": (lambda: pyg.PointNetConv(mlp(WIDTH + 3, WIDTH)), placed),
    "PointTransformerConv": (lambda: pyg.PointTransformerConv(WIDTH, WIDTH), placed),
    "PointGNNConv": (lambda: pyg.PointGNNConv(mlp(WIDTH, 3), mlp(WIDTH + 3, WIDTH), mlp(WIDTH, WIDTH)), placed),
    "PPFConv": (lambda: pyg.PPFConv(mlp(WIDTH + 4, WIDTH)), directed),
    "HEATConv": (
        lambda: pyg.HEATConv(WIDTH, WIDTH, 2, EDGE, 4, EDGE, 4),
        lambda conv, x, e, a: conv(x, e, x[:, :2].argmax(dim=1), a.argmax(dim=1), a),
    ),
}  # fmt: skip

CALLS: dict[str, tuple[Layer, Callable[..., Tensor]]] = (
    {name: (make, lambda conv, x, edges, attr: conv(x, edges)) for name, make in PLAIN.items()}
    | {f"{name} with features": (make, lambda conv, x, e, a: conv(x, e, a)) for name, make in WITH_FEATURES.items()}
    | OTHERWISE
)

EXPAND: dict[str, tuple[Layer, Callable[..., Tensor]]] = {
    "ChebConv": (lambda: pyg.ChebConv(WIDTH, WIDTH, 2), lambda conv, x, e, a: conv(x, e)),
    "SAGEConv lstm": (lambda: pyg.SAGEConv(WIDTH, WIDTH, aggr="lstm"), lambda conv, x, e, a: conv(x, e.sort(dim=1)[0])),
    "DirGNNConv": (lambda: pyg.DirGNNConv(pyg.SAGEConv(WIDTH, WIDTH)), lambda conv, x, e, a: conv(x, e)),
    "GPSConv": (lambda: pyg.GPSConv(WIDTH, pyg.GINConv(mlp(WIDTH, WIDTH)), heads=2), lambda conv, x, e, a: conv(x, e)),
    "SignedConv": (lambda: pyg.SignedConv(WIDTH, WIDTH // 2, first_aggr=True), lambda conv, x, e, a: conv(x, e, e)),
    "HypergraphConv": (lambda: pyg.HypergraphConv(WIDTH, WIDTH), lambda conv, x, e, a: conv(x, e)),
    "against": (lambda: pyg.GraphConv(WIDTH, WIDTH, flow="target_to_source"), lambda conv, x, e, a: conv(x, e)),
    "two sets of rows": (lambda: pyg.SAGEConv((WIDTH, WIDTH), WIDTH), lambda conv, x, e, a: conv((x, x), e)),
    "sizes": (lambda: pyg.SAGEConv(WIDTH, WIDTH), lambda conv, x, e, a: conv(x, e, size=(x.size(0), x.size(0)))),
    "a tuple": (lambda: pyg.GATConv(WIDTH, WIDTH), lambda conv, x, e, a: conv(x, e, return_attention_weights=True)[0]),
    "weights of their own": (lambda: pyg.GraphConv(WIDTH, WIDTH), lambda conv, x, e, a: conv(x, e, torch.ones(e.size(1)).to(x))),
    "weights by row": (lambda: pyg.GraphConv(WIDTH, WIDTH), lambda conv, x, e, a: conv(x, e, x[e[0], 0])),
    "EGConv with loops": (lambda: pyg.EGConv(WIDTH, WIDTH, aggregators=["sum"], num_heads=2), lambda conv, x, e, a: conv(x, e)),
    "other edges": (lambda: pyg.GraphConv(WIDTH, WIDTH), lambda conv, x, e, a: conv(x, e.flip(0))),
}  # fmt: skip
"""What is run copy by copy, and right."""


class Twice(torch.nn.Module):
    """Two layers with a linear map in front."""

    def __init__(self, make: Layer, call: Callable[..., Tensor]) -> None:
        super().__init__()
        self.embed = torch.nn.Linear(3, WIDTH)
        self.layers = torch.nn.ModuleList([make(), make()])
        self.between = torch.nn.ModuleList([torch.nn.LazyLinear(WIDTH), torch.nn.LazyLinear(WIDTH)])
        self.call = call

    def forward(self, x: Tensor, edge_index: Tensor, edge_attr: Tensor) -> Tensor:
        x = self.embed(x)
        for layer, linear in zip(self.layers, self.between, strict=True):
            x = linear(self.call(layer, x, edge_index, edge_attr).flatten(1)).tanh()
        return x


SETTINGS = [
    (False, "zero", Bernoulli(0.3, 5), True),
    (True, "remove", Bernoulli(0.3, 5), True),
    (True, "zero", Exhaustive(0.2, k=1), False),
    (False, "remove", Exhaustive(0.2, k=1), False),
    (True, "receive-only", Bernoulli(0.3, 5), False),
]


def compare(make: Layer, call: Callable[..., Tensor], *, shared: bool) -> None:
    install()
    torch.manual_seed(0)
    encoder = Twice(make, call).double()
    for loops, mode, sampler, training in SETTINGS:
        graph = some_graphs(loops)
        runs = sampler(graph, items="nodes", generator=torch.Generator().manual_seed(2))
        encoder.eval()
        batched(encoder, MODES[mode](), graph, runs)  # lazy layers come to know their widths
        found = {}
        for name in ("batched", "share"):
            one = copy.deepcopy(encoder).train(training)
            if name == "batched":
                rows: Any = batched(one, MODES[mode](), graph, runs)
            else:
                rows, sharing = share(one, MODES[mode](), graph, runs)
                draws = training and any(isinstance(layer, pyg.SuperGATConv) for layer in one.layers)
                assert (not sharing.ended) == (shared and not draws), sharing.ended
            total = rows.sums()
            direction = torch.randn(total.shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
            (total * direction).sum().backward()
            gradients = {key: torch.zeros_like(p) if p.grad is None else p.grad for key, p in one.named_parameters()}
            found[name] = {"rows": total.detach()} | gradients | dict(one.named_buffers())
        for key, value in found["batched"].items():
            torch.testing.assert_close(
                found["share"][key], value, rtol=1e-8, atol=1e-8, msg=f"{key}: {mode}, {sampler}"
            )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_shared_by_rule(name: str) -> None:
    compare(*CALLS[name], shared=True)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", EXPAND)
def test_run_copy_by_copy(name: str) -> None:
    compare(*EXPAND[name], shared=False)


def test_the_page_of_layers_is_up_to_date() -> None:
    page = make_layers.OUT.read_text(encoding="utf-8")
    assert set(make_layers.table().splitlines()) <= set(page.splitlines()), "run python docs/make_layers.py"


def test_every_class_of_pyg_has_a_rule_or_a_reason() -> None:
    kinds = {name: getattr(namespace, name) for name in namespace.__all__}
    ruled = {name for name, kind in kinds.items() if kind in RULES}
    assert not ruled & NOT_SHARED.keys()
    assert set(kinds) - ruled - NOT_SHARED.keys() == set()
    tried = {name.split(" ")[0] for name in CALLS}
    assert ruled <= tried
