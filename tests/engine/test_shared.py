"""What is shared is exactly what is equal: plans against 1-WL, collisions caught, large graphs, refusals."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
import pytest
import torch
import torch_geometric.nn as pyg
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from dropgnn import GIN, Bernoulli, DropGNN, Exhaustive, Graph, Stratified, Unsupported
from dropgnn.data.regular import draw_cubic
from dropgnn.data.synthetic import task
from dropgnn.engine import ENGINES
from dropgnn.engine.planning import SharedPlan, make_plan
from dropgnn.errors import NotShared
from dropgnn.nn import LayerReadout, Pooled
from dropgnn.ops import numba_ops
from dropgnn.ops.kernels import planning
from dropgnn.ops.kernels.tensors import on_tensors
from dropgnn.runs.modes import MODES
from dropgnn.runs.samplers import Sampler
from dropgnn.testing import assert_engines_agree, peak_megabytes
from dropgnn.theory.wl import Palette, refine
from dropgnn.training.ahead import ahead
from dropgnn.training.loop import inputs
from tests.conftest import awkward_batch, generator


def random_graph(seed: int, nodes: int = 7) -> Graph:
    """Directed edges, repeated ones and self-loops, three kinds of nodes."""
    rng = np.random.default_rng(seed)
    edges = torch.from_numpy(rng.integers(0, nodes, (2, int(rng.integers(0, 14)))))
    x = torch.eye(3, dtype=torch.float64)[torch.from_numpy(rng.integers(0, 3, nodes))]
    return Graph.of(x, edges)


def states_of_pairs(plan: SharedPlan, level: int, nodes: int) -> dict[tuple[int, int], int]:
    """The state of every node in every copy, -1 where it is absent."""
    pairs = plan.levels[level].pairs
    found = {(node, c): int(pairs.base[node]) for c in range(plan.runs.num_copies) for node in range(nodes)}
    for c in range(plan.runs.num_copies):
        for position in range(pairs.ptr[c], pairs.ptr[c + 1]):
            found[int(pairs.node[position]), c] = int(pairs.label[position])
    return found


@given(st.integers(0, 10_000), st.sampled_from(list(MODES)), st.integers(1, 3))
@settings(max_examples=80, deadline=None)
def test_states_are_the_colours_of_1_wl(seed: int, mode: str, layers: int) -> None:
    """Two pairs share a state if and only if exact colour refinement, copy by copy, cannot tell them apart."""
    graph, perturb = random_graph(seed), MODES[mode]()
    runs = Bernoulli(0.3, r=4)(graph, items=perturb.items, generator=generator(seed))
    states = states_of_pairs(make_plan(graph, runs, perturb, layers), layers, graph.num_nodes)
    colours: dict[tuple[int, int], int] = {}
    palette, mask = Palette(), runs.mask().reshape(4, -1)
    for c in range(4):
        left, rows, _ = perturb(graph, mask[c])  # (rows that are zero when they are read are told apart all the same)
        heard: list[list[int]] = [[] for _ in range(left.num_nodes)]
        for sender, receiver in left.edge_index.t().tolist():
            heard[receiver].append(sender)
        labels: list[Any] = [tuple(row) for row in left.x.tolist()]
        for _ in range(layers):
            labels = list(refine(heard, labels, 1, palette))
        colours |= {(node, c): colour for node, colour in zip(rows.tolist(), labels, strict=True)}
    assert set(colours) == {pair for pair, state in states.items() if state >= 0}
    together = {(colours[pair], states[pair]) for pair in colours}
    finer = len({state for _, state in together})
    assert len(together) == finer  # a state never spans two colours: sharing is exact
    if not bool(
        (graph.edge_index[0] == graph.edge_index[1]).any()
    ):  # a plan tells a loop from a neighbour that looks alike
        assert finer == len({colour for colour, _ in together})  # and nothing equal is computed twice


def test_the_plan_of_skip_circles() -> None:
    """The figures of our design: nine layers over all 1-dropouts of ten circles."""
    batch = task("skip_circles", 0).batch()
    graph = Graph.of(batch.x, batch.edge_index, None, batch.batch, batch.num_graphs)
    plan = make_plan(graph, Exhaustive(2 / 42, k=1)(graph), MODES["zero"](), layers=9)
    assert plan.states == [2, 3, 8, 21, 51, 110, 171, 192, 197, 199]
    assert str(plan) == (
        "17,220 rows per layer; distinct, layer by layer: 2, 3, 8, 21, 51, 110, 171, 192, 197, 199 (180.5 times fewer)"
    )


@pytest.mark.parametrize("mode", MODES)
def test_planning_is_pure(mode: str) -> None:
    graph, perturb = awkward_batch(), MODES[mode]()
    runs = Bernoulli(0.3, r=5)(graph, items=perturb.items, generator=generator())
    given = [graph.x, graph.edge_index, graph.batch, runs.dropped, runs.graph, runs.weight]
    before = copy.deepcopy(given)
    first, again = (make_plan(graph, runs, perturb, 3, degrees=True) for _ in range(2))
    assert torch.equal(first.source, again.source)
    for a, b in zip(first.levels, again.levels, strict=True):
        for name in ("own", "degree", "edge_ptr", "sender", "edge", "weight", "count"):
            assert torch.equal(getattr(a, name), getattr(b, name))
        for name in ("base", "ptr", "node", "label", "share", "rest"):
            assert torch.equal(getattr(a.pairs, name), getattr(b.pairs, name))
    assert all(map(torch.equal, given, before))


def test_weights_add_up_to_the_rows() -> None:
    graph = awkward_batch()
    for mode in ("zero", "remove"):
        runs = Exhaustive(0.2, k=2)(graph)
        plan = make_plan(graph, runs, MODES[mode](), 2)
        present = plan.rows - (runs.dropped.size(1) if mode == "remove" else 0)
        for level in plan.levels:
            assert int(level.count.sum()) == present
            assert mode == "remove" or level.weight.sum() == pytest.approx(graph.num_nodes)


def test_a_colliding_hash_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """With words of two bits different states are taken for one: the comparison of engines must notice."""
    combine = planning.combine

    def hash_to(bits: int) -> None:
        mask = np.uint64(2**bits - 1)
        monkeypatch.setattr(planning, "combine", lambda one, other: np.uint64(combine(one, other)) & mask)

    monkeypatch.setattr(planning, "_name_states", planning._name_states.py_func)
    monkeypatch.setattr(numba_ops, "refine", on_tensors(planning.refine.__wrapped__.py_func))  # type: ignore[attr-defined]
    model = DropGNN(GIN(3, 4, 2), Bernoulli(0.3, r=5)).double()
    with np.errstate(over="ignore"):  # words wrap around
        hash_to(64)
        assert_engines_agree(model, awkward_batch(), generator=generator(), inputs=False)
        hash_to(2)
        with pytest.raises(AssertionError, match="auto against reference differs"):
            assert_engines_agree(model, awkward_batch(), generator=generator(), inputs=False)


def cubic(nodes: int, seed: int = 0) -> Graph:
    rng = np.random.default_rng(seed)
    drawn = draw_cubic(nodes, 1, rng)
    while not len(drawn):
        drawn = draw_cubic(nodes, 1, rng)
    edges = torch.stack([torch.from_numpy(drawn[0].reshape(-1)), torch.arange(nodes).repeat_interleave(3)])
    return Graph.of(torch.ones(nodes, 1), edges)


@pytest.mark.parametrize("scope", ["graph", "neighborhood"])
def test_all_one_dropouts_of_a_large_graph_cost_their_neighbourhoods(scope: str) -> None:
    """20,000 nodes have 400 million (node, copy) pairs; only those within two hops of the drop may be listed."""
    graph = cubic(20_000)
    local: dict[str, Any] = {"scope": scope, "hops": 2} if scope == "neighborhood" else {}
    model = DropGNN(GIN(1, 4, 2), Exhaustive(0.1, k=1, **local))
    plan = model.plan(graph.x, graph.edge_index)
    assert plan.levels[-1].pairs.node.numel() <= 20_000 * 10
    peak = peak_megabytes(lambda: model(graph.x, graph.edge_index).sum().backward())
    assert peak < 200  # half of what a mask of all pairs would take, a byte each


@pytest.mark.parametrize("scope", ["graph", "neighborhood"])
def test_the_same_on_a_small_graph_is_the_reference(scope: str) -> None:
    local: dict[str, Any] = {"scope": scope, "hops": 2} if scope == "neighborhood" else {}
    graph = cubic(24)
    graph = Graph.of(graph.x.double(), graph.edge_index)
    model = DropGNN(GIN(1, 4, 2), Exhaustive(0.1, k=1, **local)).double()
    # Nearly all rows are equal, so batch norm divides by a small deviation and multiplies rounding by its inverse.
    assert_engines_agree(model, graph, generator=generator(), inputs=False, tolerance=1e-8)


class TotalInside(torch.nn.Module):
    """Rows that know the sum of all rows."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = pyg.SAGEConv(3, 4)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        x = self.conv(x, edge_index).relu()
        return x / x.sum()


