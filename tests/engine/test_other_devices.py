"""What runs on devices without compiled loops, tried on the CPU: the same plans, the same products."""

from __future__ import annotations

import pytest
import torch
import torch_geometric.nn as pyg
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from dropgnn import GIN, GINE, Bernoulli, DropGNN, Exhaustive, compiling
from dropgnn.engine.plan import SharedPlan
from dropgnn.engine.planning import make_plan
from dropgnn.nn import MPNN, LayerReadout, Pooled
from dropgnn.ops import numba_ops, torch_ops
from dropgnn.runs.modes import MODES
from dropgnn.testing import assert_engines_agree
from tests.conftest import awkward_batch, generator
from tests.engine.test_agreement import SAMPLERS, GraphConvs
from tests.engine.test_shared import random_graph, states_of_pairs


@pytest.fixture
def no_compiled_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on another device, and for small work: planning by tensor operations, products by index."""
    monkeypatch.setattr(compiling, "SMALL", 10**18)


def same_partition(a: Tensor, b: Tensor) -> bool:
    """Whether two labellings differ only in their numbers."""
    both = torch.stack([a.long(), b.long()], dim=1).unique(dim=0)
    return len(both) == len(both[:, 0].unique()) == len(both[:, 1].unique())


@given(st.integers(0, 10_000), st.sampled_from(list(MODES)), st.booleans())
@settings(max_examples=60, deadline=None)
def test_both_planners_find_the_same_states(seed: int, mode: str, degrees: bool) -> None:
    graph, perturb = random_graph(seed), MODES[mode]()
    runs = Bernoulli(0.3, r=4)(graph, items=perturb.items, generator=generator(seed))
    compiled_plan = make_plan(graph, runs, perturb, 3, degrees=degrees, loops=numba_ops)
    other = make_plan(graph, runs, perturb, 3, degrees=degrees, loops=torch_ops)
    assert compiled_plan.states == other.states
    for number in range(4):
        states = [_all_states(plan, number, graph.num_nodes) for plan in (compiled_plan, other)]
        assert same_partition(*states)
    for a, b in zip(compiled_plan.levels, other.levels, strict=True):
        assert a.rows == b.rows
        torch.testing.assert_close(a.weight.sort().values, b.weight.sort().values)


def _all_states(plan: SharedPlan, level: int, nodes: int) -> Tensor:
    return torch.tensor([state for _, state in sorted(states_of_pairs(plan, level, nodes).items())])


@pytest.mark.usefixtures("no_compiled_loops")
@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("mode", MODES)
def test_engines_agree_without_compiled_loops(mode: str, sampler: str) -> None:
    encoders = (
        GIN(3, 4, 2), GIN(3, 4, 2, aggr="mean"), pyg.GCN(3, 4, 2, norm="batch_norm"), pyg.GAT(3, 4, 2),
        pyg.GraphSAGE(3, 4, 2), GraphConvs(),
    )  # fmt: skip
    for encoder in encoders:
        model = DropGNN(encoder, SAMPLERS[sampler], mode).double()
        assert_engines_agree(
            model, awkward_batch(), generator=generator(1), inputs=False, engines=("reference", "shared")
        )
    graph = awkward_batch(edge_dim=2)
    mpnn = DropGNN(MPNN(3, 4, 2, edge_dim=2, edge_hidden=5), SAMPLERS[sampler], mode).double()
    assert_engines_agree(mpnn, graph, generator=generator(1), engines=("reference", "shared"))
    gine = GINE(3, 4, 2, edge_dim=2)
    heads = [Pooled(LayerReadout(gine.channels, 2)) for _ in range(2)]
    model = DropGNN(gine, SAMPLERS[sampler], mode, head=heads[0], auxiliary=heads[1]).double()
    assert_engines_agree(model, graph, generator=generator(1), engines=("reference", "shared"))


@pytest.mark.usefixtures("no_compiled_loops")
def test_no_table_of_all_pairs_either() -> None:
    """2,000 nodes have 4 million (node, copy) pairs; a list of them would show in the number of pairs planned."""
    ring = torch.arange(2_000)
    edges = torch.stack([torch.cat([ring, ring.roll(1)]), torch.cat([ring.roll(1), ring])])
    model = DropGNN(GIN(1, 4, 2), Exhaustive(0.1, k=1))
    plan = model.plan(torch.ones(2_000, 1), edges)
    assert [level.pairs.node.numel() for level in plan.levels] == [2_000, 6_000, 10_000]
