"""All engines mean the same, for every encoder, mode and sampler, in training and in evaluation."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch_geometric.nn as pyg
from torch import Tensor

from dropgnn import GIN, GINE, Bernoulli, DropGNN, Exhaustive, Stratified
from dropgnn.graph import Graph
from dropgnn.nn import MPNN, Encoder, LayerReadout, OneGNN, Pooled
from dropgnn.runs.modes import MODES, Mode, Perturbed, ZeroInputs
from dropgnn.testing import assert_engines_agree
from tests.conftest import awkward_batch, generator, random_batch

PNA = {
    "aggregators": ["mean", "max", "std"],
    "scalers": ["identity", "amplification"],
    "deg": torch.tensor([1, 3, 3, 2]),
}


class OwnGNN(torch.nn.Module):
    """A module of the user's: we cannot look into it."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = pyg.SAGEConv(3, 5)
        self.norm = torch.nn.LayerNorm(5)
        self.out = pyg.GCNConv(5, 4)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return self.out(self.norm(self.conv(x, edge_index)).relu(), edge_index)


class GraphConvs(Encoder):
    """Two layers that PyG has no BasicGNN for."""

    def __init__(self, aggr: str = "add") -> None:
        super().__init__()
        self.in_channels, self.out_channels = 3, 4
        self.convs = torch.nn.ModuleList([pyg.GraphConv(3, 4, aggr), pyg.GraphConv(4, 4, aggr)])

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        for conv in self.convs:
            x = conv(x, edge_index).tanh()
        return x


ENCODERS: dict[str, Callable[[], torch.nn.Module]] = {
    "gin-sum": lambda: GIN(3, 4, 3),
    "gin-mean": lambda: GIN(3, 4, 2, aggr="mean", eps=0.3),
    "gin-max": lambda: GIN(3, 4, 2, aggr="max"),
    "gine": lambda: GINE(3, 4, 2, edge_dim=2),
    "pyg-gin": lambda: pyg.GIN(3, 4, 2, norm="batch_norm", jk="cat"),
    "pyg-gcn": lambda: pyg.GCN(3, 4, 2, norm="batch_norm"),
    "pyg-sage": lambda: pyg.GraphSAGE(3, 4, 3, out_channels=2, norm="batch_norm", act_first=True),
    "pyg-gat": lambda: pyg.GAT(3, 4, 2, heads=2, edge_dim=2, jk="max"),
    "pyg-pna": lambda: pyg.PNA(3, 4, 2, norm="graph_norm", **PNA),
    "graph-conv": GraphConvs,
    "one-gnn": lambda: OneGNN(3, (4, 3), edge_dim=2, edge_hidden=5),
    "mpnn": lambda: MPNN(3, 4, 2, edge_dim=2, edge_hidden=5),
    "own": OwnGNN,
}
SAMPLERS = {
    "bernoulli": Bernoulli(p=0.3, r=4),
    "stratified": Stratified(p=0.4, r=4),
    "exhaustive-1": Exhaustive(p=0.2, k=1),
    "exhaustive-2": Exhaustive(p=0.2, k=2),
    "exhaustive-local": Exhaustive(p=0.2, k=2, scope="neighborhood", hops=1),
}


def build(encoder: str, mode: str | Mode, sampler: str, **arguments: Any) -> tuple[DropGNN, Graph]:
    torch.manual_seed(0)
    made = ENCODERS[encoder]()
    # PNA takes a maximum over messages; where two nodes look alike, rounding decides whose gradient it is.
    graph = awkward_batch(edge_dim=edge_dim_of(encoder), alike=encoder != "pyg-pna")
    for norm in made.modules():
        if isinstance(
            norm, pyg.GraphNorm
        ):  # of a node alone it makes zeros, and rounding decides what a ReLU makes of them
            torch.nn.init.constant_(norm.bias, 0.1)
    return DropGNN(made, SAMPLERS[sampler], mode, **arguments).double(), graph


def edge_dim_of(encoder: str) -> int | None:
    return 2 if encoder in ("gine", "pyg-gat", "one-gnn", "mpnn") else None


COMBINATIONS = [(encoder, mode) for encoder in ENCODERS for mode in MODES]
SHARED = [(encoder, mode) for encoder, mode in COMBINATIONS if encoder not in ("pyg-pna", "own")]
"""What the engine ``shared`` does not refuse."""

SHARING = ("reference", "shared")
"""What is compared without gradients of inputs: only ``shared`` then merges nodes that look alike."""


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize(("encoder", "mode"), COMBINATIONS)
def test_every_combination(encoder: str, mode: str, sampler: str, training: bool) -> None:
    model, graph = build(encoder, mode, sampler)
    model.train(training)
    assert_engines_agree(model, graph, generator=generator(1))
    if not training and (encoder, mode) in SHARED:  # several steps of training are compared below
        assert_engines_agree(model, graph, generator=generator(2), inputs=False, engines=SHARING)


@pytest.mark.parametrize("mode", MODES)
def test_as_many_runs_as_nodes(mode: str) -> None:
    torch.manual_seed(0)
    model = DropGNN(
        GIN(3, 4, 2), Bernoulli(p=0.3, r=lambda graph: graph.nodes_per_graph.clamp(min=1) + 1), mode
    ).double()
    assert_engines_agree(model, awkward_batch(), generator=generator(1))
    assert_engines_agree(model, awkward_batch(), generator=generator(1), inputs=False, engines=SHARING)