def test_what_cannot_be_shared_falls_back_and_says_so_once() -> None:
    model = DropGNN(TotalInside(), Bernoulli(0.1, r=3), generator=generator())
    x, edges = torch.ones(3, 3), torch.tensor([[0, 1], [1, 2]])
    with pytest.warns(
        NotShared, match=r"only as far as sum \(TotalInside, test_shared.py:\d+\); from there it is run in full"
    ):
        model(x, edges)
    with warnings.catch_warnings():
        warnings.simplefilter("error", NotShared)
        model(x, edges)


@pytest.mark.parametrize(
    ("encoder", "reason"),
    [
        (TotalInside, r"sum \(TotalInside, test_shared.py:"),
        (lambda: pyg.GCN(3, 4, 2, dropout=0.5), "dropout while training"),
        (lambda: pyg.GAT(3, 4, 2, dropout=0.5), "GATConv: GATConv drops at random while training"),
        (lambda: pyg.GCN(3, 4, 2, norm="graph_norm"), r"GraphNorm, graph_norm.py:\d+; called in test_shared.py"),
        (lambda: pyg.GCN(3, 4, 2, norm="layer_norm"), r"LayerNorm, layer_norm.py"),
        (
            lambda: pyg.GraphSAGE(3, 4, 2, aggr="lstm"),
            "SAGEConv: LSTMAggregation is not known to look only at what arrives",
        ),
    ],
)
def test_sharing_by_name_refuses_with_the_reason(encoder: Any, reason: str) -> None:
    model = DropGNN(encoder(), Bernoulli(0.1, r=3), engine="shared", generator=generator())
    with pytest.raises(
        Unsupported, match=rf"engine 'shared' would not be exact: .*{reason}.*; use engine='auto' or 'batched'"
    ):
        model(torch.ones(3, 3), torch.tensor([[0, 1], [1, 2]]))


