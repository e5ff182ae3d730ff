"""What no copy contains touches no result: states of the undropped graph where every copy of a graph notices a drop."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from dropgnn import GIN, Bernoulli, DropGNN, Exhaustive, Runs, compiling
from dropgnn.engine.parts import Parts
from dropgnn.graph import Graph
from dropgnn.nn import Encoder, LayerReadout, OneGNN, Pooled
from dropgnn.runs.modes import MODES
from dropgnn.testing import assert_engines_agree
from tests.conftest import generator

STAR = torch.tensor([[0, 0, 0, 1, 2, 3], [1, 2, 3, 0, 0, 0]])
PATH = torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]])


@pytest.fixture(params=["compiled", "torch"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """In compiled loops and by tensor operations."""
    monkeypatch.setattr(compiling, "SMALL", 0 if request.param == "compiled" else 10**18)
    return str(request.param)


def star_and_path(dtype: torch.dtype = torch.float64) -> Graph:
    edges = torch.cat([STAR, PATH + 4], dim=1)
    return Graph.of(torch.ones(8, 1, dtype=dtype), edges, batch=torch.tensor([0] * 4 + [1] * 4))


def model_of(encoder: Encoder, mode: str) -> DropGNN:
    """With norms whose shift is no zero, or a row that equals the mean would be at the kink of the ReLU."""
    torch.manual_seed(1)
    channels = getattr(encoder, "channels", None)
    heads = [
        Pooled(torch.nn.Linear(encoder.out_channels, 2) if channels is None else LayerReadout(channels, 2))
        for _ in range(2)
    ]
    model = DropGNN(encoder, Bernoulli(0.1, r=1), mode, head=heads[0], auxiliary=heads[1])
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm1d):
            torch.nn.init.normal_(module.bias)
    return model


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "edges"])
@pytest.mark.parametrize("layers", [1, 2, 6])
def test_a_single_run_that_drops_the_hub(mode: str, layers: int) -> None:
    graph = star_and_path()
    runs = Runs.of([[(0,)], [(1,), (2,)]], [4, 4])
    model = model_of(GIN(1, 8, layers), mode).double()
    model.draw = lambda *_, **__: runs  # type: ignore[method-assign]
    for training in (True, False):
        assert_engines_agree(model.train(training), graph, generator=generator(), inputs=False)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("mode", ["zero", "remove", "receive-only"])
def test_in_single_precision_nothing_is_lost_in_deep_stacks(mode: str) -> None:
    """Rows that batch norm does not count may grow to any size from layer to layer: here they were NaN."""
    runs, model = Runs.of([[(0,)]], [4]), model_of(GIN(1, 16, 6), mode)
    found = []
    for engine in ("reference", "shared"):
        model.engine = engine
        found.append(model(torch.ones(4, 1), STAR, runs=runs))
    torch.testing.assert_close(*found, rtol=1e-3, atol=1e-3)


@pytest.mark.usefixtures("way")
def test_features_that_every_copy_drops_do_not_touch_sums() -> None:
    """Added and taken away again, 1e30 would leave nothing of the other rows."""
    x, runs = torch.tensor([[1e30], [1.0], [1.0], [1.0]]), Runs.of([[(0,)]], [4])
    model = DropGNN(GIN(1, 4, 1), Bernoulli(0.1, r=1), head=Pooled(LayerReadout((1, 4), 2))).eval()
    found = []
    for engine in ("reference", "shared"):
        model.engine = engine
        found.append(model(x, STAR, runs=runs))
    torch.testing.assert_close(*found)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("mode", ["zero", "zero-layers", "remove"])
def test_parts_of_a_dataset_leave_them_out_too(mode: str) -> None:
    """A state may occur in a copy of one graph and in none of another, which alone is in the batch."""
    edges = torch.cat([STAR, STAR + 4, PATH + 8], dim=1)
    graph = Graph.of(torch.ones(12, 1).double(), edges, batch=torch.arange(3).repeat_interleave(4))
    runs = Runs.of([[(), (1,)], [(0,)], [(0, 1, 2, 3)]], [4, 4, 4])
    model = model_of(GIN(1, 8, 3), mode).double()
    parts = Parts(model.plan_runs(graph, runs))
    for chosen in ([1], [2, 1], [0, 2]):
        part = parts.take(chosen)
        got = model(part.graph.x, part.graph.edge_index, None, part.graph.batch, len(chosen), plan=part)
        model.engine = "reference"
        torch.testing.assert_close(
            got, model(part.graph.x, part.graph.edge_index, None, part.graph.batch, len(chosen), runs=part.runs)
        )
        model.engine = "auto"
        assert all(bool((level.count > 0).all()) for level in part.levels[1:])


ENCODERS: dict[str, Callable[[], Encoder]] = {
    "gin": lambda: GIN(1, 4, 2),
    "1-gnn with skips": lambda: OneGNN(1, (4, 3), edge_dim=1, edge_hidden=5, skip=True),
}


@pytest.mark.parametrize("engine", ["reference", "batched", "shared", "auto"])
@pytest.mark.parametrize("name", ENCODERS)
def test_chunks_with_an_auxiliary_head_have_gradients(name: str, engine: str) -> None:
    encoder = ENCODERS[name]()
    model = model_of(encoder, "zero").double().eval()
    model.sampler, model.engine = Exhaustive(0.1, k=1), engine
    attr = None if name == "gin" else torch.ones(6, 1).double()
    gradients = []
    for chunk in (None, 2):
        model.chunk = chunk
        model.zero_grad()
        model(torch.ones(4, 1).double(), STAR, attr, return_outcome=True).loss(torch.tensor([1])).backward()
        gradients.append([weight.grad.clone() for weight in model.parameters() if weight.grad is not None])
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)