@pytest.mark.parametrize("aggregator", ["mean", "sum", "max", "transform-sum"])
@pytest.mark.parametrize("mode", ["zero", "remove"])
@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("level", ["node", "graph"])
def test_with_heads_and_auxiliary_head(aggregator: str, mode: str, sampler: str, level: str) -> None:
    torch.manual_seed(0)
    encoder = GIN(3, 4, 2)
    heads = [LayerReadout(encoder.channels, 2) for _ in range(2)]
    head, auxiliary = heads if level == "node" else [Pooled(head, pool="mean") for head in heads]
    model = DropGNN(encoder, SAMPLERS[sampler], mode, aggregator, head, auxiliary=auxiliary).double()
    assert_engines_agree(model, awkward_batch(), generator=generator(2))
    assert_engines_agree(model, awkward_batch(), generator=generator(2), inputs=False, engines=SHARING)


@pytest.mark.parametrize("level", ["node", "graph"])
@pytest.mark.parametrize(("encoder", "mode"), SHARED)
def test_every_encoder_below_heads(encoder: str, mode: str, level: str) -> None:
    model, graph = build(encoder, mode, "bernoulli")
    width = model(graph.x, graph.edge_index, graph.edge_attr, graph.batch, generator=generator()).size(1)
    heads = [torch.nn.Linear(width, 2).double() for _ in range(2)]
    head, auxiliary = heads if level == "node" else [Pooled(head) for head in heads]
    model = DropGNN(model.encoder, SAMPLERS["bernoulli"], mode, head=head, auxiliary=auxiliary)
    assert_engines_agree(model, graph, generator=generator(3), inputs=False)


OPTIONS: dict[str, Callable[[], torch.nn.Module]] = {
    "learned eps": lambda: pyg.GIN(3, 4, 2, train_eps=True),
    "gine, max": lambda: GINE(3, 4, 2, edge_dim=2, aggr="max"),
    "gcn, not normalised": lambda: pyg.GCN(3, 4, 2, normalize=False),
    "gat, no loops": lambda: pyg.GAT(3, 4, 2, add_self_loops=False),
    "gat, mean of heads": lambda: pyg.GAT(3, 4, 2, heads=2, concat=False, v2=False),
    "sage, max": lambda: pyg.GraphSAGE(3, 4, 2, aggr="max", project=True),
    "sage, normalised rows": lambda: pyg.GraphSAGE(3, 4, 2, normalize=True, root_weight=False),
    "jumping knowledge by LSTM": lambda: pyg.GCN(3, 4, 2, jk="lstm"),
    "graph-conv, max": lambda: GraphConvs(aggr="max"),
    "graph-conv, mean": lambda: GraphConvs(aggr="mean"),
}


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("options", OPTIONS)
def test_options_of_layers(options: str, mode: str, training: bool) -> None:
    torch.manual_seed(0)
    model = DropGNN(OPTIONS[options](), SAMPLERS["bernoulli"], mode, engine="shared").double().train(training)
    # Maxima: where two nodes look alike, rounding decides whose gradient it is.
    graph = awkward_batch(edge_dim=2 if options.startswith("gine") else None, alike="max" not in options)
    assert_engines_agree(model, graph, generator=generator(4), inputs=False, engines=SHARING)


class _ForgetsOneDrop(ZeroInputs):
    """A mode that is wrong, but only where the graph is large: `reference` and `batched` must notice each other."""

    def __call__(self, graph: Graph, dropped: Tensor) -> Perturbed:
        dropped = dropped.clone()
        dropped[20:] = False
        return super().__call__(graph, dropped)


def test_the_comparison_can_fail() -> None:
    model, graph = build("gin-sum", _ForgetsOneDrop(), "bernoulli")
    with pytest.raises(AssertionError, match=r"differs"):
        assert_engines_agree(model.eval(), graph, generator=generator(1))


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize(("encoder", "mode"), SHARED)
def test_several_steps_on_random_graphs(encoder: str, mode: str, sampler: str) -> None:
    """Outputs and gradients of several steps of training, weights and running statistics after them, and predictions."""
    seed = zlib.crc32(f"{encoder} {mode} {sampler}".encode())
    models = [build(encoder, mode, sampler, engine=engine)[0] for engine in ("reference", "shared")]
    found: list[list[Tensor]] = []
    for model in models:
        # Not Adam: a bias in front of a batch norm has gradient zero, and Adam would scale its rounding up to a step.
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
        chance, seen = generator(seed), []
        for step in range(3):
            graph = random_batch(seed + step, edge_dim=edge_dim_of(encoder))
            optimizer.zero_grad()
            out = model(graph.x, graph.edge_index, graph.edge_attr, graph.batch, 2, generator=chance)
            out.square().mean().backward()
            seen += [out, *(weight.grad.clone() for weight in model.parameters() if weight.grad is not None)]
            optimizer.step()
        model.eval()
        found.append([*seen, model(graph.x, graph.edge_index, graph.edge_attr, graph.batch, 2, generator=chance)])
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(b, a, rtol=1e-8, atol=1e-8)
    for (name, a), b in zip(models[0].state_dict().items(), models[1].state_dict().values(), strict=True):
        torch.testing.assert_close(b, a, rtol=1e-8, atol=1e-8, msg=name)
        if name.endswith("num_batches_tracked"):
            assert int(a) == 3
