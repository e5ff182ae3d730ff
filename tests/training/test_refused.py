"""What is handed to collections, batches and parts is looked at before anything is cut out of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch_geometric.data import Batch, Data

from dropgnn import GIN, Bernoulli, DropGNN, DropGNNError, Exhaustive
from dropgnn.data.collection import Collection
from dropgnn.data.synthetic import task
from dropgnn.engine.parts import Parts
from dropgnn.experiments.beyond_wl import Trial
from dropgnn.molecules.models import Settings, build
from dropgnn.training.ahead import ahead
from dropgnn.training.batches import PlannedBatches
from dropgnn.training.loop import accuracy, fit, inputs
from dropgnn.training.seeds import stream
from tests.conftest import generator


def data(nodes: int = 2, width: int = 1) -> Data:
    return Data(
        x=torch.ones(nodes, width), edge_index=torch.tensor([[0, 1], [1, 0]]), y=torch.tensor([0]), num_nodes=nodes
    )


def both() -> Collection:
    return Collection.of([data(2), data(3)])


def model(*, random: bool = True) -> DropGNN:
    return DropGNN(GIN(1, 4, 2), Bernoulli(0.2, 3) if random else Exhaustive(0.2, k=1), generator=generator())


def part() -> Parts:
    batch = Batch.from_data_list([data(2), data(3)])
    return Parts(model(random=False).plan(*inputs(batch)))


REFUSED: dict[str, Callable[[], object]] = {
    r"'graphs' must be at least one of PyG's Data, in a list \(got None\)": lambda: Collection.of(None),  # type: ignore[arg-type]
    r"'graphs' must be at least one of PyG's Data, in a list \(got int\)": lambda: Collection.of([data(), 3]),
    r"'graphs' must each have a tensor y \(got NoneType in graph 1\)": (
        lambda: Collection.of([data(), Data(x=torch.ones(1, 1), edge_index=torch.empty(2, 0).long())])
    ),
    r"'graphs' must have x of the same width": lambda: Collection.of([data(), data(width=2)]),
    r"'edge_index' must have shape \[2, E\] and count nodes within their graph": (
        lambda: Collection.of([data(), Data(x=torch.ones(1, 1), edge_index=torch.tensor([[0], [1]]), y=torch.tensor([0]))])
    ),
    r"'nodes' must be sizes of at least 0": lambda: replace(both(), nodes=torch.tensor([-1, 6])),
    r"'x' must be about 9 nodes": lambda: replace(both(), nodes=torch.tensor([3, 6])),
    r"'number' must be a whole number .*use subset or batch": lambda: both()[0:1],  # type: ignore[index]
    r"'chosen' must be a list of whole numbers \(got None\)": lambda: both().batch(None),  # type: ignore[arg-type]
    r"'chosen' must be a list of whole numbers \(got ab\)": lambda: both().batch("ab"),  # type: ignore[arg-type]
    r"'graphs' must be a list of whole numbers \(got \[1180591620717411303424\]\)": lambda: part().take([2**70]),
    r"'plan' must be a SharedPlan .*model.plan": lambda: Parts(None),  # type: ignore[arg-type]
    r"a plan that is a part of another's cannot be cut": lambda: Parts(part().take([0])),
    r"'model' must be a DropGNN": lambda: ahead(GIN(1, 4, 2), []),  # type: ignore[arg-type]
    r"'batches' must be something to iterate over \(got int\)": lambda: ahead(model(), 3),  # type: ignore[arg-type]
    r"'batches' must have batch and num_graphs .*from_data_list": lambda: list(ahead(model(), [data()])),
    r"'generator' must be a Generator": lambda: ahead(model(), [], generator=0),  # type: ignore[arg-type]
    r"'graphs' must be a list of PyG's Data, a dataset": lambda: PlannedBatches(model(), data()),
    r"'graphs' must be a Data": lambda: list(PlannedBatches(model(), [1])([[0]])),
    r"'chosen' must name at least one graph of a list": lambda: list(PlannedBatches(model(), [data()])([[]])),
    r"'choices' must be something to iterate over": lambda: PlannedBatches(model(), both())(3),  # type: ignore[arg-type]
    r"'ahead' must be True or False": lambda: PlannedBatches(model(), both(), ahead=None),  # type: ignore[arg-type]
    r"'seed' must be a whole number of at least 0 \(got -1\)": lambda: task("limits1", -1),
    r"'graphs' must be a list of PyG's Data, a dataset.*got Tensor": lambda: PlannedBatches(model(), torch.tensor(3)),  # type: ignore[arg-type]
    r"'data' must be a BaseData .*from_data_list": lambda: inputs(None),
    r"'model' must be a DropGNN \(got GIN": lambda: fit(GIN(1, 4, 2), data(), epochs=1, generator=generator()),  # type: ignore[arg-type]
    r"'epochs' must be a whole number of at least 1 \(got 0\)": lambda: fit(model(), data(), epochs=0, generator=generator()),
    r"'learning_rate' must be at least 0 \(got nan\)": (
        lambda: fit(model(), data(), epochs=1, learning_rate=float("nan"), generator=generator())
    ),
    r"'model' must be a DropGNN \(got None\)": lambda: accuracy(None, data(), generator=generator()),  # type: ignore[arg-type]
    r"'seed' must be a whole number of at least 0 \(got 0.5\)": lambda: stream(0.5, "runs"),  # type: ignore[arg-type]
    r"'purpose' must be a str": lambda: stream(0, None),  # type: ignore[arg-type]
    r"'targets' must be properties in a tuple \(got gap\)": lambda: Settings(targets="gap"),  # type: ignore[arg-type]
    r"'m' must be a whole number of at least 1 \(got 0\)": lambda: build(Settings(), 0),
    r"'settings' must be a Settings": lambda: build(None, 3),  # type: ignore[arg-type]
    r"'regularise' must be True or False": lambda: Trial("limits1", "dropout", 0, 1, regularise=2),  # type: ignore[arg-type]
}  # fmt: skip


@pytest.mark.parametrize("message", REFUSED)
def test_refused(message: str) -> None:
    with pytest.raises(DropGNNError, match=message):
        REFUSED[message]()


def test_collections_of_small_graphs() -> None:
    """No node, no edges, one graph."""
    nobody = Data(x=torch.ones(0, 1), edge_index=torch.empty(2, 0).long(), y=torch.tensor([0]), num_nodes=0)
    graphs = Collection.of([nobody, data(3), nobody])
    assert graphs.batch([0, 2]).num_nodes == 0
    assert graphs.subset([1]).batch([0]).edge_index.tolist() == [[0, 1], [1, 0]]
    assert len(graphs.subset([])) == 0