def test_feature_dropout_is_shared_in_evaluation() -> None:
    model = DropGNN(pyg.GCN(3, 4, 2, dropout=0.5), Bernoulli(0.3, r=3)).double().eval()
    assert_engines_agree(model, awkward_batch(), generator=generator(), engines=("reference", "shared"))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("sampler", [Bernoulli(0.3, r=3), Stratified(0.3, r=3)], ids=repr)
def test_sharing_does_not_change_the_draw(sampler: Sampler, mode: str) -> None:
    graph, drawn = awkward_batch(), []
    for engine in ENGINES:
        model = DropGNN(GIN(3, 4, 2), sampler, mode, engine=engine).double()
        given = (graph.x, graph.edge_index, None, graph.batch)
        drawn.append(model(*given, generator=generator(7), return_outcome=True).runs.as_sets())
    assert drawn[0] == drawn[1] == drawn[2]


def test_chunks_of_shared_runs() -> None:
    graph = awkward_batch()
    for sampler in (Exhaustive(0.2, k=2), Exhaustive(0.2, k=2, scope="neighborhood", hops=1)):
        model = DropGNN(GIN(3, 4, 2), sampler, engine="shared").double().eval()
        whole = model(graph.x, graph.edge_index, batch=graph.batch)
        model.chunk = 3
        torch.testing.assert_close(model(graph.x, graph.edge_index, batch=graph.batch), whole, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("engine", ["auto", "batched"])
def test_planning_ahead_changes_nothing(engine: str) -> None:
    batches = [task("four_cycles", seed).batch() for seed in range(3)]
    for batch in batches:
        batch.edge_attr = None
    torch.manual_seed(0)
    gin = GIN(1, 4, 2)
    heads = [Pooled(LayerReadout(gin.channels, 2)) for _ in range(2)]
    plain = DropGNN(gin, Bernoulli(0.1, r=3), head=heads[0], auxiliary=heads[1], engine=engine)
    other = copy.deepcopy(plain)
    source = generator(3)
    expected = [plain(*inputs(batch), generator=source) for batch in batches]
    observed = [
        other(*inputs(batch), **arguments) for batch, arguments in ahead(other, batches, generator=generator(3))
    ]
    for a, b in zip(observed, expected, strict=True):
        assert torch.equal(a, b)


def test_a_plan_belongs_to_its_batch() -> None:
    graph = awkward_batch()
    model = DropGNN(GIN(3, 4, 2), Bernoulli(0.3, r=3), generator=generator()).double()
    plan = model.plan(graph.x, graph.edge_index, batch=graph.batch)
    with pytest.raises(ValueError, match=r"'plan' must be for this very batch"):
        model(graph.x, graph.edge_index[:, :9], plan=plan)
    with pytest.raises(ValueError, match=r"'plan' must be for this very batch"):
        model(graph.x + 1, graph.edge_index, batch=graph.batch, plan=plan)
    with pytest.raises(ValueError, match=r"'runs' must not be given with a plan"):
        model(graph.x, graph.edge_index, batch=graph.batch, plan=plan, runs=plan.runs)
    model.chunk = 2
    with pytest.raises(Unsupported, match="a plan is for engine 'shared' without chunks"):
        model(graph.x, graph.edge_index, batch=graph.batch, plan=plan)


def test_no_note_where_everything_is_shared() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", NotShared)
        DropGNN(GIN(3, 4, 2), Exhaustive(0.1))(torch.ones(3, 3), torch.tensor([[0, 1], [1, 2]]))
