"""What a newcomer calls first and what a careless user does later: clear errors, and nothing unchecked in compiled loops."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Data, HeteroData
from torch_geometric.explain.algorithm.utils import clear_masks, set_masks
from torch_geometric.nn import GCN, GraphConv

from dropgnn import GIN, Bernoulli, DropGNN, DropGNNError, Exhaustive, InvalidArgument, Runs, Unsupported
from dropgnn.engine.parts import Parts
from dropgnn.graph import Graph
from dropgnn.runs.samplers import Sampler
from tests.conftest import generator

X, EDGES = torch.ones(4, 1), torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])


def model() -> DropGNN:
    return DropGNN(GIN(1, 4, 2), Bernoulli(0.1, r=5), generator=generator())


def weighted(encoder: torch.nn.Module) -> DropGNN:
    return DropGNN(encoder, Bernoulli(0.1, r=5), generator=generator())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: model()(Data(edge_index=EDGES)), "'x' must be a tensor of node features "),
        (lambda: model()(Data(x=X, edge_index=EDGES), batch=EDGES[0]), "'batch' must not be given beside PyG's data"),
        (lambda: model()(HeteroData()), "HeteroData has nodes or edges of several types"),
        (lambda: model()(X, EDGES, edge_weight=torch.ones(4)), "'edge_weight' is no input of GIN.forward .*inputs are x"),
        (lambda: model()(X, EDGES, weights=torch.ones(4)), "'weights' is no input of GIN.forward"),
        (lambda: weighted(GraphConv(1, 2))(X, EDGES, edge_weight=torch.ones(3)), "'edge_weight' must .* 4 nodes or 4 edges"),
        (lambda: model()(X), "'edge_index' must be a tensor"),
    ],
)  # fmt: skip
def test_calls_of_other_kinds_name_the_way_out(call: Callable[[], object], message: str) -> None:
    with pytest.raises((InvalidArgument, Unsupported), match=message):
        call()


@pytest.mark.parametrize("chunk", [-3, 0, 1.5, True, "2"])
def test_chunks_are_checked_whenever_they_are_set(chunk: object) -> None:
    wrapped = model()
    with pytest.raises(InvalidArgument, match="'chunk' must be a whole number of at least 1"):
        wrapped.chunk = chunk  # type: ignore[assignment]
    assert wrapped.chunk is None
    wrapped.chunk = 2
    assert wrapped.chunk == 2


@pytest.mark.parametrize(
    "runs",
    [
        Runs.of([[(50_000_000,)]], [100_000_000]),
        Runs.of([[(0,)], [()]], [4, 1]),
        Runs.of([[(0,)]], [4], items="links"),
    ],
)
def test_plans_are_for_runs_of_this_graph(runs: Runs) -> None:
    with pytest.raises(InvalidArgument, match="'runs' must"):
        model().plan_runs(Graph.of(X, EDGES), runs)


def test_a_sampler_of_ones_own_is_checked() -> None:
    class OutOfBounds(Sampler):
        random = False

        def __call__(self, graph: Graph, *, items: str = "nodes", generator: torch.Generator | None = None) -> Runs:
            good = Exhaustive(0.1, k=1)(graph, items=items)
            return Runs(good.items, good.items_per_graph, good.graph, good.weight, good.dropped + 10**6)

    wrapped = DropGNN(GIN(1, 4, 2), OutOfBounds())
    for use in (wrapped, wrapped.plan):
        with pytest.raises(InvalidArgument, match="'dropped' must name copies"):
            use(X, EDGES)


def by_data(x: Tensor) -> None:
    x.data[0] = 7.0


def by_numpy(x: Tensor) -> None:
    x.numpy()[0] = 7.0


def in_place(x: Tensor) -> None:
    x[0] = 7.0


@pytest.mark.parametrize("edit", [by_data, by_numpy, in_place])
@pytest.mark.parametrize("inference", [False, True])
def test_plans_notice_every_edit(edit: Callable[[Tensor], None], inference: bool) -> None:
    wrapped = model()
    with torch.inference_mode(inference):
        x = torch.ones(4, 1)
        plan = wrapped.plan(x, EDGES)
        wrapped(x, EDGES, plan=plan)
        edit(x)
        with pytest.raises(InvalidArgument, match="must be for this very batch"):
            wrapped(x, EDGES, plan=plan)


def test_plans_notice_edits_of_their_own_numbers() -> None:
    """Compiled loops take them: a number that is out of range would be read from anywhere."""
    wrapped, x = model(), torch.ones(4, 1)
    for name in ("own", "sender", "edge_ptr", "count"):
        plan = wrapped.plan(x, EDGES)
        wrapped(x, EDGES, plan=plan)
        getattr(plan.levels[1], name)[0] = 10**9
        with pytest.raises(InvalidArgument, match="must be as it was made"):
            wrapped(x, EDGES, plan=plan)
    plan = wrapped.plan(x, EDGES)
    plan.levels[-1].pairs.label[0] = 10**9
    with pytest.raises(InvalidArgument, match="must be as it was made"):
        wrapped(x, EDGES, plan=plan)


@pytest.mark.parametrize("edit", [by_data, by_numpy, in_place])
def test_parts_of_a_dataset_notice_every_edit_of_their_graphs(edit: Callable[[Tensor], None]) -> None:
    wrapped, x = DropGNN(GIN(1, 4, 2), Exhaustive(0.1, k=1)), torch.ones(8, 1)
    batch = torch.tensor([0] * 4 + [1] * 4)
    parts = Parts(wrapped.plan(x, torch.cat([EDGES, EDGES + 4], dim=1), batch=batch))
    edit(x)
    parts.take([1])
    with pytest.raises(Unsupported, match="written to since it was planned"):
        parts.take([0, 1])


def test_edits_after_a_part_was_taken_do_not_reach_it() -> None:
    wrapped, x = DropGNN(GIN(1, 4, 2), Exhaustive(0.1, k=1)).eval(), torch.ones(4, 1)
    part = Parts(wrapped.plan(x, EDGES)).take([0])
    kept = part.graph.x.clone()
    before = wrapped(kept, EDGES, plan=part)
    by_data(x)
    assert torch.equal(wrapped(kept, EDGES, plan=part), before)
    with pytest.raises(DropGNNError, match="must be for this very batch"):
        wrapped(x, EDGES, plan=part)


@pytest.mark.parametrize("encoder", [lambda: GIN(1, 4, 2), lambda: GCN(1, 4, 2), lambda: GraphConv(1, 4)])
@pytest.mark.filterwarnings("ignore::dropgnn.errors.NotShared")
def test_masks_of_an_explainer_are_for_one_graph(encoder: Callable[[], torch.nn.Module]) -> None:
    masked = weighted(encoder())
    set_masks(masked.encoder, torch.rand(4), EDGES)
    with pytest.raises(Unsupported, match=r"edge masks of PyG's explainer, .*; explain the encoder by itself"):
        masked(X, EDGES)
    clear_masks(masked.encoder)
    masked(X, EDGES)


def test_a_graph_that_was_written_on_is_checked_again() -> None:
    graph = Graph.of(X, EDGES.clone())
    runs = model().draw(graph)
    graph.edge_index.add_(10**9)
    for use in (
        lambda: model().plan_runs(graph, runs),
        lambda: Exhaustive(0.1, k=1, scope="neighborhood", hops=1)(graph),
    ):
        with pytest.raises(InvalidArgument, match="'edge_index' must point at the 4 rows of x"):
            use()
